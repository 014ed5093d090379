"""The small parts that the faults and their schedule are made of."""

from threading import Event

import pytest
from fakes.fault_world import Inline, Slow, World, WorldView

from compose.errors import DiskError, NodeStateError
from compose.protocols import Edge
from faults.clock import VirtualClock, ns
from faults.kinds.base import try_all
from faults.kinds.evidence import Snapshot, Stillness, moved
from faults.kinds.node_holds import Holds
from faults.plan.parse import parse_steps
from faults.schedule.event_loop import Agenda
from faults.schedule.outlook import earliest
from faults.schedule.probes import Watch
from faults.schedule.step_state import Course

EDGE = Edge(source="2", target=1)


def test_a_hold_lasts_until_its_last_owner_lets_go() -> None:
    """Two faults hold a node; the first to let go frees nothing, and letting go twice counts once."""
    holds = Holds()
    holds.take("paused", 1, "a")
    holds.take("paused", 1, "b")
    holds.take("frozen", 1, "c")
    assert holds.release("paused", 1, "a") is False
    assert holds.release("paused", 1, "a") is False
    assert holds.release("paused", 1, "b") is True
    assert holds.release("paused", 2, "b") is True
    assert holds.void("frozen", 1) is True
    assert holds.void("frozen", 1) is False


def test_stillness_takes_three_quarters_of_a_second() -> None:
    """Counters are still when all samples over 0.75 s agree; a single change starts anew."""
    still: Stillness[int] = Stillness()
    assert not still.proven
    for at_s, value in ((0.0, 5), (0.5, 5), (0.7, 6), (1.0, 6), (1.4, 6)):
        still.see(ns(at_s), {1: value})
        assert not still.proven
    still.see(ns(1.45), {1: 6})
    assert still.proven
    assert still.since_ns == ns(0.7)


def test_counters_that_moved() -> None:
    """Only counters that both looks know, and that differ."""
    assert moved({1: 5, 2: 5, 3: 5}, {1: 5, 2: 7, 4: 9}) == {2: 2}


def test_try_all_does_everything_and_raises_the_first_error() -> None:
    """Healing one node is no less needed because another could not be healed."""
    done: list[str] = []

    def fail(name: str) -> None:
        raise NodeStateError(name)

    with pytest.raises(NodeStateError, match="first"):
        try_all([lambda: fail("first"), lambda: done.append("second"), lambda: fail("third")])
    assert done == ["second"]


def test_the_agenda_keeps_the_order_of_time_and_of_entry() -> None:
    """Entries run in order of time; those of one time in the order in which they were made."""
    clock = VirtualClock()
    agenda, done = Agenda(clock, Inline()), list[str]()
    agenda.at(ns(2), lambda: done.append("third"))
    agenda.at(ns(1), lambda: done.append("first"))
    agenda.at(ns(1), lambda: done.append("second"))
    agenda.run(Event(), lambda: len(done) == 3)
    assert done == ["first", "second", "third"]
    assert clock.now_ns() == ns(2)


def test_a_look_comes_back_into_the_agenda() -> None:
    """Its result is dealt with when it is done, and other entries run meanwhile."""
    clock = VirtualClock()
    agenda, done = Agenda(clock, Slow(clock, latency_ns=ns(1))), list[tuple[str, int]]()
    agenda.look(lambda: "seen", lambda result: done.append((result, clock.now_ns())))
    agenda.at(ns(0.5), lambda: done.append(("meanwhile", clock.now_ns())))
    agenda.run(Event(), lambda: len(done) == 2)
    assert done == [("meanwhile", ns(0.5)), ("seen", ns(1))]


def test_an_error_of_a_look_is_raised_by_the_agenda() -> None:
    """What a look did not expect is not lost on another thread."""
    clock = VirtualClock()
    agenda = Agenda(clock, Slow(clock))
    agenda.look(lambda: 1 // 0, lambda _: None)
    with pytest.raises(ZeroDivisionError):
        agenda.run(Event(), lambda: False)


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
    courses = [Course(index=index, step=step) for index, step in enumerate(steps)]
    assert earliest(courses, ns(100)) == [ns(105), ns(106), ns(111), ns(111)]
    courses[1].begin_ns = ns(107)
    assert earliest(courses, ns(100)) == [ns(105), ns(106), ns(112), ns(112)]
    courses[1].heal_ns = ns(120)
    assert earliest(courses, ns(100))[2] == ns(122)
    courses[2].due_ns = ns(130)
    assert earliest(courses, ns(100))[2:] == [ns(130), ns(130)]


def test_the_first_step_can_wait_for_an_event_from_the_start() -> None:
    """Then it can be due at once."""
    (step,) = parse_steps([{"do": "kill", "target": "node 1", "for": "3s", "when": "leader.changed"}])
    assert earliest([Course(index=0, step=step)], ns(7)) == [ns(7)]


def watch(world: World) -> Watch:
    """A watch on a world."""
    return Watch(cluster=world, view=WorldView(world), clock=world.clock)


def test_before_is_the_oldest_look_that_is_fresh_and_knows_the_counters() -> None:
    """A look from long ago, or at other counters, is passed over."""
    looks = watch(World())
    stale, other, good, late = (
        Snapshot(at_ns=ns(1), edge_bytes={EDGE: 1}),
        Snapshot(at_ns=ns(8), cpu_ns={1: 1}),
        Snapshot(at_ns=ns(9), edge_bytes={EDGE: 5}),
        Snapshot(at_ns=ns(9.5), edge_bytes={EDGE: 6}),
    )
    now = Snapshot(at_ns=ns(10), edge_bytes={EDGE: 7})
    assert looks.before(now) is None
    for each in (stale, other, good, late):
        looks.keep(each)
    assert looks.before(now) == good
    assert looks.before(Snapshot(at_ns=ns(10), cpu_ns={1: 2})) == other
    assert looks.before(Snapshot(at_ns=ns(10), log_bytes={1: 2})) is None


def test_what_cannot_be_read_is_left_out() -> None:
    """A node whose disk answers with errors has no log bytes; the others have."""
    world = World()
    world.cut_off.add(2)
    read = watch(world).read({"logs"}, (1, 2, 3))
    assert list(read.log_bytes) == [1, 3]
    assert (read.cpu_ns, read.edge_bytes) == ({}, {})
    with pytest.raises(DiskError):
        world.log_bytes(2)


def test_nobody_tells_who_is_in_sync() -> None:
    """If no broker answers, nothing is known, which is no error."""
    world = World()
    looks = watch(world)
    assert looks.read_isr() == {("orders", 0): (1, 2, 3)}
    looks.view.leaders = lambda: (_ for _ in ()).throw(NodeStateError("nobody answers"))  # type: ignore[method-assign]
    assert looks.read_isr() == {}
