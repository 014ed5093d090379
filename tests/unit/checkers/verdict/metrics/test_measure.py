"""The metrics of a whole history on disk, and that every one of them can be measured."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.history.history_rows import history, info, logged, ok, proof, read, sample
from fakes.run.run_directories import make_run, reference

from checkers.contract.realised.timeline import Clock, Timeline
from checkers.history.load import load_context
from checkers.history.rows import Fault, History, MetadataChange
from checkers.verdict.exposure.exposure import measure
from checkers.verdict.metrics.measure import Metrics
from checkers.verdict.metrics.metric import METRICS, Measured, metric_of

SECOND = 1_000_000_000
NOTHING_SENT = "nothing was sent after the last fault"
STATE = MetadataChange(
    at_ms=0, topic="orders", partition=0, leader=1, leader_epoch=0, partition_epoch=0, isr=(1, 2, 3)
)


def metrics(tmp_path: Path, rows: History) -> Metrics:
    run = make_run(tmp_path, rows)
    context = load_context(run.history)
    timeline = Timeline(context, Clock(monotonic_ns=0, wall_ns=0))
    exposure = measure(run.history, context, -1)
    return Metrics(
        history=run.history,
        context=context,
        timeline=timeline,
        exposure=exposure,
        judgement=reference(run.history),
        load_ended_ns=-1,
    )


def test_sends_are_counted_by_the_error_that_they_ended_with(tmp_path: Path) -> None:
    refused = replace(info(1, 1), error="NOT_ENOUGH_REPLICAS")
    elsewhere = replace(info(1, 2, on=1), error="NOT_ENOUGH_REPLICAS")
    its = metrics(tmp_path, history(ok(1, 0, at=0), refused, elsewhere, info(1, 3)))
    assert its.measured("errors.NOT_ENOUGH_REPLICAS") == Measured(value=2.0)
    assert its.measured("errors.REQUEST_TIMED_OUT") == Measured(value=0.0)


def test_brokers_that_lost_data_are_counted_once_each(tmp_path: Path) -> None:
    faults = [
        Fault(index=0, name="power", kind="power-loss", inject_ns=1, data_lost=(1, 2)),
        Fault(index=1, name="again", kind="power-loss", inject_ns=9, data_lost=(2,)),
    ]
    its = metrics(tmp_path, replace(history(ok(1, 0, at=0)), faults=faults))
    assert its.measured("data-lost.brokers") == Measured(value=2.0)


def skew(offset: str, *, proven: bool = True) -> Fault:
    target = f"leader: {offset}"
    return Fault(index=0, name="skew", kind="clock-skew", target=target, inject_ns=1, proven=proven)


@pytest.mark.parametrize(
    ("faults", "apart_s"),
    [
        ([], 0.0),
        ([skew("+5m"), skew("-1h")], 3600.0),
        ([skew("+8d"), skew("-1h")], 691_200.0),
        ([skew("+8d", proven=False), skew("+30.500s")], 30.5),
        ([Fault(index=0, name="kill", kind="kill", target="leader", inject_ns=1)], 0.0),
    ],
)
def test_clocks_are_as_far_apart_as_one_was_seen_to_be(
    tmp_path: Path, faults: list[Fault], apart_s: float
) -> None:
    its = metrics(tmp_path, replace(history(ok(1, 0, at=0)), faults=faults))
    assert its.measured("clocks.apart") == Measured(value=apart_s)


def test_the_log_start_that_moved_furthest_counts_with_its_partition(tmp_path: Path) -> None:
    rows = history(
        ok(1, 0, at=0),
        replace(sample(90), log_start=3),
        replace(sample(90, at=18), log_start=40),
        proof(90, start=60),
        replace(sample(90, on=1), log_start=0),
        proof(90, start=7, on=1),
        proof(90, start=80, on=2),
    )
    its = metrics(tmp_path, rows)
    assert its.measured("log-start.moved") == Measured(value=57.0, where="orders-0")


def test_a_log_that_begins_where_it_did_has_not_moved(tmp_path: Path) -> None:
    still = history(ok(1, 0, at=0), replace(sample(90), log_start=0), proof(90))
    assert metrics(tmp_path, still).measured("log-start.moved") == Measured(value=0.0)


def test_partitions_with_an_acknowledgement_are_counted(tmp_path: Path) -> None:
    its = metrics(tmp_path, history(ok(1, 0, at=0), ok(1, 1, at=1), info(1, 2, on=1)))
    assert its.measured("acked.partitions") == Measured(value=1.0)


KILL = Fault(index=0, name="kill", kind="kill", inject_ns=1, heal_ns=2, recovered_ns=SECOND)


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ([KILL], Measured(value=2.5, where="orders-1")),
        ([replace(KILL, recovered_ns=9 * SECOND)], Measured(value=None, unknown=NOTHING_SENT)),
        ([replace(KILL, recovered=False)], Measured(value=None, unknown="fault kill has not recovered")),
        ([], Measured(value=None, unknown="no fault was injected")),
    ],
)
def test_the_longest_wait_after_the_last_fault_counts_with_its_partition(
    tmp_path: Path, faults: list[Fault], expected: Measured
) -> None:
    rows = history(
        ok(1, 0, at=0, invoked=SECOND, done=2 * SECOND),
        ok(1, 1, at=0, on=1, invoked=2 * SECOND, done=int(4.5 * SECOND)),
    )
    assert metrics(tmp_path, replace(rows, faults=faults)).measured("resumed.max") == expected


def test_records_that_a_reader_was_given_are_lost_once_if_the_log_lacks_them_there(tmp_path: Path) -> None:
    """Both readers got 1/1 at offset 1, where 1/3 is now, and one got 1/2, which was not acknowledged, at
    offset 2, where nothing is; that of orders-1 got what is there."""
    rows = history(
        *(ok(1, n, at=n) for n in range(2)),
        info(1, 2),
        ok(1, 3, at=1),
        ok(1, 4, at=0, on=1),
        *(logged(1, n, offset) for n, offset in ((0, 0), (3, 1))),
        logged(1, 4, 0, on=1),
        *(read(1, n, n, reader=0) for n in range(3)),
        *(read(1, n, n, reader=1) for n in range(2)),
        read(1, 4, 0, on=1),
    )
    assert metrics(tmp_path, rows).measured("reads.lost") == Measured(value=2.0)


def test_readers_that_got_what_stayed_have_lost_nothing(tmp_path: Path) -> None:
    rows = history(ok(1, 0, at=0), logged(1, 0, 0), read(1, 0, 0))
    assert metrics(tmp_path, rows).measured("reads.lost") == Measured(value=0.0)


def test_without_a_read_or_the_log_nobody_knows_what_readers_have_lost(tmp_path: Path) -> None:
    """One partition without a final read leaves the number open, whatever the others show."""
    unread = metrics(tmp_path / "unread", history(ok(1, 0, at=0), logged(1, 0, 0)))
    assert unread.measured("reads.lost") == Measured(value=None, unknown="no reader was given a record")
    rows = history(ok(1, 0, at=0), read(1, 0, 0), read(1, 1, 0, on=1), unproven=[1])
    assert metrics(tmp_path / "open", rows).measured("reads.lost") == Measured(
        value=None, unknown="reads of offsets that no final read reached: 1"
    )


def test_what_no_send_shows_is_unknown(tmp_path: Path) -> None:
    its = metrics(tmp_path, history(unproven=[0]))
    assert its.measured("failed.ratio") == Measured(value=None, unknown="nothing was sent")


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_a_value_or_a_reason(tmp_path: Path, metric: str) -> None:
    rows = replace(history(ok(1, 0, at=0), sample(1)), metadata=[STATE])
    measured = metrics(tmp_path, rows).measured(metric)
    assert (measured.value is None) is bool(measured.unknown)


def test_a_metric_is_found_by_its_name_and_an_error_by_its_own() -> None:
    assert metric_of("isr.min") is METRICS["isr.min"]
    assert metric_of("errors.NOT_ENOUGH_REPLICAS").says == "sends that ended with NOT_ENOUGH_REPLICAS"
    assert metric_of("errors.") is None
    assert metric_of("isr.max") is None
