"""Each record of a kind fits what its faults do."""

from collections.abc import Callable
from threading import Event

import pytest
from fakes.world.fault_world import Inline, World, WorldView, not_finalized, without_way_back

from compose.protocols import Edge
from faults.clock import ns
from faults.kinds.admin.topic_step import ClusterStep
from faults.kinds.registry import ALL, KINDS
from faults.plan.parse import parse_step, write_step
from faults.schedule.record import FaultRecord
from faults.schedule.scheduler import run_schedule

NAMES = sorted(KINDS)

SHORTEST_PULSES = {"on": "100ms", "off": "100ms"}
NEEDED: dict[str, dict[str, str]] = {
    "bandwidth": {"rate": "50KB/s"},
    "clock-skew": {"offset": "+5m"},
    "config": {"target": "brokers", "set": "min.insync.replicas=1"},
    "cpu-limit": {"cpus": "0.1"},
    "disk-stutter": SHORTEST_PULSES,
    "feature": {"set": "eligible.leader.replicas.version=0"},
    "latency": {"delay": "250ms", "for": "1.5s"},
    "memory-limit": {"memory": "400MiB"},
    "preferred-election": {"topic": "orders"},
    "pulses": SHORTEST_PULSES,
    "reassign": {"topic": "orders", "to": "2 replicas"},
    "refused-downgrade": {"release": "4.0.0"},
    "rolling-upgrade": {"release": "4.2.1"},
    "slicing": {"size": "100B", "delay": "2ms"},
    "unclean-election": {"topic": "orders"},
}
"""What a step of a kind cannot be without, besides the nodes or edges that it hits."""


def without_leader() -> World:
    """The last replica in sync is down until 9 s, and the others are behind."""
    world = World()
    world.mesh.cut([Edge.parse("2->1"), Edge.parse("3->1")], mode="refuse", owner="test")
    world.settle()
    world.clock.advance(ns(3.5))
    world.kill(1)
    world.clock.call_at(ns(9), lambda: world.start(1))
    return world


WORLDS: dict[str, Callable[[], World]] = {
    "finalize": not_finalized,
    "refused-downgrade": without_way_back,
    "log-dir-failure": lambda: World(log_dir_count=2),
    "preferred-election": lambda: World(leader=2),
    "unclean-election": without_leader,
}
"""Where a kind has something to do, if not in any world."""


ROLLS = {"rolling-restart", "rolling-upgrade"}
NOT_IN_STORMS = {*ROLLS, "disk-stutter", "disk-full", "memory-limit", "log-dir-failure", "clock-skew"}
"""They take more nodes than one in their course, take longer to be proven than the shortest hold of a storm,
or may end a node or not, which no limit of a storm counts. A limit of memory, and a log directory that may
fail, fit one cluster only, and a clock can be set only of nodes that were started for it."""


def words_of(name: str) -> dict[str, object]:
    """A step of the kind, in the words that it takes, held as shortly as it may be."""
    keys = KINDS[name].step.keys
    hit = {"edges": "3 -> 1"} if "edges" in keys else {"target": "node 2"} if "target" in keys else {}
    return (
        {"name": "it", "do": name, "at": "5s", "for": f"{KINDS[name].shortest_hold_s:g}s"}
        | hit
        | NEEDED.get(name, {})
    )


def run(name: str) -> FaultRecord:
    """The record of such a step."""
    world = WORLDS.get(name, World)()
    steps = (parse_step(words_of(name)),)
    (record,) = run_schedule(
        steps, world, WorldView(world), world.clock, stop=Event(), on_event=lambda _: None, threads=Inline()
    )
    return record


def test_no_two_kinds_have_one_name() -> None:
    """The second would hide the first."""
    assert len(KINDS) == len(ALL)


@pytest.mark.parametrize("name", NAMES)
def test_the_shortest_hold_suffices_for_the_proof(name: str) -> None:
    """A hold that the plan allows is long enough."""
    record = run(name)
    assert (record.proven, record.recovered) == (True, True), record.evidence


@pytest.mark.parametrize("name", NAMES)
def test_a_kind_costs_what_its_record_says(name: str) -> None:
    """The nodes that it ended, ended uncleanly, and took data from."""
    record, cost = run(name), KINDS[name].cost_of(parse_step(words_of(name)))
    assert record.down == ((2,) if cost.ends_process or cost.may_end_node else ())
    assert record.unclean == ((2,) if cost.unclean or cost.may_end_node else ())
    assert record.data_lost == ((2,) if cost.loses_data else ())


@pytest.mark.parametrize("name", sorted(set(NAMES) - {*ROLLS, "log-dir-failure"}))
def test_a_node_that_a_kind_ends_is_down_from_its_end_to_its_start(name: str) -> None:
    """Between injection and healing; a roll has started it again before it is done, and a log directory that
    fails ends it only to heal it."""
    record = run(name)
    assert len(record.down) == len(record.down_ns) == len(record.up_ns)
    for down_ns, up_ns in zip(record.down_ns, record.up_ns, strict=True):
        assert record.inject_ns < down_ns <= record.effect_ns < up_ns <= record.heal_ns + ns(0.1)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_of_each_kind_is_written_as_it_was_read(name: str) -> None:
    """In the words of its kind."""
    step = parse_step(words_of(name))
    assert parse_step(write_step(step)) == step
    assert step.kind == name


@pytest.mark.parametrize("name", sorted(set(NAMES) - NOT_IN_STORMS))
def test_a_storm_draws_a_kind_that_hits_nodes_with_a_weight(name: str) -> None:
    """What a kind costs decides where. What changes the cluster by itself only a plan asks for: a storm's
    limit counts nodes."""
    kind = KINDS[name]
    assert (kind.storm is None) == issubclass(kind.step, ClusterStep)
    assert kind.storm is None or kind.storm.weight > 0
