"""How transactions ended, who was fenced and how often coordinators moved, counted."""

from dataclasses import replace

import pytest

from checkers.history.rows import Context, Coordinator, Fault, Fencing, Transaction
from checkers.history.tables import OPTIONAL
from checkers.verdict.metrics.metric import METRICS, Measured
from checkers.verdict.metrics.transactions import TABLES, measured, of_transactions

ENDED = Transaction(producer=1, number=0, first_sequence=0, last_sequence=4, begun_ns=1)
TOLD = Fencing(transactional_id="payments-1", producer=1, by=2, done_ns=5, at_ns=9, error="_FENCED")


def leads(partition: int, leader: int, log_offset: int) -> Coordinator:
    """From so many seconds on as its offset says."""
    return Coordinator(
        at_ms=5_000 + 1_000 * log_offset, log_offset=log_offset, partition=partition, leader=leader
    )


def effect(at_ns: int) -> Fault:
    return Fault(index=0, name="kill", kind="kill", inject_ns=1, effect_ns=at_ns, proven=at_ns != -1)


def test_transactions_are_counted_by_their_outcome() -> None:
    outcomes = ("committed", "aborted", "committed", "indeterminate", "fenced", "open")
    context = Context(transactions=[replace(ENDED, number=n, outcome=o) for n, o in enumerate(outcomes)])
    assert measured(context, "transactions.committed") == Measured(value=2.0)
    assert measured(context, "transactions.aborted") == Measured(value=1.0)


def test_a_fencing_counts_if_another_instance_had_taken_over_and_the_older_one_was_told() -> None:
    never_done, never_told = replace(TOLD, done_ns=-1), replace(TOLD, at_ns=-1, error="")
    timed_out = replace(TOLD, by=-1, done_ns=-1)
    context = Context(fencings=[TOLD, never_done, never_told, timed_out])
    assert measured(context, "fencings") == Measured(value=1.0)


def test_a_coordinator_has_moved_when_another_broker_leads_its_partition() -> None:
    """Also if there was none in between; one that comes back under a new epoch has not moved."""
    states = [
        *(leads(0, 1, 10), leads(0, -1, 20), leads(0, 2, 21), leads(0, 1, 30)),
        *(leads(1, 3, 11), leads(1, -1, 20), leads(1, 3, 22)),
    ]
    assert measured(Context(coordinators=states[::-1]), "coordinators.moved") == Measured(value=2.0)


def test_partitions_that_one_broker_loses_within_two_seconds_are_one_move() -> None:
    """Broker 1 loses three at 10 s, the last of them 2 s later; broker 2 one at 11 s; 1 again one at 13 s."""
    begun = [leads(partition, 2 if partition == 3 else 1, 1) for partition in range(5)]
    lost = [leads(0, 2, 10), leads(1, 3, 11), leads(2, -1, 10), leads(2, 2, 12), leads(3, 3, 11)]
    at_once = Context(coordinators=[*begun, *lost])
    assert measured(at_once, "coordinators.moved") == Measured(value=2.0)
    later = Context(coordinators=[*begun, *lost, leads(4, 2, 13)])
    assert measured(later, "coordinators.moved") == Measured(value=3.0)


def test_moves_that_nobody_can_date_are_not_counted() -> None:
    """The clock of a controller was off; it does not matter when what stayed was written."""
    undated = replace(leads(1, 3, 12), at_ms=-1)
    stayed = Context(coordinators=[leads(0, 1, 10), leads(0, 2, 20), replace(leads(0, 2, 21), at_ms=-1)])
    assert measured(stayed, "coordinators.moved") == Measured(value=1.0)
    moved = Context(coordinators=[leads(1, 2, 10), undated])
    assert measured(moved, "coordinators.moved") == Measured(
        value=None, unknown="nobody knows when a coordinator changed: a clock was off then"
    )


@pytest.mark.parametrize(
    ("begun", "completed", "effects", "interrupted"),
    [
        (5, 9, [7], 1.0),
        (5, 9, [4, 10], 0.0),
        (5, 9, [6, 7, 8], 1.0),
        (5, 9, [-1], 0.0),
        (5, -1, [7], 0.0),
        (5, 9, [], 0.0),
    ],
)
def test_a_transaction_is_interrupted_by_an_effect_between_its_begin_and_its_end(
    begun: int, completed: int, effects: list[int], interrupted: float
) -> None:
    row = replace(ENDED, begun_ns=begun, completed_ns=completed, outcome="aborted")
    context = Context(transactions=[row], faults=[effect(at_ns) for at_ns in effects])
    assert measured(context, "transactions.interrupted") == Measured(value=interrupted)


@pytest.mark.parametrize("name", [name for name in METRICS if of_transactions(name)])
def test_what_was_not_collected_is_not_known(name: str) -> None:
    table = TABLES.get(name, "transactions")
    without = Context(collected=frozenset(OPTIONAL) - {table})
    assert measured(without, name) == Measured(value=None, unknown=f"not collected: {table}")
