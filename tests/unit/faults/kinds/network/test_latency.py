"""Slow edges: what may be asked for, what proves it, and how several faults on one edge compose."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest
from fakes.world.cluster import full_mesh
from fakes.world.fault_steps import run, shown
from fakes.world.fault_world import World

from compose.protocols import Edge, RoundTrip
from faults.clock import ns
from faults.errors import BadStep
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.plan.validate import validate
from faults.targets.facts import Facts, TopicFacts

SLOW = {"name": "slow", "at": "5s", "do": "latency", "edges": "followers -> leader", "for": "3s"} | {
    "delay": "250ms",
    "jitter": "50ms",
}
CUT = {"name": "cut", "at": "6s", "do": "partition", "edges": "followers -> leader", "for": "1s"}


def test_slow_edges_are_proven_by_round_trips() -> None:
    """Before, during and after the delay, on each edge."""
    world = World()
    (slow,) = run(world, SLOW)
    assert (slow.proven, slow.recovered, slow.edges) == (True, True, ("2->1", "3->1"))
    assert shown(slow) == {
        "round_trip_before_s": {"2->1": 0.01, "3->1": 0.01},
        "round_trip_during_s": {"2->1": 0.26, "3->1": 0.26},
        "past_the_edge_s": {"2->1": 0.01, "3->1": 0.01},
    }
    assert shown(slow, "recovery") == {"round_trip_since_heal_s": {"2->1": 0.01, "3->1": 0.01}}
    assert [call for call in world.calls if call.startswith(("impair", "mend"))] == [
        "impair 2->1 Delayed(delay_s=0.25, jitter_s=0.05, direction='from') slow",
        "impair 3->1 Delayed(delay_s=0.25, jitter_s=0.05, direction='from') slow",
        "mend 2->1 slow",
        "mend 3->1 slow",
    ]
    assert slow.inject_ns == ns(5) == slow.effect_ns
    assert slow.heal_ns == ns(8)


def test_a_delay_without_effect_is_unproven() -> None:
    """Answers that come as soon as before are no evidence."""
    (slow,) = run(World(ignores={"impair"}), SLOW)
    assert (slow.proven, slow.recovered) == (False, True)
    expected = "a request through 2->1 takes 0.01 s (0.01 s past it), took 0.01 s (0.01 s past it) before"
    assert expected in slow.evidence


def test_a_delay_that_stays_is_no_recovery() -> None:
    """Answers that are late after the healing are named."""
    (slow,) = run(World(ignores={"mend"}), SLOW)
    assert (slow.proven, slow.recovered) == (True, False)
    expected = "a request through 2->1 takes 0.26 s (0.01 s past it), took 0.01 s (0.01 s past it) before"
    assert shown(slow, "recovery") == {"lacking": expected}


def test_before_the_delay_it_is_measured_until_two_round_trips_agree() -> None:
    """Two to which the edge adds much, since the machine is busy, would hide the delay."""
    world = World()
    measure, busy = world.mesh.round_trips, [0.12, 0.2, 0.09]

    def measured_when_busy(edges: Collection[Edge], *, within_s: float) -> Mapping[Edge, RoundTrip]:
        more_s = busy.pop(0) if busy else 0.0
        trips = measure(edges, within_s=within_s)
        return {edge: replace(trip, took_s=trip.took_s + more_s) for edge, trip in trips.items()}

    world.mesh.round_trips = measured_when_busy  # type: ignore[method-assign]
    (slow,) = run(world, SLOW)
    assert slow.proven
    assert shown(slow) == {
        "round_trip_before_s": {"2->1": 0.01, "3->1": 0.01},
        "round_trip_during_s": {"2->1": 0.26, "3->1": 0.26},
        "past_the_edge_s": {"2->1": 0.01, "3->1": 0.01},
    }


def test_a_node_that_is_busy_is_no_evidence() -> None:
    """It answers late past the edge as well, however soon it answered before."""
    world, trips = World(ignores={"impair"}), [(0.01, 0.01), (0.01, 0.01), *[(0.4, 0.39)] * 40]

    def busy(edges: Collection[Edge], *, within_s: float) -> Mapping[Edge, RoundTrip]:
        took_s, direct_s = trips.pop(0)
        return dict.fromkeys(edges, RoundTrip(took_s=took_s, direct_s=direct_s))

    world.mesh.round_trips = busy  # type: ignore[method-assign]
    (slow,) = run(world, SLOW)
    assert not slow.proven
    assert slow.recovered


def test_one_late_answer_is_no_evidence() -> None:
    """It takes two probes in a row in which every edge is late."""
    world, trips = World(ignores={"impair"}), [0.01, 0.01, 0.4, 0.01, 0.4, 0.01, 0.4]
    world.mesh.round_trips = lambda edges, *, within_s: dict.fromkeys(  # type: ignore[method-assign]
        edges, RoundTrip(took_s=trips.pop(0) if trips else 0.01, direct_s=0.01)
    )
    (slow,) = run(world, SLOW)
    assert not slow.proven


def test_a_delay_is_unproven_if_one_of_its_edges_did_not_answer_before() -> None:
    """Slowing what another fault has cut shows no effect, whatever the edges that are open show."""
    both = SLOW | {"name": "both", "at": "7s", "edges": "all -> leader"}
    cut, slow, wider = run(World(), CUT | {"for": "9s"}, SLOW | {"at": "7s"}, both)
    assert (cut.proven, slow.proven, wider.proven) == (True, False, False)
    for each in (slow, wider):
        assert "no request through 2->1, 3->1 was answered before the delay" in each.evidence


def test_two_delays_of_one_edge_add_up() -> None:
    """Each is proven by what it adds; the first is over when the second is gone too."""
    second = SLOW | {"name": "second", "at": "6s", "delay": "100ms", "jitter": "0s", "for": "6s"}
    first, second_record = run(World(), SLOW, second)
    assert (first.proven, first.recovered) == (True, True)
    assert (second_record.proven, second_record.recovered) == (True, True)
    assert shown(second_record) == {
        "round_trip_before_s": {"2->1": 0.26, "3->1": 0.26},
        "round_trip_during_s": {"2->1": 0.36, "3->1": 0.36},
        "past_the_edge_s": {"2->1": 0.01, "3->1": 0.01},
    }
    assert first.heal_ns == ns(8)
    assert first.recovered_ns >= second_record.heal_ns == ns(12)


def test_a_cut_of_a_slow_edge() -> None:
    """The edge is cut, then slow again, then open; both faults are proven."""
    world, states, edge = World(), list[tuple[bool, bool]](), Edge(source="2", target=1)
    for at_s in (5.5, 6.5, 7.5):
        world.clock.call_at(
            ns(at_s), lambda: states.append((world.mesh.is_cut(edge), world.mesh.delay_s(edge) == 0.25))
        )
    slow, cut = run(world, SLOW, CUT)
    assert states == [(False, True), (True, True), (False, True)]
    assert world.mesh.delay_s(edge) == 0.0
    assert (slow.proven, slow.recovered, cut.proven, cut.recovered) == (True, True, True, True)


def test_the_words_of_a_step() -> None:
    """Without a jitter it has none; without edges it takes all edges of a target."""
    words = {"name": "it", "do": "latency", "target": "leader", "delay": "1.5s", "at": "0s", "for": "9s"}
    step = parse_step(words)
    assert write_step(step) == {
        "name": "it",
        "do": "latency",
        "at": "0s",
        "edges": "all <-> leader",
        "delay": "1.5s",
        "jitter": "0s",
        "direction": "from",
        "for": "9s",
    }
    assert parse_step(write_step(step)) == step


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"delay": None}, "delay: None is refused; allowed: a duration with its unit"),
        ({"delay": "40ms"}, "delay: '40ms' is refused; allowed: at least 0.05s"),
        ({"jitter": "130ms"}, "jitter: '130ms' is refused; allowed: at most half of the delay"),
        (
            {"delay": "90ms", "jitter": "41ms"},
            "jitter: '41ms' is refused; allowed: at most half of the delay, and at least 0.05s less than it: "
            "a shorter delay cannot be proven",
        ),
        ({"delay": "50ms", "jitter": "1ms"}, "jitter: '1ms' is refused; allowed: at most half"),
        (
            {"mode": "refuse"},
            "mode: 'refuse' is refused; allowed: nothing: a latency takes target, edges",
        ),
        ({"for": "1.5s"}, "for: '1.5s' is refused; allowed: at least 1.6s: with this delay"),
        ({"for": "0.9s", "delay": "50ms", "jitter": "0s"}, "for: '0.9s' is refused; allowed: at least 1s"),
        ({"edges": "101 -> 1"}, "edges: 'node 101 -> node 1' is refused"),
    ],
)
def test_refusing(change: dict[str, object], refusal: str) -> None:
    """What could not be done, or not be proven."""
    brokers, controllers = (1, 2, 3), (101, 102, 103)
    topics = (TopicFacts(name="orders", partitions=1, replication=3),)
    facts = Facts(
        brokers=brokers, controllers=controllers, edges=full_mesh(brokers, controllers), topics=topics
    )
    with pytest.raises(BadStep) as caught:
        validate(parse_steps([{**SLOW, **change}]), facts)
    assert refusal in str(caught.value)
