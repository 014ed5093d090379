"""How much a run put at risk, as read back from its history."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fakes.history.history_rows import fail, history, info, ok, read, sample
from fakes.run.run_directories import make_run

from checkers.history.load import load_context
from checkers.history.rows import Fault, History, MetadataChange, Replica
from checkers.history.tables import unit_path, write_table
from checkers.verdict.exposure.exposure import Exposure, measure, read_sends

SECOND = 1_000_000_000


def acked(sequence: int, second: float, on: int = 0):
    at_ns = int(second * SECOND)
    return ok(1, sequence, at=sequence, invoked=at_ns - 1, done=at_ns, on=on)


def exposure(tmp_path: Path, rows: History, load_ended_s: float = -1) -> Exposure:
    run = make_run(tmp_path, rows)
    return measure(run.history, load_context(run.history), int(load_ended_s * SECOND))


def test_sends_are_counted_by_outcome_and_acks_without_an_offset_apart(tmp_path: Path) -> None:
    rows = history(acked(0, 1), ok(1, 1), fail(1, 2), info(1, 3), info(1, 4), sample(5))
    found = exposure(tmp_path, rows)
    assert (found.acked, found.failed, found.indeterminate) == (2, 1, 2)
    assert (found.attempts, found.acked_without_offset, found.watermark_samples) == (5, 1, 1)
    assert found.metric("indeterminate.ratio") == 0.4


def test_the_longest_gap_is_that_of_the_partition_that_waited_longest(tmp_path: Path) -> None:
    rows = history(acked(0, 1), acked(1, 2), acked(0, 1, on=1), replace(acked(2, 4.5, on=1), sequence=7))
    found = exposure(tmp_path, rows)
    assert (found.longest_gap_s, found.longest_gap_at) == (3.5, "orders-1")


def test_the_last_gap_ends_with_the_load(tmp_path: Path) -> None:
    assert exposure(tmp_path, history(acked(0, 1), acked(1, 2)), load_ended_s=9).longest_gap_s == 7.0


@pytest.mark.parametrize("metric", ["unavailable.max", "indeterminate.ratio", "failed.ratio"])
def test_without_any_send_a_metric_is_unknown_and_not_zero(tmp_path: Path, metric: str) -> None:
    assert exposure(tmp_path, history(unproven=[0])).metric(metric) is None


def test_acks_in_a_fault_window_are_those_between_injection_and_recovery(tmp_path: Path) -> None:
    kill = Fault(
        index=0, name="kill", kind="kill", inject_ns=2 * SECOND, heal_ns=4 * SECOND, recovered_ns=6 * SECOND
    )
    rows = replace(history(*(acked(n, n + 1) for n in range(8))), faults=(kill,))
    (window,) = exposure(tmp_path, rows).fault_windows
    assert (window["fault"], window["acked"]) == ("kill", 5)


def test_a_fault_that_was_never_injected_has_no_acks_in_its_window(tmp_path: Path) -> None:
    skipped = Fault(index=0, name="kill", kind="kill", inject_ns=-1, proven=False, recovered=False)
    (window,) = exposure(tmp_path, replace(history(acked(0, 1)), faults=(skipped,))).fault_windows
    assert window["acked"] == 0


def test_a_partition_without_any_ack_was_unavailable_for_the_whole_load(tmp_path: Path) -> None:
    """The load lasts from its first send, at 0.5 s, to 9 s; orders-0 is acknowledged every second."""
    first = info(2, 0, invoked=SECOND // 2)
    rows = history(first, *(acked(n, 1 + n) for n in range(8)), info(1, 8, on=1, invoked=2 * SECOND))
    found = exposure(tmp_path, rows, load_ended_s=9)
    assert (found.longest_gap_s, found.longest_gap_at) == (8.5, "orders-1")
    assert found.metric("unavailable.max") == 8.5


def test_a_load_of_which_nothing_was_acknowledged_was_unavailable_from_its_first_send(tmp_path: Path) -> None:
    rows = history(info(1, 0, invoked=SECOND), info(1, 1, invoked=3 * SECOND))
    assert exposure(tmp_path, rows, load_ended_s=9).longest_gap_s == 8.0


def test_without_the_end_of_the_load_a_partition_without_acks_is_known_to_wait_until_the_last_ack(
    tmp_path: Path,
) -> None:
    rows = history(acked(0, 1), acked(1, 2), acked(2, 6), info(1, 3, on=1, invoked=SECOND))
    found = exposure(tmp_path, rows)
    assert (found.longest_gap_s, found.longest_gap_at) == (5.0, "orders-1")


def test_a_partition_has_a_witness_if_a_reader_was_given_a_record_or_a_sample_has_a_high_watermark(
    tmp_path: Path,
) -> None:
    """Partition 2 has a sample without a high watermark; partition 3 has no ack, so it needs no witness."""
    rows = history(
        *(acked(on, 1, on=on) for on in range(3)),
        info(1, 3, on=3),
        read(1, 0, 0, on=0),
        sample(1, on=1),
        sample(-1, on=2),
    )
    found = exposure(tmp_path, rows)
    assert (found.reads, found.unwitnessed) == (1, ("orders-2",))


def test_leader_and_isr_changes_are_counted_after_the_first_state_of_a_partition(tmp_path: Path) -> None:
    states = [(0, 1, 5, (1, 2, 3)), (1, 1, 5, (1, 2)), (2, -1, 6, (1, 2)), (3, 2, 7, (2,)), (4, 2, 7, (3, 2))]
    changes = [
        MetadataChange(
            at_ms=at,
            topic="orders",
            partition=0,
            leader=leader,
            leader_epoch=epoch,
            partition_epoch=at,
            isr=isr,
        )
        for at, leader, epoch, isr in states
    ]
    found = exposure(tmp_path, replace(history(acked(0, 1)), metadata=changes))
    assert (found.leader_changes, found.isr_changes) == (1, 3)


def test_replicas_are_counted_if_their_logs_were_collected(tmp_path: Path) -> None:
    replicas = [
        Replica(topic="orders", partition=0, broker=broker, complete=broker != 2) for broker in (1, 2, 3)
    ]
    rows = replace(history(acked(0, 1)), replicas=replicas)
    assert exposure(tmp_path / "read", rows).replicas_read == 2
    assert exposure(tmp_path / "not", replace(rows, collected=frozenset())).replicas_read is None


def test_replicas_that_were_not_read_whole_are_named(tmp_path: Path) -> None:
    """Of partitions with acks, as the last change of the metadata log has them, if any was collected."""
    state = MetadataChange(
        at_ms=0, topic="orders", partition=0, leader=1, leader_epoch=5, partition_epoch=0, isr=(1, 2, 3)
    )
    moved = [
        replace(state, replicas=(1, 2, 4)),
        replace(state, at_ms=1, partition_epoch=1, replicas=(1, 2, 3)),
    ]
    idle = [replace(state, partition=1, replicas=(1, 2, 3))]
    replicas = [
        Replica(topic="orders", partition=0, broker=1),
        Replica(topic="orders", partition=0, broker=2, complete=False, reason="a torn segment"),
    ]
    rows = replace(history(acked(0, 1)), metadata=[*moved, *idle], replicas=replicas)
    assert exposure(tmp_path / "read", rows).replicas_unread == (
        "orders-0 on broker 2 (a torn segment)",
        "orders-0 on broker 3 (nothing of it was kept)",
    )
    assert exposure(tmp_path / "not", replace(rows, collected=frozenset())).replicas_unread == ()


def test_a_fault_that_never_ended_has_all_later_acks_in_its_window(tmp_path: Path) -> None:
    forever = Fault(index=0, name="kill", kind="kill", inject_ns=2 * SECOND)
    rows = replace(history(*(acked(n, n + 1) for n in range(8))), faults=(forever,))
    (window,) = exposure(tmp_path, rows).fault_windows
    assert window["acked"] == 7


def test_the_wait_after_the_last_recovery_is_read_from_the_sends(tmp_path: Path) -> None:
    """Of orders-0 a send is pending at 5 s, and acknowledged at 7 s; orders-1 refuses all from 4 s on."""
    kill = Fault(
        index=0, name="kill", kind="kill", inject_ns=2 * SECOND, heal_ns=4 * SECOND, recovered_ns=5 * SECOND
    )
    refused = [fail(1, n, on=1, invoked=n * SECOND, done=n * SECOND + 1) for n in (4, 6, 8)]
    pending = ok(1, 9, at=1, invoked=3 * SECOND, done=7 * SECOND)
    rows = history(acked(0, 1), pending, acked(2, 8), acked(3, 3, on=1), *refused, acked(1, 2, on=2))
    found = exposure(tmp_path, replace(rows, faults=(kill,)), load_ended_s=9)
    waits = [(str(gap.tp), gap.from_ns / SECOND, gap.to_ns / SECOND) for gap in found.resumption.gaps]
    assert waits == [("orders-1", 6.0, 9.0), ("orders-0", 5.0, 7.0)]
    assert found.gaps_of("resumed.max") == found.resumption.gaps
    assert found.gaps_of("unavailable.max") == found.gaps


def test_of_several_row_groups_the_first_open_send_counts(tmp_path: Path) -> None:
    """The calls of two producers lie one after the other in the file."""
    sends = history(acked(5, 9), acked(6, 10), *(replace(acked(n, n + 1), producer=2) for n in range(9)))
    run = make_run(tmp_path, sends)
    (tp,) = load_context(run.history).partitions
    path = unit_path(run.history, "sends", *tp)
    write_table(path, "sends", pq.read_table(path), *tp, run=run.id, group_rows=2)
    assert pq.ParquetFile(path).num_row_groups == 6
    assert read_sends(run.history, tp, int(5.5 * SECOND)).opened_ns == 6 * SECOND - 1
    assert read_sends(run.history, tp).opened_ns == -1
