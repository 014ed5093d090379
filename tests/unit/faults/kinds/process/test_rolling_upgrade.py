"""A rolling upgrade takes one node at a time, in the order of its direction; what each says proves it."""

from dataclasses import replace

import pytest
from fakes.world.fault_steps import FACTS, refusal, run, shown
from fakes.world.fault_world import World

from compose.errors import NodeStateError
from faults.clock import ns
from faults.errors import BadStep
from faults.plan.parse import parse_step, parse_steps, write_step
from faults.plan.validate import validate

UP: dict[str, str] = {
    "name": "up",
    "at": "5s",
    "do": "rolling-upgrade",
    "target": "nodes",
    "release": "4.3.1",
    "for": "0s",
}
OLD = dict.fromkeys((1, 2, 3, 101, 102, 103), "4.0.0")


def old_world(**more: object) -> World:
    """All nodes run 4.0.0."""
    return World(releases=dict(OLD), **more)  # type: ignore[arg-type]


def changes(world: World) -> list[str]:
    """What was done to the processes of nodes."""
    return [call for call in world.calls if call.split()[0] in ("stop", "kill", "start", "change_release")]


def order(world: World) -> list[int]:
    """The nodes as they were stopped."""
    return [int(call.split()[-1]) for call in world.calls if call.startswith("stop")]


def test_each_node_is_stopped_gets_its_release_and_is_started_before_the_next() -> None:
    world = old_world()
    (up,) = run(world, {**UP, "target": "1+2"})
    assert (up.proven, up.recovered) == (True, True), up.evidence
    assert changes(world) == [
        "stop 1",
        "change_release 4.3.1 1",
        "start 1",
        "stop 2",
        "change_release 4.3.1 2",
        "start 2",
    ]
    assert (up.down, up.unclean, up.target) == ((1, 2), (), "nodes 1+2 to 4.3.1")
    assert {node: world.release_of(node) for node in (1, 2, 3)} == {1: "4.3.1", 2: "4.3.1", 3: "4.0.0"}


def test_to_a_newer_release_the_controllers_go_first() -> None:
    world = old_world()
    (up,) = run(world, UP)
    assert (up.proven, up.recovered) == (True, True), up.evidence
    assert order(world) == [101, 102, 103, 1, 2, 3]


def test_to_an_older_release_the_brokers_go_first() -> None:
    world = World()
    (down,) = run(world, {**UP, "release": "4.0.0"})
    assert (down.proven, down.recovered) == (True, True), down.evidence
    assert order(world) == [1, 2, 3, 101, 102, 103]


def test_what_every_node_says_is_the_evidence() -> None:
    """Its log, its broker epoch, and which metadata.version it knows."""
    (up,) = run(old_world(), {**UP, "target": "101+1"})
    effect = shown(up)
    assert effect.pop("took_s") > 6
    assert effect == {
        "releases_before": {"101": "4.0.0", "1": "4.0.0"},
        "release": "4.3.1",
        "order": [101, 1],
        "exit_codes": {"101": 143, "1": 143},
        "broker_epochs_before": {"1": 10},
        "newest_metadata_version_before": {"1": 25},
        "newest_metadata_version": {"1": 30},
    }


def test_the_next_broker_goes_when_the_isr_is_full() -> None:
    """3 s until it has booted, 20 s until it is in sync."""
    (up,) = run(old_world(rejoin_ns=ns(20)), {**UP, "target": "brokers"})
    assert (up.proven, up.recovered) == (True, True), up.evidence
    assert up.down_ns[1] - up.up_ns[0] > ns(23)


def test_the_next_controller_goes_when_the_one_before_has_caught_up() -> None:
    """One whose metadata log stays behind keeps the others from their turn."""
    world = old_world(stuck={102})
    (up,) = run(world, {**UP, "target": "controllers"})
    assert order(world) == [101, 102]
    assert not up.proven
    reason = shown(up, "reason")
    assert reason.startswith("the injection failed: 60 s after the restart of node 102: the metadata log of ")


def test_nodes_that_run_the_release_already_are_left_alone() -> None:
    world = old_world()
    world.releases[2] = world.named[2] = "4.3.1"
    (up,) = run(world, {**UP, "target": "brokers"})
    assert (up.proven, order(world)) == (True, [1, 3])
    (again,) = run(World(), {**UP, "target": "brokers"})
    assert "nothing to upgrade: brokers run 4.3.1" in shown(again, "reason")


def test_a_node_that_is_down_is_not_left_behind() -> None:
    """It is waited for; the step is not injected without it."""
    world = old_world()
    world.kill(3)
    (up,) = run(world, {**UP, "target": "brokers"})
    assert not up.proven
    assert "cannot upgrade all of 1+2+3: node 3 is exited" in shown(up, "reason")
    assert order(world) == []


def test_a_release_that_does_not_change_is_no_evidence() -> None:
    """The container is started again, and it is the old one."""
    world = old_world(ignores={"change_release"})
    (up,) = run(world, {**UP, "target": "node 1"})
    assert not up.proven
    assert "its log names Kafka 4.0.0, to be 4.3.1" in shown(up, "reason")


def test_a_broker_that_does_not_end_is_no_evidence() -> None:
    """It goes on under its old epoch, whatever its log names."""
    world = old_world(ignores={"stop", "change_release"})
    world.named[1] = "4.3.1"
    (up,) = run(world, {**UP, "target": "node 1"})
    assert not up.proven
    assert "its broker epoch is 10, was 10" in shown(up, "reason")


def test_a_broker_that_knows_no_other_metadata_version_is_no_evidence() -> None:
    """Its log names the release, and the wire does not."""
    world = old_world()
    world.admin.named = {}
    (up,) = run(world, {**UP, "target": "node 1"})
    assert not up.proven
    assert "broker 1 knows metadata.version up to 30 as before" in shown(up, "reason")


def test_a_patch_release_knows_the_same_metadata_version() -> None:
    world = World(releases=dict.fromkeys(OLD, "4.3.0"))
    (up,) = run(world, {**UP, "target": "node 1"})
    assert (up.proven, shown(up)["newest_metadata_version"]) == (True, {"1": 30})


def test_a_node_that_is_not_started_is_started_by_healing_with_its_release() -> None:
    world = old_world(failing={"start": [NodeStateError("node 1: the engine is busy")]})
    (up,) = run(world, {**UP, "target": "node 1"})
    assert (up.proven, up.recovered) == (False, True)
    assert (world.state(1).status, world.reported_release(1)) == ("running", "4.3.1")
    assert not any(world.mesh.is_cut(edge) for edge in world.mesh.edges)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"release": None}, "release: None is refused; allowed: one of 3.6.0, "),
        ({"release": 4.3}, "release: 4.3 is refused; allowed: one of 3.6.0, "),
        ({"release": "4.3.7"}, "release: '4.3.7' is refused; allowed: one of 3.6.0, "),
        ({"target": "node 7"}, "target: 'node 7' is refused"),
        ({"patient": "true"}, "patient: 'true' is refused; allowed: nothing: a rolling-upgrade takes"),
    ],
)
def test_refusing(change: dict[str, object], expected: str) -> None:
    """Before anything starts."""
    assert expected in refusal({**UP, **change})


def test_a_release_below_the_metadata_version_that_the_cluster_begins_with_is_refused() -> None:
    steps = parse_steps([{**UP, "release": "3.9.1"}])
    with pytest.raises(BadStep) as caught:
        validate(steps, replace(FACTS, release=(4, 0)))
    assert str(caught.value) == (
        "step 1, release: '3.9.1' is refused; allowed: 4.0 or newer: the cluster begins with the "
        "metadata.version of 4.0"
    )
    assert len(validate(steps, replace(FACTS, release=(3, 9)))) == 1


def test_writing_and_reading() -> None:
    step = parse_step(UP)
    assert write_step(step) == UP
    assert parse_step(write_step(step)) == step
