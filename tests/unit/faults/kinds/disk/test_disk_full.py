"""A full disk: proven by a node that halts by itself, is noted, and is started when there is room again."""

import json

from fakes.world.fault_steps import run
from fakes.world.fault_world import World

from compose.errors import DiskError
from faults.clock import ns
from faults.schedule.record import FaultRecord

FULL = {"name": "full", "do": "disk-full", "target": "leader", "for": "3s"}


def changes(world: World) -> list[str]:
    return [call for call in world.calls if call.split()[0] in ("fill_up", "free_up", "start", "kill")]


def reason(record: FaultRecord) -> str:
    return str(json.loads(record.evidence)["reason"])


def test_a_node_without_room_halts_and_is_started_when_there_is_room() -> None:
    world = World()
    (record,) = run(world, FULL)
    assert changes(world) == ["fill_up 1", "free_up 1", "start 1"]
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert json.loads(record.evidence)["effect"] == {"bytes_free": {"1": 0}, "exit_codes": {"1": 1}}
    assert world.room[1] == 1 << 30


def test_the_end_is_noted_as_an_unclean_shutdown_that_takes_no_data() -> None:
    (record,) = run(World(), FULL)
    assert (record.down, record.unclean, record.data_lost) == ((1,), (1,), ())
    assert ns(0.3) <= record.down_ns[0] - record.begin_ns < ns(0.7)
    assert record.up_ns[0] > record.end_ns
    assert [(log.node, log.source) for log in record.logs] == [(1, "disk-down")]


def test_a_node_that_halts_late_in_the_hold_is_noted_too() -> None:
    """Two nodes: the effect is not proven before both have halted, and each end has its time."""
    world = World(halts=False)
    for at_s, node in ((6.0, 1), (8.0, 2)):
        world.clock.call_at(ns(at_s), lambda node=node: world.die(node))  # type: ignore[misc]
    (record,) = run(world, FULL | {"target": "1+2", "for": "5s"})
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert record.down == (1, 2)
    assert [round(down_ns / 1e9) for down_ns in record.down_ns] == [6, 8]
    assert changes(world) == ["fill_up 1", "fill_up 2", "free_up 1", "free_up 2", "start 1", "start 2"]


def test_the_edges_to_a_node_that_has_halted_are_closed_until_it_is_started() -> None:
    world = World()
    run(world, FULL)
    assert "cut client->1 refuse full" in world.calls
    assert world.calls[-1].startswith("mend ")
    assert not any(world.mesh.is_cut(edge) for edge in world.mesh.edges)


def test_a_node_that_runs_on_is_no_evidence() -> None:
    """Nobody writes to it. It is not started either."""
    world = World(halts=False)
    (record,) = run(world, FULL)
    assert (record.proven, record.recovered, record.down) == (False, True, ())
    assert "no room is left, and these run on: [1]" in reason(record)
    assert "start 1" not in world.calls


def test_what_becomes_free_while_a_node_runs_on_is_taken_too() -> None:
    """Kafka removes late what it was told to remove, and would have room for the rest of the hold."""
    world = World(halts=False)

    def remove() -> None:
        world.room[1], world.halts = 5 << 20, True

    world.clock.call_at(ns(6), remove)
    (record,) = run(world, FULL)
    assert (record.proven, record.recovered, record.down) == (True, True, (1,)), record.evidence
    assert changes(world) == ["fill_up 1", "fill_up 1", "free_up 1", "start 1"]
    assert world.room[1] == 1 << 30


def test_what_becomes_free_of_a_node_that_has_halted_is_left_alone() -> None:
    world = World()
    world.clock.call_at(ns(7), lambda: world.room.update({1: 5 << 20}))
    (record,) = run(world, FULL)
    assert record.proven, record.evidence
    assert changes(world) == ["fill_up 1", "free_up 1", "start 1"]


def test_a_disk_that_cannot_be_filled_again_is_tried_on() -> None:
    world = World(halts=False)

    def remove() -> None:
        world.room[1], world.halts = 5 << 20, True
        world.failing["fill_up"] = [DiskError("the disk of node 1 still has 5 bytes free")]

    world.clock.call_at(ns(6), remove)
    (record,) = run(world, FULL)
    assert (record.proven, record.down) == (True, (1,)), record.evidence
    assert changes(world) == ["fill_up 1", "fill_up 1", "fill_up 1", "free_up 1", "start 1"]


def test_a_disk_that_is_not_filled_is_no_evidence() -> None:
    (record,) = run(World(ignores={"fill_up"}), FULL)
    assert not record.proven
    assert "bytes free: {'1': 1073741824}" in reason(record)


def test_a_node_that_halts_as_the_hold_ends_is_started_all_the_same() -> None:
    """Its append had failed before there was room again."""
    world = World(halts=False)
    world.clock.call_at(ns(8.4), lambda: world.die(1))
    (record,) = run(world, FULL)
    assert (record.recovered, record.down) == (True, (1,))
    assert changes(world)[-1] == "start 1"


def test_a_node_that_is_not_started_does_not_recover() -> None:
    (record,) = run(World(ignores={"start"}), FULL)
    assert (record.proven, record.recovered) == (True, False)


def test_what_another_fault_has_ended_is_not_its_own() -> None:
    world = World(halts=False)
    kill = {"do": "kill", "target": "node 1", "after": "previous.begin + 1s", "for": "5s"}
    full, killed = run(world, FULL, kill)
    assert (full.proven, full.down) == (False, ())
    assert (killed.proven, killed.recovered, killed.down) == (True, True, (1,))


def test_a_disk_that_could_not_be_filled_is_freed() -> None:
    world = World(failing={"fill_up": [DiskError("the disk of node 1 still has 5 bytes free")]})
    (record,) = run(world, FULL)
    assert reason(record).startswith("the injection failed: the disk of node 1")
    assert (record.recovered, changes(world)) == (True, ["fill_up 1", "free_up 1"])


def test_a_healing_that_fails_at_the_edges_opens_them_the_next_time() -> None:
    """And the node keeps the time of its start."""
    world = World(failing={"mend": [DiskError("the proxy does not answer")]})
    (record,) = run(world, FULL)
    assert record.recovered
    assert not any(world.mesh.is_cut(edge) for edge in world.mesh.edges)
    assert record.heal_ns - record.up_ns[0] > ns(1)


def test_a_frozen_disk_is_nothing_to_fill() -> None:
    world = World()
    world.frozen.add(1)
    (record,) = run(world, FULL)
    assert "nothing to fill: a disk of node 1 is frozen" in reason(record)
