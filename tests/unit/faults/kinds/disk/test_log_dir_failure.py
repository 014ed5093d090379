"""A log directory that fails: the broker goes on without it, and has it back when it is restarted."""

import json
from collections.abc import Callable, Mapping

import pytest
from fakes.world.cluster import full_mesh
from fakes.world.fault_steps import run
from fakes.world.fault_world import Aside, World, WorldView

from checkers.history import rows
from compose.errors import DiskError
from compose.protocols import Edge, ProcessEvent
from faults.clock import ns
from faults.errors import BadStep
from faults.kinds.disk.log_dir_failure import LOG_DIR_FAILURE
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.plan.validate import validate
from faults.schedule.record import FaultRecord
from faults.targets.facts import Facts, TopicFacts

FAILURE = {"name": "disk", "do": "log-dir-failure", "target": "leader", "for": "5s"}
CHANGES = ("fail_log_dir", "kill", "stop", "start", "pause", "thaw")


def two() -> World:
    return World(log_dir_count=2)


def changes(world: World) -> list[str]:
    return [call for call in world.calls if call.split()[0] in CHANGES]


def reason(record: FaultRecord) -> str:
    return str(json.loads(record.evidence)["reason"])


def test_the_checkers_know_the_kind_by_its_name() -> None:
    assert LOG_DIR_FAILURE.name == rows.LOG_DIR_FAILURE


def test_a_directory_fails_under_a_broker_that_goes_on_and_is_back_after_a_restart() -> None:
    world = two()
    (record,) = run(world, FAILURE)
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert changes(world) == ["fail_log_dir 1 dir 2", "stop 1", "start 1"]
    assert world.offline[1] == set()
    assert not any(world.mesh.is_cut(edge) for edge in world.mesh.edges)


def test_what_the_broker_says_and_what_the_others_do_is_the_evidence() -> None:
    (record,) = run(two(), FAILURE)
    effect = json.loads(record.evidence)["effect"]
    assert effect["offline"] == {"1": "/data-2/kafka"}
    assert effect["out_of_sync"] == ["1/orders-0"]
    assert effect["leaders_moved"] == {"orders-0": [1, 2]}
    assert effect["unsynced_log_bytes_before"]["1"] > 0
    recovery = json.loads(record.evidence)["recovery"]
    assert recovery["online"] == {"1": "/data-2/kafka"}
    assert recovery["lost_log_bytes"]["1"] > 0


def test_a_follower_leads_nothing_and_leaves_the_isr() -> None:
    (record,) = run(two(), FAILURE | {"target": "node 3"})
    assert (record.proven, record.recovered) == (True, True), record.evidence
    effect = json.loads(record.evidence)["effect"]
    assert (effect["out_of_sync"], effect["leaders_moved"]) == (["3/orders-0"], {})


def test_the_record_names_the_replicas_and_what_their_broker_has_lost() -> None:
    (record,) = run(two(), FAILURE)
    assert record.replicas == ("1/orders-0",)
    assert (record.down, record.unclean, record.data_lost) == ((1,), (1,), (1,))
    assert record.effect_ns < record.end_ns < record.down_ns[0] < record.up_ns[0]
    assert [(log.node, log.source) for log in record.logs] == [(1, "disk-down")]
    assert record.down_ns[0] < record.logs[0].at_ns < record.up_ns[0]


def test_a_directory_in_which_everything_is_synced_loses_nothing() -> None:
    (record,) = run(World(log_dir_count=2, flushed=True), FAILURE)
    assert (record.proven, record.unclean, record.data_lost) == (True, (1,), ())


def test_any_directory_but_the_first_can_fail() -> None:
    world = World(log_dir_count=3)
    (record,) = run(world, FAILURE | {"log_dir": "3", "target": "node 2"})
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert changes(world)[0] == "fail_log_dir 2 dir 3"


def test_a_directory_without_a_replica_is_nothing_to_fail() -> None:
    """Nothing would show that it fails."""
    world = World(log_dir_count=3)
    (record,) = run(world, FAILURE)
    assert "nothing to hit: log directory 2 of node 1 has no replica" in reason(record)
    assert changes(world) == []


def test_a_directory_that_goes_on_is_no_evidence() -> None:
    (record,) = run(World(log_dir_count=2, ignores={"fail_log_dir"}), FAILURE)
    assert not record.proven
    assert "log directory 2 is online by the word of [1]" in reason(record)


def test_a_broker_that_keeps_the_lead_is_no_evidence() -> None:
    world = two()
    world._elect = lambda: None  # type: ignore[method-assign]
    world.leads = lambda node: True  # type: ignore[method-assign]
    (record,) = run(world, FAILURE)
    assert not record.proven
    assert "the directory is offline, and these still lead or are in sync: ['1/orders-0']" in reason(record)


def test_a_broker_that_halts_has_failed_and_its_end_is_not_planned() -> None:
    """It should have gone on. It stays down, as whatever has ended without a reason."""
    world = World(log_dir_count=2, stumble={1})
    told: list[ProcessEvent] = []
    world.watch(told.append)
    (record,) = run(world, FAILURE)
    assert (record.proven, record.recovered, record.down) == (False, False, ())
    assert "node 1 is exited, and should have gone on as it was" in reason(record)
    assert [(one.event, one.planned) for one in told if one.node == 1] == [
        ("started", True),
        ("exited", False),
    ]
    assert changes(world) == ["fail_log_dir 1 dir 2"]


def test_a_broker_that_halts_late_has_failed_too() -> None:
    """Its effect was proven; what it lost by that is not undone by a start that nobody had planned."""
    world = two()
    world.clock.call_at(ns(9), lambda: world.die(1))
    (record,) = run(world, FAILURE)
    assert (record.proven, record.recovered, record.down) == (True, False, ())
    assert changes(world) == ["fail_log_dir 1 dir 2"]


def test_what_another_fault_has_restarted_meanwhile_is_not_restarted_again() -> None:
    world = two()
    kill = {"name": "kill", "do": "kill", "target": "node 1", "after": "previous.begin + 2s", "for": "1s"}
    failure, killed = run(world, FAILURE | {"for": "12s"}, kill)
    assert (failure.proven, failure.recovered, failure.down, failure.data_lost) == (True, True, (), (1,))
    assert (killed.proven, killed.recovered, killed.down) == (True, True, (1,))
    assert changes(world) == ["fail_log_dir 1 dir 2", "kill 1", "start 1"]


def test_a_broker_that_another_fault_is_ending_is_restarted_by_that_one() -> None:
    """Its shutdown takes 6 s, and the healing is due in the midst of it."""
    world = two()
    world.stop_ns = ns(6)
    stop = {"name": "stop", "do": "stop", "target": "node 1", "after": "disk.begin + 3s", "for": "2s"}
    disk, stopped = run(world, FAILURE | {"target": "node 1"}, stop, threads=Aside(world.clock))
    assert (disk.proven, disk.recovered, disk.down) == (True, True, ()), disk.evidence
    assert (stopped.proven, stopped.recovered, stopped.down) == (True, True, (1,)), stopped.evidence
    assert changes(world) == ["fail_log_dir 1 dir 2", "stop 1", "start 1"]
    assert world.offline[1] == set()


def test_a_restart_that_does_not_bring_the_directory_back_is_no_recovery() -> None:
    world = World(log_dir_count=2, ignores={"start"})
    (record,) = run(world, FAILURE)
    assert (record.proven, record.recovered) == (True, False)


def test_a_broker_that_says_that_its_directory_is_offline_has_not_recovered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the ISR says of the replicas there."""
    world, answer = two(), WorldView.log_dirs

    def log_dirs(view: WorldView, broker: int) -> Mapping[str, bool]:
        online = answer(view, broker)
        return online if world.clock.now_ns() < ns(12) else dict.fromkeys(online, False)

    monkeypatch.setattr(WorldView, "log_dirs", log_dirs)
    (record,) = run(world, FAILURE)
    assert (record.proven, record.recovered) == (True, False)
    recovery = str(json.loads(record.evidence)["recovery"])
    assert "log directory 2 is offline by the word of [1]" in recovery


def test_brokers_are_restarted_one_after_the_other() -> None:
    """What lies in their other directories they can serve meanwhile."""
    world = World(log_dir_count=2, boot_ns=ns(0.5))
    (record,) = run(world, FAILURE | {"target": "1+2"})
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert changes(world)[2:] == ["stop 1", "start 1", "stop 2", "start 2"]
    assert record.up_ns[0] < record.down_ns[1]


def test_a_restart_that_has_failed_is_tried_again() -> None:
    """The node is stopped only once."""
    world = World(log_dir_count=2, failing={"start": [DiskError("node 1: the device is busy")]})
    (record,) = run(world, FAILURE)
    assert record.recovered, record.evidence
    assert changes(world)[1:] == ["stop 1", "start 1", "start 1"]


def test_a_directory_that_is_offline_already_is_nothing_to_fail() -> None:
    world = two()
    world.offline[1].add(2)
    (record,) = run(world, FAILURE | {"target": "node 1"})
    assert "nothing to fail: /data-2/kafka of node 1 is offline already" in reason(record)


def test_a_frozen_disk_is_nothing_to_fail() -> None:
    world = two()
    world.frozen.add(1)
    (record,) = run(world, FAILURE)
    assert "nothing to fail: a disk of node 1 is frozen" in reason(record)


def test_a_process_that_is_down_is_nothing_to_fail() -> None:
    world = two()
    world.kill(1)
    (record,) = run(world, FAILURE | {"target": "node 1"})
    assert "nothing to fail: node 1 is exited" in reason(record)


def test_the_edges_of_the_node_are_closed_while_it_is_down() -> None:
    world = two()
    run(world, FAILURE)
    closed = world.calls.index("cut client->1 refuse disk")
    assert world.calls.index("stop 1") < closed < world.calls.index("start 1")
    assert world.calls.index("start 1") < world.calls.index("mend client->1 disk")


# The plan


BROKERS, CONTROLLERS = (1, 2, 3), (101, 102, 103)


def facts(log_dirs: int, controllers: tuple[int, ...] = CONTROLLERS) -> Facts:
    return Facts(
        brokers=BROKERS,
        controllers=controllers,
        edges=full_mesh(BROKERS, controllers),
        topics=(TopicFacts(name="orders", partitions=2, replication=3),),
        log_dirs=log_dirs,
    )


@pytest.mark.parametrize(
    ("change", "log_dirs", "complaint"),
    [
        ({}, 1, "do: 'log-dir-failure' is refused; allowed: any other kind: brokers with one log directory"),
        ({"log_dir": "1"}, 2, "log_dir: '1' is refused; allowed: 2: without the first, which has the"),
        ({"log_dir": "3"}, 2, "log_dir: '3' is refused; allowed: from 1 to 2, which cluster.log_dirs sets"),
        ({"log_dir": "1"}, 3, "log_dir: '1' is refused; allowed: from 2 to 3: without the first, which has"),
        ({"target": "nodes"}, 2, "target: 'nodes' is refused; allowed: brokers: a controller has one log"),
        ({"target": "node 101"}, 2, "target: 'node 101' is refused; allowed: brokers: a controller has"),
        ({"target": "controllers", "log_dir": "1"}, 2, "target: 'controllers' is refused; allowed: brokers"),
        ({"for": "2s"}, 2, "for: '2s' is refused"),
    ],
)
def test_what_no_broker_survives_or_has_is_refused(
    change: dict[str, str], log_dirs: int, complaint: str
) -> None:
    with pytest.raises(BadStep) as refused:
        validate(parse_steps([{"at": "1s"} | FAILURE | change]), facts(log_dirs))
    assert complaint in str(refused.value)


def test_a_broker_that_is_a_controller_too_has_the_directories_of_a_broker() -> None:
    (step,) = validate(parse_steps([{"at": "1s"} | FAILURE | {"target": "node 1"}]), facts(2, (1, 2, 3)))
    assert step.kind == "log-dir-failure"


@pytest.mark.parametrize("number", ["0", "-1", "two", "1.5", True, ""])
def test_a_log_directory_is_a_number(number: object) -> None:
    with pytest.raises(BadStep, match="allowed: the number of a log directory, from 1 on"):
        parse_step({"at": "1s"} | FAILURE | {"log_dir": number})


def test_which_directory_is_written_as_it_was_read() -> None:
    step = parse_step({"at": "1s"} | FAILURE)
    assert write_step(step)["log_dir"] == "2"
    assert parse_step(write_step(step)) == step
    assert write_step(parse_step({"at": "1s"} | FAILURE | {"log_dir": 3}))["log_dir"] == "3"


# Other faults of one log directory


FULL = {"name": "full", "do": "disk-full", "target": "leader", "for": "5s", "log_dir": "2"}


def test_a_full_directory_that_a_broker_can_do_without_has_the_same_effect() -> None:
    world = two()
    (record,) = run(world, FULL)
    assert (record.proven, record.recovered) == (True, True), record.evidence
    done = [call for call in world.calls if call.split()[0] in ("fill_up", "free_up", "stop", "start")]
    assert done == ["fill_up 1 dir 2", "free_up 1 dir 2", "stop 1", "start 1"]
    assert (record.down, record.unclean, record.data_lost) == ((1,), (1,), ())
    assert record.replicas == ("1/orders-0",)
    effect = json.loads(record.evidence)["effect"]
    assert (effect["bytes_free"], effect["offline"]) == ({"1": 0}, {"1": "/data-2/kafka"})


def test_what_becomes_free_in_a_full_directory_is_taken_too() -> None:
    world = World(log_dir_count=2, halts=False)

    def remove() -> None:
        world.other_rooms[1, 2], world.halts = 5 << 20, True

    world.clock.call_at(ns(6), remove)
    (record,) = run(world, FULL)
    assert (record.proven, record.recovered) == (True, True), record.evidence
    done = [call for call in world.calls if call.split()[0] in ("fill_up", "free_up", "stop", "start")]
    assert done == ["fill_up 1 dir 2", "fill_up 1 dir 2", "free_up 1 dir 2", "stop 1", "start 1"]


@pytest.mark.parametrize(
    ("world", "why"),
    [
        (lambda: World(log_dir_count=2, ignores={"fill_up"}), "bytes free: {'1': 1073741824}"),
        (lambda: World(log_dir_count=2, halts=False), "log directory 2 is online by the word of [1]"),
        (lambda: World(log_dir_count=2, stumble={1}), "node 1 is exited, and should have gone on as it was"),
    ],
)
def test_a_full_directory_without_its_effect_is_no_evidence(world: Callable[[], World], why: str) -> None:
    (record,) = run(world(), FULL)
    assert not record.proven
    assert why in reason(record)


def test_the_first_directory_is_full_unless_another_is_named() -> None:
    """A broker halts without its metadata log."""
    world = two()
    (record,) = run(world, {key: word for key, word in FULL.items() if key != "log_dir"})
    assert (record.proven, record.recovered, record.down) == (True, True, (1,)), record.evidence
    assert json.loads(record.evidence)["effect"] == {"bytes_free": {"1": 0}, "exit_codes": {"1": 1}}
    assert record.replicas == ()


@pytest.mark.parametrize(
    ("words", "call", "replicas"),
    [
        ({"do": "disk-stall"}, "freeze 1", ()),
        ({"do": "disk-stall", "log_dir": "2"}, "freeze 1 dir 2", ("1/orders-0",)),
        ({"do": "disk-wipe"}, "replace 1", ()),
        ({"do": "disk-wipe", "log_dir": "2"}, "replace 1 dir 2", ("1/orders-0",)),
        ({"do": "disk-stutter", "on": "1s", "off": "1s"}, "freeze 1", ()),
        ({"do": "disk-stutter", "on": "1s", "off": "1s", "log_dir": "2"}, "freeze 1 dir 2", ("1/orders-0",)),
        ({"do": "power-loss"}, "drop_unsynced 1", ()),
    ],
)
def test_other_faults_of_disks_hit_all_directories_or_the_one_that_is_named(
    words: dict[str, str], call: str, replicas: tuple[str, ...]
) -> None:
    world = two()
    (record,) = run(world, {"target": "leader", "for": "8s"} | words)
    assert (record.proven, record.recovered) == (True, True), record.evidence
    assert call in world.calls
    assert record.replicas == replicas


def test_power_goes_with_all_directories() -> None:
    with pytest.raises(BadStep, match="log_dir"):
        parse_step({"at": "1s", "do": "power-loss", "target": "leader", "for": "1s", "log_dir": "2"})


def test_an_edge_to_the_node_is_open_again_though_another_fault_has_started_it() -> None:
    world = two()
    kill = {"name": "kill", "do": "kill", "target": "node 1", "after": "previous.begin + 2s", "for": "1s"}
    run(world, FAILURE | {"for": "12s"}, kill)
    assert not any(world.mesh.is_cut(edge) for edge in world.mesh.edges if edge.target == 1)
    assert world.mesh.passes(Edge.parse("client->1"))
