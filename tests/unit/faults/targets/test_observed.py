"""Events come by what was read, and by nothing that nobody reports."""

from dataclasses import replace

import pytest
from fakes.world.view import partition

from faults.targets.conditions import FirstAck, parse_condition
from faults.targets.observed import NOBODY, Observed, baseline, holds, in_words, tells

NOTHING = Observed()


def test_elr_sizes() -> None:
    """They compare with the eligible leaders that are reported."""
    none = partition("orders", 0)
    two = replace(none, elr=(2, 3))
    truth = {
        "elr.size >= 1": (False, True),
        "elr.size == 2": (False, True),
        "elr.size <= 1": (True, False),
        "elr.size == 0": (True, False),
    }
    before = Observed(partition=none)
    for text, expected in truth.items():
        found = tuple(holds(parse_condition(text), before, Observed(partition=now)) for now in (none, two))
        assert found == expected, text


@pytest.mark.parametrize("text", ["isr.size <= 3", "leader == none", "elr.size == 0", "leader.moved"])
def test_no_state_of_a_partition_is_known(text: str) -> None:
    """An event of the partition has not come then."""
    known = Observed(partition=partition("orders", 0, leader=-1))
    condition = parse_condition(text)
    assert not holds(condition, known, NOTHING)
    assert not holds(condition, NOTHING, known)


def test_a_leader_moves_to_another_node() -> None:
    """Another epoch of the same leader is a change, and no move."""
    before = partition("orders", 0, leader=1)
    again = replace(before, leader_epoch=1)
    moved = replace(before, leader=2, leader_epoch=1)
    gone = replace(before, leader=-1, leader_epoch=1)
    truth = {"leader.changed": [True, True, False], "leader.moved": [False, True, False]}
    for text, expected in truth.items():
        condition = parse_condition(text)
        found = [
            holds(condition, Observed(partition=before), Observed(partition=now))
            for now in (again, moved, gone)
        ]
        assert found == expected, text


def test_a_broker_is_fenced() -> None:
    """As soon as most say so; not while nobody knows."""
    fenced = parse_condition("broker 2 fenced")
    before = Observed(fenced={1: False, 2: False})
    nows = [before, Observed(fenced={1: False}), NOTHING, Observed(fenced={1: False, 2: True})]
    assert [holds(fenced, before, now) for now in nows] == [False, False, False, True]


def test_a_broker_is_unfenced_only_after_it_was_fenced() -> None:
    """However long that took; then nobody's word is no word."""
    unfenced = parse_condition("broker 2 unfenced")
    well, ill = Observed(fenced={2: False}), Observed(fenced={2: True})
    before, found = None, list[bool]()
    for now in (NOTHING, well, well, ill, NOTHING, well):
        before = baseline(unfenced, before, now)
        found.append(before is not None and holds(unfenced, before, now))
    assert found == [False, False, False, False, False, True]


def test_the_controller_moves() -> None:
    """There is another one; none is no other."""
    moved, before = parse_condition("controller.moved"), Observed(controller=101)
    nobody = Observed(controller=NOBODY)
    nows = [before, NOTHING, nobody, Observed(controller=102)]
    assert [holds(moved, before, now) for now in nows] == [False, False, False, True]
    assert baseline(moved, None, nobody) == nobody
    assert [holds(moved, nobody, now) for now in nows] == [True, False, False, True]


def test_a_coordinator_moves() -> None:
    """There is another one; none is no other."""
    moved, before = parse_condition("coordinator(g).moved"), Observed(coordinator=1)
    assert [holds(moved, before, now) for now in (before, NOTHING, Observed(coordinator=2))] == [
        False,
        False,
        True,
    ]


def test_the_first_ack() -> None:
    """The last one came later than the moment."""
    found = [
        holds(FirstAck(), NOTHING, Observed(last_ack_ns=at_ns), since_ns=100) for at_ns in (-1, 100, 101)
    ]
    assert found == [False, False, True]


def test_the_coordinator_of_a_transactional_id_moves() -> None:
    """Its partition has another leader; none is no other."""
    moved = parse_condition("transaction coordinator(payments-1).moved")
    before, *nows = (
        Observed(partition=partition("__transaction_state", 1, leader=leader)) for leader in (1, 1, -1, 2)
    )
    assert [holds(moved, before, now) for now in (*nows, NOTHING)] == [False, False, True, False]


def test_a_producer_is_fenced() -> None:
    """It was told so later than the moment."""
    fenced = parse_condition("producer fenced")
    found = [holds(fenced, NOTHING, Observed(last_fencing_ns=at), since_ns=100) for at in (-1, 100, 101)]
    assert found == [False, False, True]


@pytest.mark.parametrize(
    ("text", "observed", "told"),
    [
        ("isr.size <= 1", NOTHING, False),
        ("isr.size <= 1", Observed(partition=partition("orders", 0)), True),
        ("hw < leo", Observed(partition=partition("orders", 0)), False),
        ("follower behind by 5", Observed(partition=partition("orders", 0)), False),
        ("broker 2 fenced", Observed(fenced={1: True}), False),
        ("broker 2 unfenced", Observed(fenced={2: True}), True),
        ("controller.moved", NOTHING, False),
        ("controller.moved", Observed(controller=NOBODY), True),
        ("first ack", NOTHING, True),
        ("producer fenced", NOTHING, True),
    ],
)
def test_whether_a_reading_tells_that_an_event_has_not_come(
    text: str, observed: Observed, told: bool
) -> None:
    """Of the load all is known; of a broker or of offsets only what somebody says."""
    assert tells(parse_condition(text), observed) is told


def test_what_is_compared_with() -> None:
    """What was known before; without that, the first reading that tells something."""
    condition = parse_condition("controller.moved")
    first, later = Observed(controller=101), Observed(controller=102)
    assert baseline(condition, None, NOTHING) is None
    assert baseline(condition, None, first) == first
    assert baseline(condition, first, later) == first
    assert baseline(condition, NOTHING, first) == first


@pytest.mark.parametrize(
    ("text", "observed", "words"),
    [
        ("broker 2 fenced", Observed(fenced={2: False}), "broker 2: not fenced"),
        ("broker 2 unfenced", Observed(fenced={2: True}), "broker 2: fenced"),
        ("broker 2 unfenced", NOTHING, "broker 2: nobody knows"),
        ("controller.moved", Observed(controller=101), "active controller 101"),
        ("controller.moved", Observed(controller=NOBODY), "no active controller"),
        ("coordinator(g).moved", Observed(coordinator=2), "coordinator of g: 2"),
        ("first ack", Observed(last_ack_ns=7), "the last acknowledgement at 7 ns"),
        ("producer fenced", Observed(last_fencing_ns=7), "the last fencing of a producer at 7 ns"),
        ("isr.size <= 1", NOTHING, "None"),
    ],
)
def test_words(text: str, observed: Observed, words: str) -> None:
    """What was read last stands in the record of a step whose event has not come."""
    assert in_words(parse_condition(text), observed) == words
