"""The counters of before: when they are read, which sample counts, and what is left out."""

from dataclasses import replace

import pytest
from fakes.world.fault_world import World, WorldView

from compose.errors import DiskError, NodeStateError
from compose.protocols import Edge
from faults.clock import ns
from faults.kinds.fault.evidence import CounterSample
from faults.plan.parse import parse_steps
from faults.schedule.known import ALWAYS_NS, NEVER_NS, Known, KnownRoles
from faults.schedule.probes import UNREADABLE, Probes
from faults.schedule.sampler import earliest, internal_topics
from faults.schedule.step_state import StepState

EDGE = Edge(source="2", target=1)


def test_when_each_step_can_be_due_at_the_earliest() -> None:
    """Known times, holds and delays add up along the chain of steps; what has happened replaces guesses."""
    words = {"do": "pause", "target": "node 1", "for": "3s"}
    steps = parse_steps(
        [
            words | {"name": "a", "at": "5s"},
            words | {"name": "b", "after": "a.begin + 1s"},
            words | {"name": "c", "after": "b.recovered + 2s"},
            words | {"name": "d", "when": "leader.changed"},
        ]
    )
    states = [StepState(index=index, step=step) for index, step in enumerate(steps)]
    assert earliest(states, ns(100)) == [ns(105), ns(106), ns(111), ns(111)]
    states[1].begin_ns = ns(107)
    assert earliest(states, ns(100)) == [ns(105), ns(106), ns(112), ns(112)]
    states[1].heal_ns = ns(120)
    assert earliest(states, ns(100))[2] == ns(122)
    states[2].due_ns = ns(130)
    assert earliest(states, ns(100))[2:] == [ns(130), ns(130)]


def test_when_a_step_can_be_due_that_follows_several() -> None:
    """With the last of all(), with the first of any(); an event that counts from a moment, with that."""
    words = {"do": "pause", "target": "node 1", "for": "3s"}
    steps = parse_steps(
        [
            words | {"name": "a", "at": "5s"},
            words | {"name": "b", "at": "9s"},
            words | {"name": "c", "after": "all(a.end, b.end) + 1s"},
            words | {"name": "d", "after": "any(a.end, b.end) + 1s"},
            words | {"name": "e", "when": "leader.moved", "since": "b.end"},
            words | {"name": "f", "when": "leader.moved", "since": "start"},
        ]
    )
    states = [StepState(index=index, step=step) for index, step in enumerate(steps)]
    assert earliest(states, ns(100)) == [ns(105), ns(109), ns(113), ns(109), ns(112), ns(100)]
    states[1].heal_ns = ns(106)
    assert earliest(states, ns(100))[2:5] == [ns(109), ns(107), ns(106)]


def test_what_is_known_of_coordinators() -> None:
    """The last answers, for a second; of a group that was not asked for nothing."""
    read = probes(World())
    coordinators, asked_ns = read.read_coordinators({"g"})
    assert (coordinators, asked_ns) == ({"g": 1}, 0)
    read.keep_coordinators(coordinators, ns(3))
    read.keep_coordinators({}, ns(4))
    known = KnownRoles(read.known)
    assert known.coordinator("g") == 1
    assert known.good_until_ns == ns(4)
    assert known.coordinator("other") is None
    assert known.good_until_ns == NEVER_NS


def test_the_topics_of_kafka_s_own_that_a_plan_names() -> None:
    """In a target, in edges, or in an event; others are not asked about."""
    kill = {"do": "kill", "target": "leader", "for": "1s", "at": "1s"}
    for words in (
        kill | {"target": "transaction coordinator(a)"},
        kill | {"target": "leader(__transaction_state-0)"},
        {"do": "partition", "edges": "all <-> transaction coordinator(a)", "for": "2s", "at": "1s"},
        kill | {"when": "transaction coordinator(a).moved", "at": None},
        kill | {"when": "leader.moved(__transaction_state-2)", "at": None},
    ):
        step = {key: value for key, value in words.items() if value is not None}
        assert internal_topics(parse_steps([kill | {"name": "first"}, step])) == ("__transaction_state",)
    assert internal_topics(parse_steps([kill, kill | {"target": "leader(__consumer_offsets-1)"}])) == (
        "__consumer_offsets",
    )
    assert internal_topics(parse_steps([kill])) == ()


def test_internal_topics_are_read_and_are_nobody_s_default() -> None:
    """The first partition of all is one of the load's."""
    world = World()
    view = WorldView(world)
    (orders,) = view.describe("orders")
    internal = replace(orders, topic="__transaction_state")
    states = {"orders": orders, "__transaction_state": internal}
    view.describe = lambda *topics: tuple(states[topic] for topic in topics)  # type: ignore[method-assign]
    read = Probes(cluster=world, view=view, clock=world.clock, internal=("__transaction_state",))
    read.keep_partitions(*read.read_partitions())
    assert read.known.isr.keys() == {("orders", 0), ("__transaction_state", 0)}
    assert KnownRoles(read.known).leaders().keys() == {("orders", 0)}


def test_the_first_step_can_wait_for_an_event_from_the_start() -> None:
    """Then it can be due at once."""
    (step,) = parse_steps([{"do": "kill", "target": "node 1", "for": "3s", "when": "leader.changed"}])
    assert earliest([StepState(index=0, step=step)], ns(7)) == [ns(7)]


def probes(world: World) -> Probes:
    """Probes of a world."""
    return Probes(cluster=world, view=WorldView(world), clock=world.clock)


def test_before_is_the_oldest_sample_that_is_fresh_and_has_the_counters() -> None:
    """A sample from long ago, or of other counters, is passed over."""
    kept = probes(World())
    stale, other, good, late = (
        CounterSample(at_ns=ns(1), edge_bytes={EDGE: 1}),
        CounterSample(at_ns=ns(8), cpu_ns={1: 1}),
        CounterSample(at_ns=ns(9), edge_bytes={EDGE: 5}),
        CounterSample(at_ns=ns(9.5), edge_bytes={EDGE: 6}),
    )
    now = CounterSample(at_ns=ns(10), edge_bytes={EDGE: 7})
    assert kept.before(now) is None
    for each in (stale, other, good, late):
        kept.keep(each)
    assert kept.before(now) == good
    assert kept.before(CounterSample(at_ns=ns(10), cpu_ns={1: 2})) == other
    assert kept.before(CounterSample(at_ns=ns(10), log_bytes={1: 2})) is None


def test_kept_samples_of_a_counter() -> None:
    """The newest one, and the oldest fresh one that is 0.3 s older; none if it is too old or alone."""
    world = World()
    kept = probes(world)
    samples = [
        CounterSample(at_ns=ns(at_s), cpu_ns={1: ns(at_s), 2: ns(at_s), 4: 0}) for at_s in (7, 8, 9, 9.9)
    ]
    world.clock.sleep_until(ns(10))
    kept.keep(samples[3])
    assert kept.kept("cpu", (1,)) is None
    for each in (*samples[:2], CounterSample(at_ns=ns(8.5), edge_bytes={EDGE: 1}), *samples[2:]):
        kept.keep(each)
    assert kept.kept("cpu", (1, 2)) == (samples[1], samples[3])
    assert kept.kept("cpu", (3,)) is None
    assert kept.kept("cpu", (4,)) is None, "it stands still"
    assert kept.kept("logs", (1,)) is None
    world.clock.sleep_until(ns(11.2))
    assert kept.kept("cpu", (1,)) is None


def test_what_is_known_of_the_roles() -> None:
    """The last answers, each with the time of its question; no answer replaces none."""
    world = World()
    read = probes(world)
    nobody = KnownRoles(read.known)
    assert (nobody.describe("orders"), nobody.active_controller()) == ((), None)
    assert nobody.good_until_ns == NEVER_NS
    read.keep_partitions(read.read_partitions()[0], ns(3))
    read.keep_partitions({}, ns(4))
    read.keep_controller(read.read_controller(), ns(1))
    read.keep_controller(UNREADABLE, ns(5))
    known = KnownRoles(read.known)
    assert known.good_until_ns == ALWAYS_NS
    assert [state.leader for state in known.describe("orders")] == [1]
    assert known.good_until_ns == ns(4)
    assert known.active_controller() == 101
    assert known.good_until_ns == ns(3)
    assert read.known.isr == {("orders", 0): (1, 2, 3)}
    read.keep_controller(None, ns(6))
    assert read.known == Known(
        partitions=read.known.partitions, partitions_ns=ns(3), controller=None, controller_ns=ns(6)
    )


def test_the_roles_are_read_from_the_view_that_does_not_wait() -> None:
    """The other one waits seconds for a broker that is silent."""
    world = World()
    view, quick = WorldView(world), WorldView(world)
    view.describe = view.leaders = lambda *_: pytest.fail("it was asked")  # type: ignore[method-assign]
    read = Probes(cluster=world, view=view, clock=world.clock, quick=quick)
    assert read.read_isr() == {("orders", 0): (1, 2, 3)}


def test_what_cannot_be_read_is_left_out() -> None:
    """A node whose disk answers with errors has no log bytes; the others have."""
    world = World()
    world.cut_off.add(2)
    read = probes(world).read({"logs"}, (1, 2, 3))
    assert list(read.log_bytes) == [1, 3]
    assert (read.cpu_ns, read.edge_bytes) == ({}, {})
    with pytest.raises(DiskError):
        world.log_bytes(2)


def test_no_broker_reports_what_is_in_sync() -> None:
    """If no broker answers, nothing is known, which is no error."""
    world = World()
    read = probes(world)
    assert read.read_isr() == {("orders", 0): (1, 2, 3)}
    read.view.describe = lambda *_: (_ for _ in ()).throw(NodeStateError("no answer"))  # type: ignore[method-assign]
    assert read.read_isr() == {}
