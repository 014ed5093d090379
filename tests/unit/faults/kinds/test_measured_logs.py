"""What a node held while it was down is read from its disk, whatever fault ended it."""

import pytest
from fakes.world import fault_steps
from fakes.world.fault_world import World

from compose.errors import DiskError
from faults.kinds.fault.base import MeasuredLog
from faults.schedule.record import FaultRecord

KILL = {"do": "kill", "target": "leader", "for": "3s"}
STOP = {"do": "stop", "target": "leader", "for": "3s"}
POWER = {"do": "power-loss", "target": "leader", "for": "1s"}


def run(world: World, words: dict[str, str]) -> FaultRecord:
    """The record of one step; the log of a running node grows by 1,000,000 a second."""
    (record,) = fault_steps.run(world, words)
    return record


def summary(record: FaultRecord) -> list[tuple[int, str, int, int, str]]:
    return [(log.node, log.topic, log.partition, log.log_end, log.source) for log in record.logs]


@pytest.mark.parametrize("words", [KILL, STOP])
def test_a_node_that_is_down_is_measured_just_before_it_is_started(words: dict[str, str]) -> None:
    """It ended at 5.05 s, after a call of 0.05 s, with a log of 1000 bytes and what 5.05 s had added."""
    record = run(World(), words)
    assert summary(record) == [(1, "orders", 0, 5_051_000, "disk-down")]
    (log,) = record.logs
    assert record.down_ns[0] < log.at_ns <= record.up_ns[0]


def test_a_power_loss_is_measured_before_the_cut_and_before_the_start() -> None:
    """What was unsynced when the node was paused, 100 bytes and what 5.05 s had added, is gone."""
    record = run(World(), POWER)
    assert summary(record) == [
        (1, "orders", 0, 5_051_000, "before-power-loss"),
        (1, "orders", 0, 900, "after-power-loss"),
    ]
    before, after = record.logs
    assert record.inject_ns < before.at_ns < record.down_ns[0] < after.at_ns <= record.up_ns[0]


def test_every_node_of_a_power_loss_is_measured_while_all_are_paused() -> None:
    world = World()
    record = run(world, POWER | {"target": "brokers"})
    calls = [call for call in world.calls if call.split()[0] in ("pause", "log_ends", "drop_unsynced")]
    assert calls[:9] == [
        f"{do} {node}" for do in ("pause", "log_ends", "drop_unsynced") for node in (1, 2, 3)
    ]
    assert [(log.node, log.source) for log in record.logs] == [
        *((node, "before-power-loss") for node in (1, 2, 3)),
        *((node, "after-power-loss") for node in (1, 2, 3)),
    ]


@pytest.mark.parametrize("words", [KILL, STOP, POWER])
def test_a_disk_that_cannot_be_read_leaves_no_measurement_and_stops_no_fault(words: dict[str, str]) -> None:
    unreadable = [DiskError("node 1: the file system answers with an I/O error") for _ in range(2)]
    record = run(World(failing={"log_ends": unreadable}), words)
    assert (record.proven, record.recovered, record.logs) == (True, True, ())


def test_a_node_that_runs_already_is_not_measured_as_down() -> None:
    """The kill did nothing, so the node's log still grows."""
    assert run(World(ignores={"kill"}), KILL).logs == ()


def test_a_node_that_is_healed_again_is_measured_again_only_if_it_is_down() -> None:
    """The first try to heal starts the node and fails afterwards."""
    record = run(World(failing={"mend": [DiskError("the proxy does not answer")]}), KILL)
    assert record.recovered
    assert [(log.node, log.source) for log in record.logs] == [(1, "disk-down")]


def test_a_measurement_has_a_place_and_a_time() -> None:
    assert run(World(), KILL).logs[0] == MeasuredLog(
        at_ns=8_100_000_000,
        node=1,
        topic="orders",
        partition=0,
        log_start=0,
        log_end=5_051_000,
        source="disk-down",
    )
