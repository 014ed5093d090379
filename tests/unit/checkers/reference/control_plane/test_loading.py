"""What a process loads of its disk: the counterexample, and what takes nothing from anybody."""

from dataclasses import replace

import pytest
from fakes.history.control_plane import SECOND, TOPIC, WALL_MS, clocks, history, state

from checkers.history.columnar import Rows, table_of
from checkers.history.rows import BrokerLine, Fault, NodeEvent, ReplicaOffset
from checkers.reference.control_plane.loading import loads_all
from checkers.reference.control_plane.rule_result import RuleResult

CREATED = state(10, 1, (0, 0), (1, 2, 3))
DISK = ReplicaOffset(
    topic=TOPIC, partition=0, at_ns=11 * SECOND, broker=2, log_end=21, log_start=0, source="disk-down"
)
"""Broker 2 is down from 10 s to 14 s; its disk is read at 11 s."""


def event(at_s, what, node=2):
    return NodeEvent(at_ns=at_s * SECOND, node=node, role="broker", event=what)


def loaded(at_s, end, node=2):
    """A process writes what it has loaded."""
    return BrokerLine(
        topic=TOPIC, partition=0, at_ms=WALL_MS + at_s * 1000, node=node, kind="loaded", offset=end, line=""
    )


LIVES = [event(1, "started"), event(10, "exited"), event(14, "started")]


def ruled(*rows, lives=LIVES, disk=DISK, missing=()) -> RuleResult:
    return loads_all(history(CREATED, lives, disk, clocks(), *rows, missing=missing))


def test_a_process_loads_all_that_its_disk_holds():
    result = ruled(loaded(15, 19))
    (anomaly,) = result.anomalies
    assert (anomaly.replica, anomaly.offset, anomaly.last_offset) == (2, 19, 20)
    assert anomaly.note.endswith("up to offset 21 when it was down, and its next process loaded it up to 19")
    assert (result.examined, result.undecided) == (1, 0)
    for end in (21, 22):
        assert ruled(loaded(15, end)) == RuleResult(anomalies=[], examined=1)


def test_the_first_line_of_the_next_process_counts():
    """Not what the one before had loaded, nor what a later one does, nor another broker."""
    undecided = RuleResult(anomalies=[], undecided=1)
    assert ruled(loaded(2, 19)) == undecided
    assert ruled(loaded(15, 19, node=1)) == undecided
    later = [*LIVES, event(20, "exited"), event(22, "started")]
    assert ruled(loaded(23, 19), lives=later) == undecided
    assert ruled(loaded(15, 21), loaded(23, 19), lives=later).anomalies == []
    assert ruled(loaded(15, 19), lives=LIVES[:2]) == undecided


def fault(kind, **more):
    return Fault(index=0, name="f", kind=kind, nodes=(2,), inject_ns=5 * SECOND, **more)


@pytest.mark.parametrize(
    "hit",
    [
        fault("power-loss", data_lost=(2,)),
        fault("log-dir-failure", replicas=("2/orders-0",)),
        fault("disk-full", recovered_ns=12 * SECOND),
        fault("disk-wipe", data_lost=(2,)),
    ],
    ids=["power", "directory", "full", "wiped"],
)
def test_what_a_fault_of_the_disk_takes_is_undecided(hit):
    assert ruled(loaded(15, 19), hit) == RuleResult(anomalies=[], undecided=1)


def test_a_fault_that_was_over_or_that_takes_nothing_excuses_nothing():
    over = fault("power-loss", data_lost=(2,), recovered_ns=9 * SECOND)
    later = replace(over, inject_ns=17 * SECOND, recovered_ns=20 * SECOND)
    for harmless in (over, later, fault("kill", unclean=(2,), recovered_ns=20 * SECOND)):
        assert len(ruled(loaded(15, 19), harmless).anomalies) == 1


def test_only_disks_of_nodes_that_are_down_and_replicas_that_stay_are_looked_at():
    """Not what a broker tells while it runs, one that was moved away in between, or a topic made anew."""
    assert ruled(loaded(15, 19), disk=replace(DISK, source="live")) == RuleResult(anomalies=[])
    moved = state(11, 1, (1, 1), (1, 3), replicas=(1, 3))
    assert ruled(loaded(15, 19), moved) == RuleResult(anomalies=[])
    assert ruled(loaded(15, 19), state(12, 1, (0, 0), (1, 2, 3))) == RuleResult(anomalies=[])
    assert ruled(loaded(15, 19), fault("clock-skew")) == RuleResult(anomalies=[])


def test_of_a_nights_samples_only_those_from_disks_become_rows():
    made = []

    def row(**values) -> ReplicaOffset:
        made.append(values)
        return ReplicaOffset(**values)

    live = [replace(DISK, source="live", at_ns=second * SECOND) for second in range(1000)]
    samples = Rows(table_of("replica_offsets", [*live[:11], DISK, *live[11:]]), row)
    context = replace(history(CREATED, LIVES, clocks(), loaded(15, 19)), replica_offsets=samples)
    assert [anomaly.replica for anomaly in loads_all(context).anomalies] == [2]
    assert len(made) == 1


def test_without_its_tables_nothing_is_decided():
    for table in ("replica_offsets", "broker_lines", "node_events", "clocks"):
        assert ruled(loaded(15, 19), missing=[table]) == RuleResult()
