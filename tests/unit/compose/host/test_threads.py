"""The usual number of a pool's threads is there from its first job on."""

import threading

import pytest
from fakes.waiting import until

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


def test_where_a_thread_cannot_start_those_that_ran_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they would wait for it for ever, and the process for them."""
    start = threading.Thread.start

    def start_two(thread: threading.Thread) -> None:
        if thread.name == "scarce_2":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_two)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        started_pool("scarce", usual=5, most=8)
    until(lambda: threads_of("scarce") == set(), within_s=10)
