"""How often edges are timed before a fault: twice, and more while that is not enough, within bounds."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from fakes.world.virtual_clock import VirtualClock

from compose.protocols import Edge, RoundTrip
from faults.clock import ns
from faults.kinds.fault.evidence import NotYet
from faults.kinds.network.samples import Shown, least_added_before

EDGE, OTHER = Edge.parse("1->2"), Edge.parse("2->1")
Enough = Callable[[Sequence[RoundTrip]], bool]


def trip(added_s: float) -> RoundTrip:
    return RoundTrip(took_s=1.0 + added_s, direct_s=1.0)


@pytest.mark.parametrize(
    ("takes_s", "enough", "taken"),
    [
        (0.01, lambda found: True, 2),
        (0.01, lambda found: len(found) >= 4, 4),
        (0.01, lambda found: False, 6),
        (0.15, lambda found: False, 6),
        (0.4, lambda found: False, 3),
        (0.5, lambda found: False, 2),
    ],
)
def test_two_are_taken_and_more_until_they_are_enough_or_too_many_or_too_late(
    takes_s: float, enough: Enough, taken: int
) -> None:
    clock, left = VirtualClock(), [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]

    def take() -> Mapping[Edge, RoundTrip]:
        clock.advance(ns(takes_s))
        return {EDGE: trip(left.pop(0))}

    assert least_added_before(take, enough, clock) == {EDGE: trip([0.9, 0.8, 0.7, 0.6, 0.5, 0.4][taken - 1])}
    assert len(left) == 7 - taken


@pytest.mark.parametrize(("due_s", "taken"), [(-1.0, 6), (0.1, 1), (0.29, 1), (0.31, 2), (0.46, 3), (9.0, 6)])
def test_none_is_begun_that_would_end_when_the_fault_is_due(due_s: float, taken: int) -> None:
    clock, left = VirtualClock(), [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    began_ns = clock.now_ns()

    def take() -> Mapping[Edge, RoundTrip]:
        clock.advance(ns(0.15))
        return {EDGE: trip(left.pop(0))}

    least_added_before(take, lambda found: False, clock, began_ns + ns(due_s) if due_s > 0 else -1)
    assert len(left) == 6 - taken


def test_the_one_counts_to_which_an_edge_has_added_least() -> None:
    """Whatever it took: a busy node is as slow past the edge. What answers once counts as well."""
    slow = RoundTrip(took_s=3.0, direct_s=2.95)
    left = [{EDGE: trip(0.2)}, {EDGE: slow, OTHER: trip(0.1)}]
    found = least_added_before(lambda: left.pop(0), lambda its: True, VirtualClock())
    assert list(found.items()) == [(EDGE, slow), (OTHER, trip(0.1))]


def test_each_edge_must_have_enough() -> None:
    left = [{EDGE: trip(0.1), OTHER: trip(added_s)} for added_s in (0.9, 0.9, 0.1)]
    found = least_added_before(lambda: left.pop(0), lambda its: its[0].added_s < 0.5, VirtualClock())
    assert (found, left) == ({EDGE: trip(0.1), OTHER: trip(0.1)}, [])


BEFORE = {EDGE: RoundTrip(took_s=0.02, direct_s=0.01), OTHER: RoundTrip(took_s=0.04, direct_s=0.03)}


def look(
    rows: Shown[RoundTrip], clock: VirtualClock, sample: Mapping[Edge, RoundTrip]
) -> tuple[tuple[Edge, ...], NotYet | None]:
    """The edges that were measured, and what they lack; each look takes 10 s."""
    measured: list[Edge] = []

    def measure(edges: tuple[Edge, ...]) -> Mapping[Edge, RoundTrip]:
        measured.extend(edges)
        clock.advance(ns(10))
        return sample

    lacks = rows.lacks(BEFORE, measure, lambda edge, its: its.added_s > 0.3, clock)
    return tuple(measured), lacks


def test_what_is_there_instead_is_written_with_what_it_takes_past_the_edge() -> None:
    for sample, shown in (
        ({EDGE: RoundTrip(took_s=0.35, direct_s=0.1)}, "takes 0.35 s (0.10 s past it)"),
        ({}, "is not answered in time"),
    ):
        _, lacks = look(Shown("a request"), VirtualClock(), sample)
        assert lacks == NotYet(instead=f"a request through 1->2 {shown}, took 0.02 s (0.01 s past it) before")


def test_each_edge_has_a_row_of_its_own() -> None:
    """What is shown by two in a row: an edge that shows nothing, or does not answer, begins anew."""
    rows, clock, long = Shown[RoundTrip]("a request"), VirtualClock(), trip(0.5)
    once = "a request through 1->2 shows it once, not 2 times"
    assert look(rows, clock, {EDGE: long, OTHER: long}) == ((EDGE, OTHER), NotYet(instead=once))
    assert look(rows, clock, {EDGE: long, OTHER: trip(0.1)})[0] == (EDGE, OTHER)
    assert look(rows, clock, {EDGE: trip(0.1), OTHER: long})[0] == (OTHER,)
    assert look(rows, clock, {})[0] == (OTHER,)
    began_ns = clock.now_ns()
    assert look(rows, clock, {OTHER: long})[0] == (OTHER,)
    assert look(rows, clock, {OTHER: trip(0.6)}) == ((OTHER,), None)
    assert (rows.since_ns, rows.latest) == (began_ns, {EDGE: long, OTHER: trip(0.6)})
