"""suite.json: read back as written, refused if damaged; the worst verdict, and where the time went."""

import os
from pathlib import Path
from typing import Any

import pytest
from fakes.run.suites import record, row

from compose.docker.labels import owner_of
from harness.campaign.suites.files.record import OverheadOf, read_record, refuse_alive, write_record
from harness.campaign.suites.files.seconds import run_seconds, suite_seconds
from harness.campaign.suites.files.table import table
from harness.errors import HistoryError, RunDirectoryError
from harness.run_directory.manifest import RunOwner, Timings


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    its = record(row(0, "PASS"), row(1, None, state="running"), missing=("storm, run 3",))
    write_record(tmp_path, its)
    assert read_record(tmp_path) == its
    assert [path.name for path in tmp_path.iterdir()] == ["suite.json"]


@pytest.mark.parametrize(
    ("verdicts", "missing", "code"),
    [
        ("PASS PASS", (), 0),
        ("PASS FAIL ERROR UNKNOWN", (), 1),
        ("PASS UNKNOWN", (), 3),
        ("PASS ERROR UNKNOWN", (), 4),
        ("PASS PASS", ("storm, run 3",), 3),
        ("FAIL", ("storm, run 3",), 1),
        ("", (), 4),
    ],
)
def test_a_suite_exits_with_the_worst_of_its_runs(verdicts: str, missing: tuple[str, ...], code: int) -> None:
    its = record(*(row(at, word) for at, word in enumerate(verdicts.split())), missing=missing)
    assert its.worst_exit_code() == code


def test_a_run_that_was_interrupted_and_made_again_counts_once() -> None:
    """Its first verdict, of a run that was cut short, is none."""
    its = record(row(0, "UNKNOWN", state="interrupted"), row(0, "PASS"))
    assert (its.worst_exit_code(), list(its.judged())) == (0, [0])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "suite.json: not readable as a suite"),
        ('{"schema_version": 2}', "unknown schema_version 2"),
        ("[]", "unknown schema_version None"),
        ('{"schema_version": 1}', "tool_version: Field required"),
        ("[" * 100_000, "suite.json: not readable as a suite"),
    ],
)
def test_a_damaged_record_is_one_error_with_its_key(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "suite.json").write_text(text)
    with pytest.raises(HistoryError, match=complaint):
        read_record(tmp_path)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"shard": "9/3"}, "suite.json: shard: '9/3' is not a shard"),
        ({"shard": "x"}, "suite.json: shard: 'x' is not a shard"),
        ({"shard": "1/100000000000"}, "suite.json: shard: '1/100000000000' is not a shard"),
        ({"sources": ()}, "suite.json: sources: 0, and plan.scenarios has 1"),
        ({"runs": (row(0, "PASS", entry=99),)}, r"suite.json: runs\.0\.entry: 99, and plan.scenarios has 1"),
    ],
)
def test_a_record_whose_parts_do_not_fit_is_refused_with_the_key(
    tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    its = record(row(0, "PASS")).model_copy(update=changes)
    (tmp_path / "suite.json").write_text(its.model_dump_json())
    with pytest.raises(HistoryError, match=complaint):
        read_record(tmp_path)


@pytest.mark.parametrize(
    "directory", ["0000_a\0b", "/elsewhere", "../0000_demo_7", "0000_demo_7/..", "..", ""]
)
def test_a_run_that_lies_elsewhere_is_refused(tmp_path: Path, directory: str) -> None:
    """Who goes on with a suite from elsewhere writes verdicts into the directories of its runs."""
    its = record(row(0, "PASS").model_copy(update={"directory": directory}))
    (tmp_path / "suite.json").write_text(its.model_dump_json())
    with pytest.raises(HistoryError, match=r"runs\.0\.directory: String should match pattern"):
        read_record(tmp_path)


def test_a_directory_without_a_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="not the directory of a suite"):
        read_record(tmp_path)


def test_a_suite_that_still_goes_on_is_not_gone_on_with_twice(tmp_path: Path) -> None:
    ours = owner_of("small", os.getpid())
    owner = RunOwner(pid=ours.pid, start=ours.start, host=ours.host)
    with pytest.raises(RunDirectoryError, match="the suite still goes on"):
        refuse_alive(tmp_path, record().model_copy(update={"owner": owner}))
    dead = RunOwner(pid=ours.pid, start="0@boot", host=ours.host)
    refuse_alive(tmp_path, record().model_copy(update={"owner": dead}))


def test_what_a_run_took_beyond_its_schedule_is_laid_to_its_phases() -> None:
    timings = Timings(cluster_s=1.5, topics_s=0.5, warm_s=1.0, schedule_s=40.0, disks_s=0.75, seal_s=9.0)
    its = run_seconds(45.0, timings)
    assert (its.wall_s, its.schedule_s, its.overhead_s) == (45.0, 40.0, 5.0)
    assert its.parts == {
        "cluster_s": 1.5,
        "topics_s": 0.5,
        "warm_s": 1.0,
        "settle_s": 0.0,
        "final_read_s": 0.0,
        "disks_s": 0.75,
        "other_s": 1.25,
    }


def test_new_and_kept_clusters_are_counted_apart_and_interrupted_runs_not_at_all() -> None:
    rows = [
        row(0, "PASS", overhead_s=14.0),
        row(1, "PASS", served=1, overhead_s=4.0),
        row(2, "FAIL", served=2, overhead_s=6.0),
        row(3, None, state="interrupted", served=3, overhead_s=99.0),
    ]
    its = suite_seconds(rows, 200.0)
    assert (its.total_s, its.schedules_s, its.overhead_s) == (200.0, 150.0, 50.0)
    assert its.new_cluster == OverheadOf(runs=1, mean_s=14.0, most_s=14.0)
    assert its.kept_cluster == OverheadOf(runs=2, mean_s=5.0, most_s=6.0)


def test_the_table_has_a_line_for_each_run_then_the_sums() -> None:
    rows = (row(0, "PASS", overhead_s=14.0), row(1, "FAIL", served=1, overhead_s=4.0))
    its = record(*rows, row(2, None, state="interrupted"), missing=("storm, run 3",))
    its = its.model_copy(update={"seconds": suite_seconds(rows, 130.0)})
    assert table(its).splitlines() == [
        "run  scenario  seed  verdict      cluster      schedule  beyond it  outcome",
        "0    demo      7     PASS         new          50.0 s    14.0 s     outcome of 0",
        "1    demo      7     FAIL         kept, run 2  50.0 s    4.0 s      outcome of 1",
        "2    demo      7     interrupted  new          50.0 s    10.5 s     outcome of 2",
        "2 runs: 1 FAIL, 1 PASS; 1 interrupted",
        "130 s: 100 s of schedules, 30 s beyond them",
        "  on a new cluster: 1 runs, 14.0 s each beyond the schedule, at most 14.0 s",
        "  on a kept cluster: 1 runs, 4.0 s each beyond the schedule, at most 4.0 s",
        "required, and not made: storm, run 3",
    ]


def test_the_suites_below_a_directory_that_is_none_are_named(tmp_path: Path) -> None:
    """`--out` was meant for the new ones; `--resume` is for one of them."""
    for name in ("20260102T000000Z_suite-nightly_2", "20260101T000000Z_suite-nightly_1"):
        (tmp_path / name).mkdir()
        write_record(tmp_path / name, record())
    (tmp_path / "20260103T000000Z_acks1-leader-kill_3").mkdir()
    named = r"it has no suite\.json; these below it have: 20260101T\S+_1, 20260102T\S+_2$"
    with pytest.raises(RunDirectoryError, match=named):
        read_record(tmp_path)
