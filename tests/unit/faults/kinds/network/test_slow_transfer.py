"""Bandwidth and slicing: what may be asked for, what proves it, and how faults on one edge compose."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import pytest
from fakes.world.fault_steps import run, shown
from fakes.world.fault_world import World

from compose.impairments import Impairment, Throttled
from compose.protocols import Edge, Transfer
from faults.clock import ns
from faults.errors import BadStep
from faults.plan.parse import parse_step, parse_steps, write_step

EDGES = {"name": "slow", "at": "5s", "edges": "followers -> leader", "for": "3s"}
NARROW = EDGES | {"do": "bandwidth", "rate": "50KB/s"}
SLICED = EDGES | {"do": "slicing", "size": "100B", "delay": "0.002s"}
BOTH = pytest.mark.parametrize("words", [NARROW, SLICED], ids=["bandwidth", "slicing"])


def test_a_narrow_edge_is_proven_by_the_time_that_its_bytes_take() -> None:
    """12,500 bytes take 0.25 s with 50 KB/s. Past the edge they take 0.05 s, to which that is added."""
    world = World()
    (narrow,) = run(world, NARROW)
    assert (narrow.proven, narrow.recovered, narrow.edges) == (True, True, ("2->1", "3->1"))
    assert shown(narrow) == {
        "took_before_s": {"2->1": 0.05, "3->1": 0.05},
        "took_during_s": {"2->1": 0.3, "3->1": 0.3},
        "past_the_edge_s": {"2->1": 0.05, "3->1": 0.05},
        "must_take_s": {"2->1": 0.25, "3->1": 0.25},
    }
    assert shown(narrow, "recovery") == {"took_since_heal_s": {"2->1": 0.05, "3->1": 0.05}}
    assert [call for call in world.calls if call.startswith(("impair", "mend"))] == [
        "impair 2->1 Throttled(bytes_per_s=50000, direction='from') slow",
        "impair 3->1 Throttled(bytes_per_s=50000, direction='from') slow",
        "mend 2->1 slow",
        "mend 3->1 slow",
    ]
    assert narrow.inject_ns == ns(5) == narrow.effect_ns
    assert narrow.heal_ns == ns(8)


def test_narrow_for_requests() -> None:
    """The request has 15,000 bytes."""
    (narrow,) = run(World(), NARROW | {"direction": "to", "edges": "2 -> leader"})
    assert shown(narrow) == {
        "took_before_s": {"2->1": 0.05},
        "took_during_s": {"2->1": 0.35},
        "past_the_edge_s": {"2->1": 0.05},
        "must_take_s": {"2->1": 0.3},
    }


def test_slices_are_proven_by_the_delays_between_them() -> None:
    """12,500 bytes are 125 slices with 124 delays of 2 ms between them."""
    world = World()
    (sliced,) = run(world, SLICED | {"edges": "2 -> leader"})
    assert (sliced.proven, sliced.recovered) == (True, True)
    assert shown(sliced) == {
        "took_before_s": {"2->1": 0.05},
        "took_during_s": {"2->1": 0.3},
        "past_the_edge_s": {"2->1": 0.05},
        "must_take_s": {"2->1": 0.248},
    }
    assert "impair 2->1 Sliced(size_bytes=100, delay_s=0.002, direction='from') slow" in world.calls


@BOTH
def test_without_effect_it_is_unproven(words: dict[str, str]) -> None:
    """Transfers that take as long as before are no evidence."""
    (slow,) = run(World(ignores={"impair"}), words)
    assert (slow.proven, slow.recovered) == (False, True)
    expected = "a transfer through 2->1 takes 0.05 s (0.05 s past it), took 0.05 s (0.05 s past it) before"
    assert expected in slow.evidence


@BOTH
def test_what_stays_is_no_recovery(words: dict[str, str]) -> None:
    """Transfers that are slow after the healing are named."""
    (slow,) = run(World(ignores={"mend"}), words)
    assert (slow.proven, slow.recovered) == (True, False)
    expected = "a transfer through 2->1 takes 0.30 s (0.05 s past it), took 0.05 s (0.05 s past it) before"
    assert shown(slow, "recovery") == {"lacking": expected}


def altered(world: World, edge: str, alter: Callable[[Transfer], Transfer]) -> None:
    """Let the world's transfers through an edge be others."""
    measure = world.mesh.transfers

    def transfers(edges: Collection[Edge], size_bytes: int, *, within_s: float) -> Mapping[Edge, Transfer]:
        found = measure(edges, size_bytes, within_s=within_s)
        return {each: alter(its) if str(each) == edge else its for each, its in found.items()}

    world.mesh.transfers = transfers  # type: ignore[method-assign]


def measured(world: World, edge: str, took_s: list[float], *, direct_s: float = 0.05) -> None:
    """Let the world's transfers through an edge take so long, one after the other, and then as they do.

    Past the edge they take `direct_s` meanwhile.
    """

    def alter(its: Transfer) -> Transfer:
        return replace(its, took_s=took_s.pop(0), direct_s=direct_s) if took_s else its

    altered(world, edge, alter)


def always_slow(world: World, edge: str, *, direct_s: float) -> None:
    """Let the edge's target need so long for any transfer."""
    altered(
        world, edge, lambda its: replace(its, took_s=its.took_s - its.direct_s + direct_s, direct_s=direct_s)
    )


@pytest.mark.parametrize(
    ("before_s", "during_s", "proven"),
    [(0.05, 0.23, True), (0.05, 0.22, False), (0.14, 0.245, True), (0.14, 0.235, False)],
)
def test_how_much_an_edge_must_add(before_s: float, during_s: float, proven: bool) -> None:
    """Of 0.25 s 0.175, and 0.1 more than before."""
    world, taken = World(), [before_s, before_s]
    altered(world, "2->1", lambda its: replace(its, took_s=taken.pop() if taken else during_s))
    (narrow,) = run(world, NARROW | {"edges": "2 -> leader"})
    assert narrow.proven is proven, narrow.evidence


def test_one_slow_transfer_is_no_evidence() -> None:
    """It takes two in a row in which every edge is slow."""
    world = World(ignores={"impair"})
    measured(world, "2->1", [0.05, 0.05, 0.4, 0.05, 0.4, 0.05, 0.4])
    measured(world, "3->1", [0.05, 0.05, 0.4, 0.05, 0.4, 0.05, 0.4])
    (slow,) = run(world, NARROW)
    assert not slow.proven


def test_each_edge_is_proven_for_itself() -> None:
    """When one of them was slow twice in a row the other had not been; it is not waited for again."""
    world = World()
    measured(world, "3->1", [0.05] * 5)
    measured(world, "2->1", [0.05, 0.05, 0.3, 0.3, *[0.05] * 30])
    (slow,) = run(world, NARROW | {"for": "2s"})
    assert slow.proven, slow.evidence


def test_where_an_edge_was_slow_more_transfers_are_made_before() -> None:
    """A transfer of 0.3 s is not longer than one of 0.25 s by 0.4 of what it must take, but than one of
    0.05 s."""
    world = World()
    measured(world, "2->1", [0.25, 0.25, 0.25, 0.05])
    (narrow,) = run(world, NARROW | {"edges": "2 -> leader"})
    assert narrow.proven, narrow.evidence
    assert json.loads(narrow.evidence)["effect"]["took_before_s"] == {"2->1": 0.05}


def test_an_edge_that_stays_slow_is_not_measured_for_ever() -> None:
    world = World()
    measured(world, "2->1", [0.25] * 6)
    (narrow,) = run(world, NARROW | {"edges": "2 -> leader"})
    assert not narrow.proven
    assert "takes 0.30 s (0.05 s past it), took 0.25 s (0.05 s past it) before" in narrow.evidence


@pytest.mark.parametrize("quick_before", [0, 2], ids=["busy before", "busy since"])
@pytest.mark.parametrize("took_s", [0.24, 0.5])
def test_a_node_that_is_busy_until_the_healing_is_no_evidence(took_s: float, quick_before: int) -> None:
    """Its transfers take what the fault would make them take, or more, and less after it: past it as well."""
    world = World(ignores={"impair"})
    measured(world, "2->1", [took_s] * 40, direct_s=took_s - 0.02)
    quick = [0.05] * quick_before
    measured(world, "2->1", quick)
    (narrow,) = run(world, NARROW | {"edges": "2 -> leader"})
    assert not narrow.proven
    assert not quick


def test_an_edge_that_is_slow_until_the_healing_is_no_evidence() -> None:
    """It added as much before."""
    world = World(ignores={"impair"})
    measured(world, "2->1", [0.29] * 10)
    (narrow,) = run(world, NARROW | {"edges": "2 -> leader"})
    assert not narrow.proven


def test_a_node_that_was_busy_before_hides_nothing() -> None:
    """It took nearly as long as the fault makes a transfer take, past the edge too, and does so once more."""
    world = World()
    measured(world, "2->1", [0.19] * 3, direct_s=0.18)
    (narrow,) = run(world, NARROW | {"edges": "2 -> leader"})
    assert narrow.proven, narrow.evidence
    assert shown(narrow) == {
        "took_before_s": {"2->1": 0.19},
        "took_during_s": {"2->1": 0.3},
        "past_the_edge_s": {"2->1": 0.05},
        "must_take_s": {"2->1": 0.25},
    }


def test_a_node_that_stays_slow_hides_nothing() -> None:
    """It is not at work while slow bytes pass, so both are seen. It is no evidence without a fault."""
    for ignores, proven in (set[str](), True), ({"impair"}, False):
        world = World(ignores=ignores)
        always_slow(world, "2->1", direct_s=0.2)
        (narrow,) = run(world, NARROW | {"edges": "2 -> leader"})
        assert narrow.proven is proven, narrow.evidence


LATE = EDGES | {"name": "late", "do": "latency", "delay": "300ms", "for": "9s"}


@pytest.mark.parametrize(("direct_s", "proven"), [(0.24, True), (0.26, False)])
def test_what_is_added_to_a_starved_node_is_no_evidence(direct_s: float, proven: bool) -> None:
    """It may be slow by turns, for one connection and then for another: 0.2 s more may be that."""
    world, before = World(), [1, 2]

    def alter(its: Transfer) -> Transfer:
        if before:
            before.pop()
            return its
        return replace(its, took_s=direct_s + 0.2, direct_s=direct_s)

    altered(world, "2->1", alter)
    (narrow,) = run(world, NARROW | {"edges": "2 -> leader"})
    assert narrow.proven is proven, narrow.evidence


@pytest.mark.parametrize(("late_at", "before_s"), [("5s", 0.35), ("7.1s", 0.05)], ids=["before", "since"])
def test_an_edge_that_is_late_as_well(late_at: str, before_s: float) -> None:
    """So many bytes are sent that they take 0.25 s more than the delay, which they take meanwhile."""
    _, narrow = run(World(), LATE | {"at": late_at}, NARROW | {"at": "7s"})
    assert narrow.proven, narrow.evidence
    assert json.loads(narrow.evidence)["effect"]["took_before_s"] == {"2->1": before_s, "3->1": before_s}
    assert json.loads(narrow.evidence)["effect"]["must_take_s"] == {"2->1": 0.55, "3->1": 0.55}


@pytest.mark.parametrize("late_at", ["5s", "7.1s"], ids=["before", "since"])
def test_that_an_edge_is_late_is_no_evidence(late_at: str) -> None:
    world = World()
    impair = world.mesh.impair

    def impair_but_not_throttle(edges: object, impairment: Impairment, *, owner: str) -> None:
        if not isinstance(impairment, Throttled):
            impair(edges, impairment, owner=owner)

    world.mesh.impair = impair_but_not_throttle  # type: ignore[method-assign]
    late, narrow = sorted(run(world, LATE | {"at": late_at}, NARROW | {"at": "7s"}), key=lambda it: it.name)
    assert late.proven
    assert not narrow.proven


def test_of_two_transfers_before_the_shorter_one_counts() -> None:
    """A busy machine would hide the fault."""
    world = World()
    measured(world, "2->1", [0.3])
    (slow,) = run(world, NARROW)
    assert slow.proven


def test_where_transfers_were_as_slow_before_it_is_unproven() -> None:
    """A higher rate beside a lower one has no effect; a much lower one has, and both are healed apart."""
    lower = NARROW | {"name": "lower", "at": "6s", "rate": "20KB/s"}
    higher = NARROW | {"name": "higher", "at": "7s", "rate": "40KB/s", "for": "1.5s"}
    first, second, third = run(World(), NARROW, lower, higher)
    assert (first.proven, second.proven, third.proven) == (True, True, False)
    assert (first.recovered, second.recovered, third.recovered) == (True, True, True)


def test_on_an_edge_that_was_shut_it_is_unproven() -> None:
    """Nothing is transferred before, so nothing takes longer."""
    cut = EDGES | {"name": "cut", "do": "partition", "for": "9s"}
    _, slow = run(World(), cut, NARROW | {"at": "7s"})
    assert not slow.proven
    assert "no requests through 2->1, 3->1 were answered before" in slow.evidence


@BOTH
def test_the_words_of_a_step(words: dict[str, str]) -> None:
    """Answers are meant without a direction."""
    written = write_step(parse_step(words))
    assert written == words | {"edges": "followers -> leader", "direction": "from"}
    to = words | {"direction": "to"}
    assert write_step(parse_step(to)) == to


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (NARROW | {"rate": "9KB/s"}, "rate: '9KB/s' is refused; allowed: 10KB/s to 500KB/s"),
        (NARROW | {"rate": "501KB/s"}, "allowed: 10KB/s to 500KB/s"),
        (NARROW | {"rate": "50"}, "allowed: a rate with its unit: 20KB/s"),
        (NARROW | {"rate": None}, "allowed: a rate with its unit: 20KB/s"),
        (NARROW | {"direction": "both"}, "direction: 'both' is refused; allowed: one of to, from"),
        (NARROW | {"delay": "2ms"}, "delay: '2ms' is refused"),
        (SLICED | {"size": "100"}, "allowed: a size with its unit: 100B"),
        (SLICED | {"size": "10B"}, "size: '10B every 0.002s' is refused; allowed: 10KB/s to 500KB/s"),
        (SLICED | {"delay": "0ms"}, "delay: '0ms' is refused; allowed: at least 0.001s"),
        (
            SLICED | {"size": "100KB", "delay": "250ms"},
            "delay: '250ms' is refused; allowed: at least 0.001s, for a shorter one is not kept, and less "
            "than 0.25s, else it cannot be proven",
        ),
        (SLICED | {"size": "1000000KB", "delay": "1h"}, "delay: '1h' is refused; allowed: at least 0.001s"),
    ],
)
def test_refusing(words: dict[str, object], refusal: str) -> None:
    """What would lose bytes, or could not be proven."""
    with pytest.raises(BadStep) as caught:
        parse_steps([words])
    assert refusal in str(caught.value)
