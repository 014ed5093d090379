"""The Python entry point: its documented example, runs and checks without Docker, tables as data frames."""

import doctest
import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FunctionType

import pytest
from fakes.history.history_rows import history, info, logged, ok, sample
from fakes.run.run_directories import make_run, reference
from fakes.run.run_steps import FakeRunSteps

from checkers.history.rows import MetadataChange
from checkers.history.tables import TABLES
from compose.cleanup import leftovers
from compose.setup import prepare
from harness import api
from harness.run.live import live_steps

SCENARIO = api.Scenario.model_validate(
    {"name": "demo", "topics": [{"name": "orders"}], "workload": {"lasts": "0s", "tail": "0s"}}
)
ONE_LOST = history(ok(1, 0, at=0), logged(1, 0, 0), ok(1, 1, at=1), info(1, 2), sample(1))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> FakeRunSteps:
    """The steps that `run` takes instead of the real ones."""
    fake = FakeRunSteps()
    monkeypatch.setattr(live_steps, "LiveRunSteps", lambda spark_master: fake)
    monkeypatch.setattr(prepare, "ensure_images", lambda release, on_line: None)
    monkeypatch.setattr(leftovers, "of_dead_runs", lambda: ())
    return fake


def test_the_example_of_the_documentation_runs_as_it_is_printed(tmp_path: Path) -> None:
    rows = history(ok(1, 0, at=0), logged(1, 0, 0), ok(1, 1, at=1))
    led = MetadataChange(
        at_ms=0, topic="orders", partition=0, leader=1, leader_epoch=0, partition_epoch=0, isr=(1,)
    )
    make_run(tmp_path / "latest", replace(rows, metadata=(led,)))
    example = doctest.DocTestFinder().find(api, "harness.api", globs={"runs": tmp_path})[0]
    assert len(example.examples) == 9
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed == 0


def test_a_check_has_the_verdict_its_reasons_its_findings_and_its_exposure(tmp_path: Path) -> None:
    make_run(tmp_path, ONE_LOST)
    report = api.check(tmp_path, verify=reference)
    assert (report.verdict, report.run_dir) == (api.Verdict.FAIL, tmp_path)
    assert [reason.verdict for reason in report.reasons] == [api.Verdict.FAIL]
    assert report.findings[0]["counts"] == {"acked-loss": 1}
    assert (report.exposure["acked"], report.exposure["indeterminate"]) == (2, 1)


def test_a_value_that_no_check_has_refused_is_unknown_with_its_place_and_the_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect looks the same: so the sentence has all that is needed to find it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def broken(*_: object) -> None:
        raise OverflowError("int too large")

    run = make_run(tmp_path / "run", ONE_LOST)
    monkeypatch.setattr("harness.report.judge.contradictions", broken)
    report = api.check(run.path, verify=reference)
    (log,) = tmp_path.glob("highwater-*.log")
    assert report.verdict is api.Verdict.UNKNOWN
    place = re.sub(r":\d+:", ":N:", report.outcome)
    assert place == (
        f"{run.path}: holds a value that cannot be judged, at report/judge.py:N: OverflowError: int too "
        f"large; the traceback is in {log}"
    )
    assert log.read_text().endswith("OverflowError: int too large\n")


@pytest.mark.parametrize("error", [RuntimeError("a defect"), OSError("a broken pipe")])
def test_what_no_value_is_to_blame_for_is_no_verdict(tmp_path: Path, error: Exception) -> None:
    def broken(history: Path) -> None:
        raise error

    make_run(tmp_path, ONE_LOST)
    with pytest.raises(type(error), match="a "):
        api.check(tmp_path, verify=broken)


def test_what_spark_raises_is_no_verdict(tmp_path: Path) -> None:
    """As for a master that it does not know."""

    def broken(*_: object) -> None:
        raise ValueError("of Spark")

    make_run(tmp_path, ONE_LOST)
    of_spark = FunctionType(
        broken.__code__, {"__name__": "spark_verify.session.session", "ValueError": ValueError}
    )
    with pytest.raises(ValueError, match="of Spark"):
        api.check(tmp_path, verify=of_spark)


def test_every_table_of_the_history_is_a_data_frame(tmp_path: Path) -> None:
    make_run(tmp_path, ONE_LOST)
    report = api.check(tmp_path, verify=reference)
    frames = {name: report.table(name) for name in TABLES}
    assert {name: list(frame.columns) for name, frame in frames.items()} == {
        name: schema.names for name, schema in TABLES.items()
    }
    assert [(int(row.sequence), int(row.outcome)) for row in frames["sends"].itertuples()] == [
        (0, 0),
        (1, 0),
        (2, 2),
    ]


def test_a_table_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    make_run(tmp_path, ONE_LOST)
    with pytest.raises(api.UsageError, match="table: unknown 'send'; allowed: broker_lines, brokers, "):
        api.check(tmp_path, verify=reference).table("send")


def test_a_table_that_is_damaged_is_named(tmp_path: Path) -> None:
    run = make_run(tmp_path, ONE_LOST)
    report = api.check(tmp_path, verify=reference)
    (run.history / "faults.parquet").write_text("not Parquet")
    with pytest.raises(api.HighwaterError, match=r"faults\.parquet: truncated, or not Parquet"):
        report.table("faults")


def test_a_directory_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(api.RunDirectoryError, match="not a run directory"):
        api.check(tmp_path, verify=reference)


def test_an_unreadable_manifest_is_a_verdict_and_no_error(tmp_path: Path) -> None:
    run = make_run(tmp_path, ONE_LOST)
    run.manifest.write_text('{"schema_version": 1}')
    report = api.check(tmp_path, verify=reference)
    assert (report.verdict, report.verdict.exit_code) == (api.Verdict.UNKNOWN, 3)
    assert report.outcome.startswith(f"{run.manifest}: tool_version: is missing; it is version of highwater")
    assert (report.findings, dict(report.exposure)) == ((), {})


def test_a_run_returns_its_report_and_leaves_its_directory(tmp_path: Path, steps: FakeRunSteps) -> None:
    progress = io.StringIO()
    report = api.run(SCENARIO, seed=7, sets=["workload.acks=1"], out=tmp_path, progress=progress)
    assert (report.verdict, report.name) == (api.Verdict.PASS, "demo, seed 7")
    assert (tmp_path / "latest").resolve() == report.run_dir.resolve()
    assert "acks: '1'" in (report.run_dir / "scenario.yaml").read_text()
    assert progress.getvalue().startswith("seed 7  scenario demo  ")
    assert steps.taken[0] == "cluster"


def test_a_run_that_its_user_stops_before_there_is_a_load_raises(tmp_path: Path, steps: FakeRunSteps) -> None:
    steps.presses = {"make_topics": 1}
    with pytest.raises(api.Interrupted) as stopped:
        api.run(SCENARIO, out=tmp_path, progress=io.StringIO())
    assert stopped.value.exit_code == 130
    assert steps.taken[-2:] == ["cluster removed", "steps ended"]


def test_a_scenario_made_in_python_is_checked_like_a_file() -> None:
    wrong = SCENARIO.model_copy(update={"storm": {"duration": "2s"}})
    with pytest.raises(api.ScenarioError, match=r"^Scenario demo:\d+:\d+: storm\.duration: '2s' is refused"):
        api.resolved(wrong)
    assert api.resolved(SCENARIO, seed=3).seed == 3
    assert api.resolved("storm", seed=3).steps == api.resolved("storm", seed=3).steps


@pytest.mark.parametrize(
    "begin",
    [
        lambda out: api.run(SCENARIO, out=out),
        lambda out: api.suite("catalogue", out=out),
        lambda out: api.resume_suite(out / "suite"),
        lambda out: api.accept("payments", out=out),
        lambda out: api.accept_matrix(out=out),
    ],
    ids=["run", "suite", "resume", "accept", "matrix"],
)
def test_elsewhere_than_on_linux_one_sentence_says_so_before_anything_is_made(
    begin: Callable[[Path], object],
    tmp_path: Path,
    steps: FakeRunSteps,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(api.HighwaterError, match=r"on Linux only, and this is darwin\n.*`highwater check`"):
        begin(tmp_path)
    assert (list(tmp_path.iterdir()), steps.taken, capsys.readouterr()) == ([], [], ("", ""))
