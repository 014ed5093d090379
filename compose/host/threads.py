"""Pools of threads whose usual number is there from the start.

An executor of the standard library starts a thread whenever none happens to be idle, and ends none. So in a
long run it grows by one now and then, as ever more of its jobs happen to meet, and who watches a night's
threads cannot tell that from a leak.
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier


def started_pool(name: str, *, usual: int, most: int) -> ThreadPoolExecutor:
    """A pool in which `usual` threads run already; with more jobs at one time it grows, up to `most`.

    RuntimeError if the machine starts no more threads. After that, or an interrupt, those that ran end.
    """
    pool = ThreadPoolExecutor(most, thread_name_prefix=name)
    all_run = Barrier(usual + 1)
    try:
        for _ in range(usual):
            pool.submit(all_run.wait)
        all_run.wait()
    except BaseException:
        all_run.abort()
        pool.shutdown(wait=False)
        raise
    return pool
