"""The lives of a container from two sources: nothing is told twice, and nothing is missed."""

import pytest

from compose.docker.events import ContainerEvent, Inspected
from compose.nodes.watch.lives import Change, Lives

S = 1_000_000_000
UP = Inspected(is_up=True, started_ns=100 * S)


def event(action: str, second: float, exit_code: int = -1) -> ContainerEvent:
    return ContainerEvent(container="c", action=action, at_ns=int(second * S), exit_code=exit_code)  # type: ignore[arg-type]


def ended(second: float, exit_code: int, *, oom_killed: bool = False) -> Change:
    return Change(kind="ended", at_ns=int(second * S), exit_code=exit_code, oom_killed=oom_killed)


def started(second: float) -> Change:
    return Change(kind="started", at_ns=int(second * S))


def down(second: float, exit_code: int, *, since: float = 100) -> Inspected:
    return Inspected(is_up=False, started_ns=int(since * S), finished_ns=int(second * S), exit_code=exit_code)


def test_a_death_and_a_start_are_each_told_once() -> None:
    lives = Lives(UP)
    assert lives.told(event("die", 110, 137)) == (ended(110, 137),)
    assert lives.told(event("start", 111)) == (started(111),)
    assert lives.told(event("die", 120, 1)) == (ended(120, 1),)


def test_what_a_new_stream_brings_again_was_told_before() -> None:
    lives = Lives(UP)
    first = [event("start", 100.2), event("die", 110, 137), event("start", 111)]
    told = [lives.told(each) for each in (*first, *first)]
    assert told == [(), (ended(110, 137),), (started(111),), (), (), ()]


def test_an_inspection_finds_a_death_that_the_stream_missed_with_its_exit_code() -> None:
    lives = Lives(UP)
    assert lives.found(down(110, 137)) == (ended(110, 137),)
    assert lives.told(event("die", 110.1, 137)) == ()
    assert lives.found(down(110, 137)) == ()


def test_a_restart_between_two_inspections_is_believed_at_the_second() -> None:
    """The stream may only be late, and knows the exit code; the inspection does not."""
    again = Inspected(is_up=True, started_ns=111 * S, finished_ns=110 * S)
    late = Lives(UP)
    assert late.found(again) == ()
    assert late.told(event("die", 110, 137)) == (ended(110, 137),)
    assert late.told(event("start", 111.1)) == (started(111.1),)
    assert late.found(again) == ()
    broken = Lives(UP)
    assert broken.found(again) == ()
    assert broken.found(again) == (ended(110, -1), started(111))


def test_a_second_life_that_ended_too_is_put_together() -> None:
    lives = Lives(UP)
    again = down(120, 1, since=111)
    assert (lives.found(again), lives.found(again)) == ((), (ended(111, -1), started(111), ended(120, 1)))


def test_a_death_of_which_the_stream_did_not_tell_lies_before_the_next_start() -> None:
    assert Lives(UP).told(event("start", 200)) == (ended(200, -1), started(200))


def test_a_clock_that_was_set_back_hides_no_start() -> None:
    lives = Lives(UP)
    assert lives.told(event("die", 110, 137)) == (ended(110, 137),)
    assert lives.told(event("start", 50)) == ()
    back = Inspected(is_up=True, started_ns=50 * S, finished_ns=110 * S)
    assert lives.found(back) == ()
    assert lives.found(back) == (started(50),)


@pytest.mark.parametrize("told_by", ["stream", "inspection"])
def test_an_end_for_lack_of_memory_is_marked(told_by: str) -> None:
    lives = Lives(UP)
    if told_by == "stream":
        assert lives.told(event("oom", 109)) == ()
        assert lives.told(event("die", 110, 137)) == (ended(110, 137, oom_killed=True),)
    else:
        short = Inspected(
            is_up=False, started_ns=100 * S, finished_ns=110 * S, exit_code=137, oom_killed=True
        )
        assert lives.found(short) == (ended(110, 137, oom_killed=True),)
    assert lives.told(event("start", 111)) == (started(111),)
    assert lives.told(event("die", 112, 137)) == (ended(112, 137),)
