"""What all faults share: holds that compose, counters that stand still, and healing that tries every node."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from compose.errors import NodeStateError
from faults.clock import ns
from faults.kinds.fault.base import Outage, Outages, try_all
from faults.kinds.fault.evidence import Stillness, moved
from faults.kinds.fault.node_holds import CutShort, Holds


def test_a_hold_lasts_until_its_last_owner_releases_it() -> None:
    """Two faults hold a node; the first to release it frees nothing, and releasing twice counts once."""
    holds = Holds()
    holds.take("paused", 1, "a")
    holds.take("paused", 1, "b")
    holds.take("frozen", 1, "c")
    assert holds.release("paused", 1, "a") is False
    assert holds.release("paused", 1, "a") is False
    assert holds.release("paused", 1, "b") is True
    assert holds.release("paused", 2, "b") is True
    assert holds.void("frozen", 1, by="d", at_ns=7) is True
    assert holds.void("frozen", 1, by="d", at_ns=8) is False
    assert holds.cut_short("c") == (CutShort(node=1, by="d", at_ns=7),)
    assert (holds.cut_short("a"), holds.cut_short("d")) == ((), ())


def test_who_changes_a_node_has_it_to_himself() -> None:
    """Another change of one of the nodes waits until it is over; one of other nodes does not."""
    holds, done = Holds(), list[str]()
    entered, go_on = Event(), Event()

    def change(name: str, nodes: tuple[int, ...]) -> None:
        with holds.changing(nodes):
            done.append(f"{name} begins")
            if name == "first":
                entered.set()
                go_on.wait(10)
            done.append(f"{name} ends")

    with ThreadPoolExecutor(3) as threads:
        threads.submit(change, "first", (2, 1))
        assert entered.wait(10)
        second = threads.submit(change, "second", (1, 2))
        threads.submit(change, "other", (3,)).result(10)
        assert not second.done()
        go_on.set()
    assert done == [
        "first begins",
        "other begins",
        "other ends",
        "first ends",
        "second begins",
        "second ends",
    ]


def test_stillness_takes_three_quarters_of_a_second() -> None:
    """Counters are still when all samples over 0.75 s agree; a single change starts anew."""
    still: Stillness[int] = Stillness()
    assert not still.proven
    for at_s, value in ((0.0, 5), (0.5, 5), (0.7, 6), (1.0, 6), (1.4, 6)):
        still.add(ns(at_s), ns(at_s), {1: value})
        assert not still.proven
    still.add(ns(1.4), ns(1.9), {1: 6})
    assert not still.proven, "what a late answer shows may be from its beginning"
    still.add(ns(1.45), ns(1.45), {1: 6})
    assert still.proven
    assert still.since_ns == ns(0.7)


def test_counters_that_moved() -> None:
    """Only counters that both samples have, and that differ."""
    assert moved({1: 5, 2: 5, 3: 5}, {1: 5, 2: 7, 4: 9}) == {2: 2}


def test_try_all_does_everything_and_raises_the_first_error() -> None:
    """Healing one node is no less needed because another could not be healed."""
    done: list[str] = []

    def fail(name: str) -> None:
        raise NodeStateError(name)

    with pytest.raises(NodeStateError, match="first"):
        try_all([lambda: fail("first"), lambda: done.append("second"), lambda: fail("third")])
    assert done == ["second"]


def test_an_outage_is_dated_from_the_end_of_the_process_to_its_start() -> None:
    """A node that is about to end counts as down at once; a node that this fault did not end never does. That
    a node still runs is no later start."""
    outages = Outages()
    outages.ending(1, unclean=True)
    outages.ending(2, unclean=False)
    assert outages.down == {1: Outage(down_ns=-1, up_ns=-1), 2: Outage(down_ns=-1, up_ns=-1)}
    outages.ended(1, 5)
    outages.started(1, 9)
    outages.started(1, 12)
    outages.started(3, 9)
    assert outages.down == {1: Outage(down_ns=5, up_ns=9), 2: Outage(down_ns=-1, up_ns=-1)}
    assert outages.unclean == {1}
