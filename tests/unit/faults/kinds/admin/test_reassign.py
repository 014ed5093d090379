"""Replicas that are moved while the cluster runs: to where, what proves it, and how they come back."""

import pytest
from fakes.world.fault_steps import FACTS, refusal, run, shown
from fakes.world.fault_world import World

from compose.errors import ViewError
from faults.clock import ns
from faults.kinds.admin.placement import parse_placement, placed
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.plan.validate import validate

FEWER = {"name": "move", "at": "5s", "do": "reassign", "to": "2 replicas", "for": "3s"}


def changes(world: World) -> list[str]:
    """The reassignments that Kafka was asked for."""
    return [call for call in world.calls if call.startswith("reassign")]


def test_fewer_replicas_and_all_again() -> None:
    """Three, two, three: shown by the replicas that the brokers report."""
    world = World()
    (move,) = run(world, FEWER)
    assert (move.proven, move.recovered, move.nodes, move.target) == (
        True,
        True,
        (),
        "topic orders to 2 replicas",
    )
    assert shown(move) == {"replicas_before": {"orders-0": [1, 2, 3]}, "replicas": {"orders-0": [1, 2]}}
    assert shown(move, "recovery") == {"replicas": {"orders-0": [1, 2, 3]}}
    assert changes(world) == ["reassign orders-0 to [1, 2]", "reassign orders-0 to [1, 2, 3]"]
    assert (move.inject_ns, move.heal_ns) == (ns(5), ns(8))


def test_a_move_without_effect_is_unproven() -> None:
    """Kafka's word that it began is no evidence. It is healed all the same."""
    world = World(ignores={"reassign"})
    (move,) = run(world, FEWER)
    assert (move.proven, move.recovered) == (False, True)
    assert shown(move, "reason") == "no evidence of an effect: orders-0 is on [1, 2, 3], to be on [1, 2]"
    assert len(changes(world)) == 2


def test_a_move_that_kafka_refuses() -> None:
    """With its reason; what it may have begun is moved back."""
    world = World()
    world.admin.refuses["reassign"] = "INVALID_REPLICA_ASSIGNMENT"
    world.clock.call_at(ns(5.5), world.admin.refuses.clear)
    (move,) = run(world, FEWER)
    assert (move.proven, move.recovered) == (False, True)
    refused = "the injection failed: Kafka refuses orders-0 to [1, 2]: INVALID_REPLICA_ASSIGNMENT"
    assert shown(move, "reason") == refused
    assert world.admin.replicas == {("orders", 0): (1, 2, 3)}


def test_a_leader_that_is_moved_away_hands_over() -> None:
    """A planned change of the leader, without a crash."""
    world = World()
    (move,) = run(world, {**FEWER, "to": "2+3"})
    assert (move.proven, move.recovered, world.leader, world.epoch) == (True, True, 2, 1)
    assert move.down == ()


def test_replicas_that_are_there_already() -> None:
    """Nothing is shown by not moving them."""
    world = World()
    (move,) = run(world, {**FEWER, "to": "1+2+3"})
    assert not move.proven
    assert "nothing to reassign: the replicas of orders are 1+2+3 already" in shown(move, "reason")
    assert changes(world) == []


def test_one_at_a_time() -> None:
    """A second move of the same topic would take the first one's replicas for those from before."""
    world = World()
    other = {**FEWER, "name": "other", "at": "6s", "to": "rotated", "for": "20s"}
    first, second = run(world, {**FEWER, "for": "10s"}, other)
    assert (first.proven, second.proven) == (True, False)
    assert "the replicas of orders: move has changed it, and is not healed" in shown(second, "reason")
    assert world.admin.replicas == {("orders", 0): (1, 2, 3)}


def test_recovery_waits_for_the_isr() -> None:
    """Replica 3 is named again at 8 s, and cannot fetch until 12 s."""
    cut = {"name": "cut", "at": "4500ms", "do": "partition", "edges": "3 -> 1", "for": "7500ms"}
    _, move = run(World(), cut, {**FEWER, "to": "rotated"})
    assert move.recovered
    assert move.recovered_ns >= ns(12)


def test_healing_is_tried_again() -> None:
    """While nobody takes a change."""
    world = World()

    def nobody(replicas: object) -> None:
        raise ViewError("no broker takes the change")

    reassign = world.admin.reassign
    world.clock.call_at(ns(7.5), lambda: setattr(world.admin, "reassign", nobody))
    world.clock.call_at(ns(9.5), lambda: setattr(world.admin, "reassign", reassign))
    (move,) = run(world, FEWER)
    assert (move.proven, move.recovered) == (True, True)
    assert move.heal_ns >= ns(10)


@pytest.mark.parametrize(
    ("to", "replicas", "brokers", "expected"),
    [
        ("2+1", (1, 2, 3), (1, 2, 3), (2, 1)),
        ("2 replicas", (3, 1, 2), (1, 2, 3), (3, 1)),
        ("3 replicas", (2, 1), (1, 2, 3, 4), (2, 1, 3)),
        ("4 replicas", (4, 1), (1, 2, 3, 4), (4, 1, 2, 3)),
        ("rotated", (1, 2, 3), (1, 2, 3), (2, 3, 1)),
        ("rotated", (3, 4), (1, 2, 3, 4), (4, 1)),
    ],
)
def test_where_replicas_go(to, replicas, brokers, expected) -> None:
    """The order counts: the first is the preferred leader."""
    assert placed(parse_placement(to), replicas, brokers) == expected


def test_writing_and_reading() -> None:
    """The plan's first topic is written out."""
    (step,) = validate(parse_steps([FEWER]), FACTS)
    words = write_step(step)
    assert words == {
        "name": "move",
        "do": "reassign",
        "at": "5s",
        "topic": "orders",
        "to": "2 replicas",
        "for": "3s",
    }
    assert parse_step(words) == step


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"to": None}, "to: None is refused; allowed: brokers, the preferred leader first"),
        ({"to": "1+1"}, "to: '1+1' is refused; allowed: different brokers; the brokers are [1, 2, 3]"),
        ({"to": "1+101"}, "to: '1+101' is refused; allowed: different brokers"),
        ({"to": "1 replica"}, "allowed: from 2 (min.insync.replicas of orders) to 3 replicas"),
        ({"to": 2}, "to: '2' is refused; allowed: from 2 (min.insync.replicas of orders)"),
        ({"to": "4 replicas"}, "to: '4 replicas' is refused; allowed: from 2"),
        ({"topic": "audit"}, "topic: 'audit' is refused; allowed: one of orders"),
        ({"topic": 7}, "topic: 7 is refused; allowed: the name of a topic"),
        ({"target": "leader"}, "target: 'leader' is refused; allowed: nothing: a reassign takes topic, to"),
        ({"for": "500ms"}, "for: '0.5s' is refused; allowed: at least 1s"),
    ],
)
def test_refusing(change, expected) -> None:
    """What could not be done, or not be proven, or would change what is promised."""
    assert expected in refusal({**FEWER, **change})
