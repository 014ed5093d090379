"""A wiped disk: nothing of a broker's log is left, what is gone is measured, and no controller is wiped."""

import json

import pytest
from fakes.world import fault_steps
from fakes.world.cluster import full_mesh
from fakes.world.fault_world import World

from checkers.history import rows
from compose.errors import DiskError
from faults.clock import ns
from faults.errors import BadStep
from faults.kinds.disk.disk_wipe import DISK_WIPE
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.plan.validate import validate
from faults.schedule.record import FaultRecord
from faults.targets.facts import Facts

WIPE = {"do": "disk-wipe", "target": "leader", "for": "2s"}


def run(world: World, words: dict[str, str] = WIPE) -> FaultRecord:
    """The record of one step; the log of a running node grows by 1,000,000 a second."""
    (record,) = fault_steps.run(world, words)
    return record


def test_the_checkers_know_the_kind_by_its_name() -> None:
    assert DISK_WIPE.name == rows.WIPE


def test_a_broker_is_killed_wiped_and_started_again() -> None:
    world = World()
    record = run(world)
    done = [call for call in world.calls if call.split()[0] in ("kill", "replace", "start")]
    assert done == ["kill 1", "replace 1", "start 1"]
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert (record.down, record.unclean, record.data_lost) == ((1,), (1,), (1,))
    shown = json.loads(record.evidence)["effect"]
    assert shown == {"exit_codes": {"1": 137}, "log_bytes_before": {"1": 5_051_000}}


def test_all_are_down_before_any_is_wiped() -> None:
    """Else one could fetch from another that is empty already, and cut its own log."""
    world = World()
    record = run(world, WIPE | {"target": "brokers"})
    done = [call for call in world.calls if call.split()[0] in ("kill", "replace", "start")]
    assert done == [f"{do} {node}" for do in ("kill", "replace", "start") for node in (1, 2, 3)]
    assert record.data_lost == (1, 2, 3)


def test_a_disk_can_be_emptied_and_stay_the_same() -> None:
    world = World()
    record = run(world, WIPE | {"disk": "emptied"})
    assert [call for call in world.calls if call.split()[0] in ("wipe", "replace")] == ["wipe 1"]
    assert (record.proven, record.recovered, record.data_lost) == (True, True, (1,))


def test_which_disk_is_written_as_it_was_read() -> None:
    step = parse_step({"at": "5s"} | WIPE | {"disk": "emptied"})
    assert write_step(step)["disk"] == "emptied"
    assert parse_step(write_step(step)) == step
    with pytest.raises(BadStep, match=r"disk: 'old' is refused; allowed: one of new, emptied"):
        parse_step({"at": "5s"} | WIPE | {"disk": "old"})


def test_what_is_gone_is_measured_on_both_disks() -> None:
    record = run(World())
    assert [(log.node, log.topic, log.partition, log.log_end, log.source) for log in record.logs] == [
        (1, "orders", 0, 5_051_000, "before-wipe"),
        (1, "orders", 0, 0, "after-wipe"),
    ]
    before, after = record.logs
    assert record.down_ns[0] < before.at_ns < after.at_ns < record.up_ns[0]


@pytest.mark.parametrize(("ignored", "why"), [("kill", "exit codes"), ("wipe", "log bytes: {'1': 5")])
def test_no_effect_no_evidence(ignored: str, why: str) -> None:
    """A process that lives, or a log that is still there."""
    world = World(ignores={ignored})
    if ignored == "kill":
        world.wipe = lambda node, *, new, log_dir=None: None  # type: ignore[method-assign]
    record = run(world)
    assert not record.proven
    assert why in str(json.loads(record.evidence)["reason"])


def test_a_disk_that_was_empty_before_is_no_evidence() -> None:
    world = World()
    world.log_bytes = lambda node, *, log_dir=None: 0  # type: ignore[method-assign]
    assert not run(world).proven


def test_the_data_of_a_wipe_that_failed_count_as_lost() -> None:
    """Part of them may be; what is left was not measured. The broker is started all the same."""
    world = World(failing={"replace": [DiskError("node 1: the device is busy")]})
    record = run(world)
    assert (record.proven, record.recovered, record.data_lost) == (False, True, (1,))
    assert "after-wipe" not in {log.source for log in record.logs}


def test_a_broker_that_does_not_fetch_everything_anew_does_not_recover() -> None:
    """It serves, and its replicas stay out of sync."""
    record = run(World(rejoin_ns=ns(3600)))
    assert (record.proven, record.recovered) == (True, False)


@pytest.mark.parametrize(
    ("target", "controllers"),
    [("active controller", (101, 102, 103)), ("nodes", (101, 102, 103)), ("node 2", (1, 2, 3))],
)
def test_a_controller_is_not_wiped(target: str, controllers: tuple[int, ...]) -> None:
    """Nor a broker that is one too."""
    brokers = (1, 2, 3)
    facts = Facts(brokers=brokers, controllers=controllers, edges=full_mesh(brokers, controllers), topics=())
    with pytest.raises(BadStep, match="a controller that forgets its vote may give it twice"):
        validate(parse_steps([{"at": "5s"} | WIPE | {"target": target}]), facts)
