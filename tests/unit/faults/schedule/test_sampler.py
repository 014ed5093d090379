"""The counters of before: when they are read, which sample counts, and what is left out."""

import pytest
from fakes.fault_world import World, WorldView

from compose.errors import DiskError, NodeStateError
from compose.protocols import Edge
from faults.clock import ns
from faults.kinds.evidence import CounterSample
from faults.plan.parse import parse_steps
from faults.schedule.probes import Probes
from faults.schedule.sampler import earliest
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
    read.view.leaders = lambda: (_ for _ in ()).throw(NodeStateError("no answer"))  # type: ignore[method-assign]
    assert read.read_isr() == {}
