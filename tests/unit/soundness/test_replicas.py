"""What the brokers' disks hold counts, and not only what a reader gets from the leader."""

from dataclasses import replace
from pathlib import Path

from fakes.history.history_rows import sample
from fakes.history.replica_rows import batch, disk, history
from fakes.run.run_directories import make_run, reference
from fakes.run.whole_runs import ALL, findings, metadata

from checkers.verdict.algebra import Verdict
from harness.report.judge import judge
from harness.report.report import Report


def of_disks(path: Path, **changed: int) -> Report:
    """Two acknowledged records, which the leader has and readers get; broker 3's second batch is changed."""
    first, second = batch(0), batch(1)
    disks = [disk(1, first, second), disk(2, first, second), disk(3, first, replace(second, **changed))]
    rows = replace(
        history(*disks, read_to=2, acked=(0, 1)), metadata=metadata((0, 1, 0, ALL)), watermarks=[sample(2)]
    )
    return judge(make_run(path, rows, load_ended_ns=9), reference)


def test_followers_whose_disks_differ_from_the_leaders_fail_a_run_in_which_every_reader_got_the_record(
    tmp_path: Path,
) -> None:
    """Right: divergence, with the broker and the offset; the same run with equal disks passes."""
    report = of_disks(tmp_path / "other", digest=7, crc=7)
    assert report.verdict is Verdict.FAIL
    assert ("divergence", "violation", 1, 1) in findings(report)
    assert report.headline.startswith("orders-0 offset 1 on broker 3")
    assert of_disks(tmp_path / "equal").verdict is Verdict.PASS
