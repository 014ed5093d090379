"""The usual number of a pool's threads is there from its first job on."""

import threading

from compose.host.threads import started_pool


def threads_of(name: str) -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith(f"{name}_")}


def test_the_usual_number_runs_before_the_first_job_and_ends_with_the_pool() -> None:
    with started_pool("usual", usual=5, most=8) as pool:
        assert len(threads_of("usual")) == 5
        assert pool.submit(lambda: "done").result(timeout=10) == "done"
    assert threads_of("usual") == set()


def test_more_jobs_at_one_time_find_threads_up_to_the_most() -> None:
    meet = threading.Barrier(5)
    with started_pool("grows", usual=2, most=5) as pool:
        met = [pool.submit(meet.wait, 10) for _ in range(5)]
        assert sorted(one.result() for one in met) == [0, 1, 2, 3, 4]
        assert len(threads_of("grows")) == 5
