"""How much a run put at risk, as read back from its history."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.history_rows import fail, history, info, ok, sample
from fakes.run_directories import make_run

from checkers.history.load import load_context
from checkers.history.rows import Fault, History
from checkers.verdict.exposure import Exposure, measure

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
