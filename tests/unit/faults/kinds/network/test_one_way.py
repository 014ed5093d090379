"""Half-open connections and resets: requests that do not arrive, and answers that do not come back."""

from collections.abc import Collection, Mapping

import pytest
from fakes.world.cluster import full_mesh
from fakes.world.fault_steps import run, shown
from fakes.world.fault_world import World

from compose.protocols import Edge, Reached
from faults.errors import BadStep
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.plan.validate import validate
from faults.targets.facts import Facts, TopicFacts

EDGES = {"name": "it", "at": "5s", "edges": "followers -> leader", "for": "3s"}
HALF_OPEN = EDGES | {"do": "partition", "mode": "blackhole", "direction": "from"}
RESET = EDGES | {"do": "reset"}


@pytest.mark.parametrize(("direction", "end"), [("to", "proxy"), ("from", "target")])
def test_a_half_open_edge_is_proven_by_where_a_request_ends(direction: str, end: str) -> None:
    """Beside the bytes of answers, which stand still."""
    world = World()
    (cut,) = run(world, HALF_OPEN | {"direction": direction})
    assert (cut.proven, cut.recovered) == (True, True)
    assert shown(cut) == {
        "bytes_before": {"2->1": 1_000_000, "3->1": 1_000_000},
        "bytes_before_over_s": 1.0,
        "no_byte_for_s": 0.8,
        "answered_before_not_after": [],
        "requests_come_to": {"2->1": end, "3->1": end},
    }
    assert f"cut 2->1 blackhole {direction} it" in world.calls


def test_an_edge_that_swallows_both_ways_is_not_half_open() -> None:
    """A whole black hole is no evidence of one whose requests arrive."""
    world = World()

    def swallow(edges: Collection[Edge], *, within_s: float) -> Mapping[Edge, Reached]:
        return dict.fromkeys(edges, "proxy")

    world.mesh.reached = swallow  # type: ignore[method-assign]
    (cut,) = run(world, HALF_OPEN)
    assert (cut.proven, cut.recovered) == (False, True)
    assert "a request through 2->1 comes to: proxy; half-open, it comes to: target" in cut.evidence


def test_two_half_open_edges_of_opposite_directions() -> None:
    """Together they swallow all; each is healed alone."""
    world, states, edge = World(), list[Reached](), Edge.parse("2->1")
    for at_s in (6.5, 7.5, 8.5):
        world.clock.call_at(
            round(at_s * 1e9), lambda: states.append(world.mesh.reached([edge], within_s=0.5)[edge])
        )
    to = HALF_OPEN | {"name": "to", "at": "7s", "direction": "to", "for": "5s"}
    first, second = run(world, HALF_OPEN, to)
    assert states == ["target", "proxy", "proxy"]
    assert (first.proven, second.proven) == (True, False)
    assert (first.recovered, second.recovered) == (True, True)


def test_a_reset_is_proven_by_connections_that_are_reset() -> None:
    """Each edge had answered before, and answers again afterwards."""
    world = World()
    (reset,) = run(world, RESET)
    assert (reset.proven, reset.recovered) == (True, True)
    assert shown(reset) == {"answered_before_reset_after": ["2->1", "3->1"]}
    assert shown(reset, "recovery") == {"answered_since_heal": ["2->1", "3->1"]}
    assert [call for call in world.calls if call.startswith(("impair", "mend"))] == [
        "impair 2->1 Reset(direction='from') it",
        "impair 3->1 Reset(direction='from') it",
        "mend 2->1 it",
        "mend 3->1 it",
    ]


def test_a_reset_of_requests() -> None:
    world = World()
    (reset,) = run(world, RESET | {"direction": "to"})
    assert reset.proven
    assert "impair 2->1 Reset(direction='to') it" in world.calls


def test_connections_that_are_not_reset_are_no_evidence() -> None:
    """The answer of each edge is named."""
    (reset,) = run(World(ignores={"impair"}), RESET)
    assert (reset.proven, reset.recovered) == (False, True)
    assert "connections that were not reset: 2->1 (source), 3->1 (source)" in reset.evidence


def test_resets_that_stay_are_no_recovery() -> None:
    (reset,) = run(World(ignores={"mend"}), RESET)
    assert (reset.proven, reset.recovered) == (True, False)
    assert shown(reset, "recovery") == {"lacking": "no answer on 2->1, 3->1"}


def test_a_reset_of_an_edge_that_was_shut_is_unproven() -> None:
    """It answered nothing before."""
    cut = EDGES | {"name": "cut", "do": "partition", "for": "9s"}
    _, reset = run(World(), cut, RESET | {"at": "7s"})
    assert not reset.proven
    assert "no request through 2->1, 3->1 was answered before" in reset.evidence


@pytest.mark.parametrize("words", [HALF_OPEN, HALF_OPEN | {"direction": "to"}, RESET | {"direction": "from"}])
def test_the_words_of_a_step(words: dict[str, str]) -> None:
    """A step is written as the words that read back to it."""
    assert write_step(parse_step(words)) == words


def test_a_partition_of_both_directions_is_written_without_one() -> None:
    """As before there was one to choose."""
    both = HALF_OPEN | {"direction": "both"}
    assert write_step(parse_step(both)) == EDGES | {"do": "partition", "mode": "blackhole"}


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"mode": "refuse"}, "direction: 'from' is refused; allowed: both, or mode: blackhole"),
        ({"direction": "in"}, "direction: 'in' is refused; allowed: one of to, from, both"),
        ({"for": "1.4s"}, "for: '1.4s' is refused; allowed: at least 1.5s: a shorter one-way partition"),
    ],
)
def test_refusing(change: dict[str, str], refusal: str) -> None:
    """What has no direction, and what could not be proven."""
    brokers, controllers = (1, 2, 3), (101, 102, 103)
    topics = (TopicFacts(name="orders", partitions=1, replication=3),)
    facts = Facts(
        brokers=brokers, controllers=controllers, edges=full_mesh(brokers, controllers), topics=topics
    )
    with pytest.raises(BadStep) as caught:
        validate(parse_steps([HALF_OPEN | change]), facts)
    assert refusal in str(caught.value)
