"""Elections that a person asks for: which leaders move, what proves it, and what is no such election."""

from fakes.world.fault_steps import run, shown
from fakes.world.fault_world import World

from compose.protocols import Edge
from faults.clock import ns

PREFERRED = {"name": "back", "at": "5s", "do": "preferred-election", "for": "1s"}
UNCLEAN = {"name": "force", "at": "5s", "do": "unclean-election", "for": "1s"}


def changes(world: World) -> list[str]:
    """The elections that Kafka was asked for."""
    return [call for call in world.calls if call.startswith("elect")]


def headless(*, again: bool = True) -> World:
    """Leader 1 dies alone in sync; it comes back at 9 s, if it does `again`."""
    world = World()
    world.mesh.cut([Edge.parse("2->1"), Edge.parse("3->1")], mode="refuse", owner="test")
    world.settle()
    world.clock.advance(ns(3.5))
    world.kill(1)
    if again:
        world.clock.call_at(ns(9), lambda: world.start(1))
    return world


def test_a_leader_moves_to_the_preferred_replica() -> None:
    """Without a crash, under a later epoch."""
    world = World(leader=3, epoch=7)
    (back,) = run(world, PREFERRED)
    assert (back.proven, back.recovered, back.down) == (True, True, ())
    assert shown(back) == {"orders-0": {"leader": [3, 1], "leader_epoch": [7, 8], "isr_before": [1, 2, 3]}}
    assert changes(world) == ["elect preferred orders-0"]


def test_a_leader_that_is_the_preferred_one_does_not_move() -> None:
    """Nothing is shown by not moving it."""
    world = World()
    (back,) = run(world, PREFERRED)
    assert not back.proven
    assert "each partition of orders is led by its first replica" in shown(back, "reason")
    assert changes(world) == []


def test_a_rotated_topic_has_leaders_to_move() -> None:
    """There and, once the replicas are moved back, back again: two planned moves."""
    world = World()
    rotate = {"name": "rotate", "at": "5s", "do": "reassign", "to": "rotated", "for": "4s"}
    there = {"name": "there", "after": "rotate.begin + 2s", "do": "preferred-election", "for": "1s"}
    back = {"name": "back", "after": "rotate.recovered + 2s", "do": "preferred-election", "for": "1s"}
    records = run(world, rotate, there, back)
    assert [(record.proven, record.recovered) for record in records] == [(True, True)] * 3
    assert shown(records[1])["orders-0"]["leader"] == [1, 2]
    assert shown(records[2])["orders-0"]["leader"] == [2, 1]


def test_an_election_without_effect_is_unproven() -> None:
    """Kafka's word is no evidence."""
    (back,) = run(World(leader=3, epoch=7, ignores={"elect"}), PREFERRED)
    assert (back.proven, back.recovered) == (False, True)
    assert "orders-0 has leader 3 and epoch 7 as before" in shown(back, "reason")


def test_a_partition_without_a_leader_gets_one_that_was_not_in_sync() -> None:
    """And its ISR is whole again when who was in it is back."""
    world = headless()
    (force,) = run(world, UNCLEAN)
    assert (force.proven, force.recovered) == (True, True)
    assert shown(force) == {"orders-0": {"leader": [-1, 2], "leader_epoch": [1, 2], "isr_before": [1]}}
    assert changes(world) == ["elect unclean orders-0"]
    assert force.recovered_ns >= ns(12)


def test_a_partition_with_a_leader_is_not_given_another_one() -> None:
    """Kafka would refuse it too."""
    world = World()
    (force,) = run(world, UNCLEAN)
    assert not force.proven
    assert "nothing to elect: each partition of orders has a leader" in shown(force, "reason")
    assert changes(world) == []


def test_a_leader_that_was_in_sync_is_no_evidence() -> None:
    """It came back by itself, just then."""
    world = headless(again=False)
    world.ignores.add("elect")
    world.clock.call_at(ns(8.8), lambda: (world.start(1), setattr(world, "epoch", 2)))
    (force,) = run(world, UNCLEAN)
    assert not force.proven
    assert "its leader 1 was in sync or eligible, [1]" in shown(force, "reason")
