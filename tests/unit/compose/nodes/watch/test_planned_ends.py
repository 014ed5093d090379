"""An end is planned only while it is announced, and only with the exit code that the act leads to."""

import pytest

from compose.nodes.watch.planned_ends import KILLED, STOPPED, PlannedEnds

S = 1_000_000_000


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.second = 0.0

    def __call__(self) -> int:
        return int(self.second * S)


def announced() -> tuple[PlannedEnds, Clock]:
    """Node 2 is about to be killed by fault "kill" at 10 s."""
    clock = Clock()
    clock.second = 10
    plan = PlannedEnds(clock)
    plan.ending(2, owner="kill", codes=KILLED)
    return plan, clock


@pytest.mark.parametrize(
    ("node", "second", "exit_code", "owner"),
    [
        (2, 10.02, 137, "kill"),
        (2, 60, 137, "kill"),
        (2, 10.02, -1, "kill"),
        (2, 10.02, 1, None),
        (2, 10.02, 143, None),
        (2, 7, 137, None),
        (1, 10.02, 137, None),
    ],
)
def test_an_end_belongs_to_who_announced_it(
    node: int, second: float, exit_code: int, owner: str | None
) -> None:
    plan, _ = announced()
    assert plan.owner_of_end(node, int(second * S), exit_code) == owner


def test_a_node_that_runs_again_is_not_excused_any_more() -> None:
    plan, clock = announced()
    clock.second = 20
    plan.starting(2, owner="kill")
    clock.second = 20.5
    plan.runs(2)
    assert plan.owner_of_end(2, 15 * S, 137) == "kill"
    assert plan.owner_of_end(2, 25 * S, 137) is None


def test_a_start_belongs_to_who_announced_it_and_another_one_to_nobody() -> None:
    plan, clock = announced()
    assert plan.owner_of_start(2, 15 * S) is None
    clock.second = 20
    plan.starting(2, owner="kill")
    clock.second = 20.3
    plan.runs(2)
    assert plan.owner_of_start(2, int(20.2 * S)) == "kill"
    assert plan.owner_of_start(2, 30 * S) is None


def test_a_start_that_failed_leaves_the_end_planned() -> None:
    plan, clock = announced()
    clock.second = 20
    plan.starting(2, owner="kill")
    assert plan.owner_of_end(2, 21 * S, 137) == "kill"


def test_a_stop_that_takes_too_long_and_is_followed_by_a_kill_allows_either_end() -> None:
    clock = Clock()
    plan = PlannedEnds(clock)
    plan.ending(1, owner="stop", codes=STOPPED)
    clock.second = 30
    plan.ending(1, owner="stop", codes=KILLED)
    owners = [plan.owner_of_end(1, int(at * S), code) for at, code in ((5, 143), (5, 137), (31, 137))]
    assert owners == ["stop", None, "stop"]


def test_a_node_may_halt_by_itself_only_while_a_fault_allows_it() -> None:
    clock = Clock()
    plan = PlannedEnds(clock)
    plan.allow(1, owner="disk-full")
    clock.second = 10
    plan.runs(1)
    plan.disallow(1, owner="disk-full")
    owners = [plan.owner_of_end(1, at * S, code) for at, code in ((5, 1), (5, 137), (12, 1))]
    assert owners == ["disk-full", None, None]


def test_for_whom_a_node_may_halt_is_known_until_it_may_not_any_more() -> None:
    planned, _ = announced()
    planned.allow(9, owner="disk-full")
    planned.ending(9, owner="kill", codes=KILLED)
    assert planned.allowed(9) == ("disk-full",)
    planned.disallow(9, owner="disk-full")
    assert planned.allowed(9) == ()
