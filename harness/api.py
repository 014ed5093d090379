"""highwater from Python: run a scenario, judge a run again, read its history as data frames.

For notebooks and tests; the command line uses it too.

    from harness.api import check, run

    report = run("storm", seed=7)                  # starts a cluster in Docker; takes a minute or two
    report = check("runs/latest")                  # the same verdict again, without Docker
    report.verdict, report.outcome, report.findings, report.exposure["acked"]
    sends = report.table("sends")                  # a pandas.DataFrame, columns as in docs/history.md

A recorded run, judged by the slow reference rules instead of Spark (`runs` holds one with a lost record):

    >>> from checkers.history.load import load
    >>> from checkers.reference import check as reference
    >>> from harness.api import Verdict, check
    >>> report = check(f"{runs}/latest", verify=lambda history: reference(load(history)))
    >>> report.verdict is Verdict.FAIL
    True
    >>> print(report.outcome)
    acks=all lost 1 of 2 acknowledged records, which its contract forbids
    >>> report.findings[0]["first_offset"], report.exposure["acked"]
    (1, 2)
    >>> sends = report.table("sends")
    >>> sends.loc[sends["outcome"] == 0, ["producer", "sequence", "offset"]].to_numpy().tolist()
    [[1, 0, 0], [1, 1, 1]]

Errors, all of them `HighwaterError` but the last:

    UsageError          a scenario or a table that does not exist
    ScenarioError       a scenario that cannot work: file, line, column and what is wrong
    RunDirectoryError   there is no run, or it still goes on
    HistoryError        a table of the history that cannot be read
    Interrupted         the user stopped a run before there was anything to judge

A run that fails raises none of them: its verdict is ERROR. Where there is no Linux nothing can be run, and
that is a plain `HighwaterError`; `check` works there.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from checkers.verdict.algebra import Verdict
from harness.errors import (
    HighwaterError,
    HistoryError,
    Interrupted,
    RunDirectoryError,
    ScenarioError,
    UsageError,
)
from harness.report.report import Report
from harness.scenario.model import Scenario
from harness.scenario.resolve import Resolved, find, resolve, scenario_text

if TYPE_CHECKING:
    from checkers.judgement import Judgement
    from checkers.promises.search import SearchResult
    from harness.campaign.accept.acceptance import Acceptance
    from harness.campaign.accept.configuration.configuration_file import AcceptFile
    from harness.campaign.accept.matrix.matrix import MatrixRecord
    from harness.campaign.accept.record import AcceptRecord
    from harness.campaign.accept.scenarios import Setup
    from harness.campaign.suite import SuiteResult
    from harness.campaign.suites.directory import Suite as OpenSuite
    from harness.campaign.suites.files.record import SuiteRecord as FinishedSuite
    from harness.campaign.upgrade.record import UpgradeRecord
    from harness.selftest.selftest import SelfTest

__all__ = [
    "HighwaterError",
    "HistoryError",
    "Interrupted",
    "Report",
    "RunDirectoryError",
    "Scenario",
    "ScenarioError",
    "UsageError",
    "Verdict",
    "accept",
    "accept_matrix",
    "check",
    "configured",
    "of_topic",
    "promise",
    "promised_matrix",
    "resolved",
    "resume_accept",
    "resume_matrix",
    "resume_suite",
    "resume_upgrade",
    "run",
    "run_all",
    "selftest",
    "suite",
    "upgrade",
]

LOCAL_SPARK = "local[*]"
LONGEST_S = 7 * 86_400.0
"""The budget of a suite that has none, and ends by itself long before."""

# Spark, Docker and the Kafka client take seconds to import; each function imports the ones it needs.


def run(
    scenario: str | Path | Scenario,
    *,
    seed: int | None = None,
    sets: Sequence[str] = (),
    out: str | Path = "runs",
    spark_master: str = LOCAL_SPARK,
    progress: TextIO | None = None,
) -> Report:
    """Run a scenario on a new cluster in Docker, and judge it.

    `scenario` is a shipped name, a file or a `Scenario`; `sets` are assignments such as "workload.acks=1"; a
    seed that neither `seed` nor the scenario gives is drawn. The run directory is made below `out`; lines of
    progress go to `progress`, stderr by default. Raises UsageError, ScenarioError, Interrupted.
    """
    one = resolved(scenario, seed=seed, sets=sets)
    result = run_all([one], out=out, spark_master=spark_master, progress=progress)
    if not result.reports:
        assert result.interrupted_by is not None
        raise Interrupted(result.interrupted_by)
    return result.reports[0]


def check(
    run_dir: str | Path,
    *,
    spark_master: str = LOCAL_SPARK,
    verify: "Callable[[Path], Judgement] | None" = None,
) -> Report:
    """Judge the run in `run_dir` again, without Docker; the verdict is that of the run.

    Nothing is written but what a killed run failed to write itself. `verify` replaces Spark: it gets the
    directory of the history and returns the judgement. A run that cannot be read is UNKNOWN. Raises
    RunDirectoryError where there is no run, or one that still goes on; HighwaterError if Spark fails.
    """
    from harness.report.judge import judge
    from harness.report.unforeseen import unusable
    from harness.run_directory.layout import open_run

    run = open_run(Path(run_dir))
    try:
        if verify is not None:
            return judge(run, verify)
        from harness.run.live.verifier import spark_verifier

        with spark_verifier(spark_master) as spark:
            return judge(run, spark, spark.audit)
    except Exception as error:
        if report := unusable(run, error):
            return report
        raise


@contextmanager
def selftest(
    run_dir: str | Path, *, only: Collection[str] = (), spark_master: str = LOCAL_SPARK
) -> "Iterator[SelfTest]":
    """Damaged copies of a run, to iterate over: each is judged, with one Spark session for all.

    `only` are names of mutants; without any, all of them. Raises UsageError for a name that does not exist
    and for a run that fails already, RunDirectoryError where there is no run.
    """
    from harness.run.live.verifier import spark_verifier
    from harness.run_directory.layout import open_run
    from harness.selftest.mutants.every import named
    from harness.selftest.processes import judges
    from harness.selftest.selftest import SelfTest
    from harness.selftest.together import TogetherVerifier

    run, mutants = open_run(Path(run_dir)), named(only)
    with spark_verifier(spark_master) as spark, TogetherVerifier(spark.verify_all) as verify:
        spark.begin()
        with judges(run, len(mutants)) as side_by_side:
            yield SelfTest(run, verify, mutants, side_by_side)


def resolved(
    scenario: str | Path | Scenario, *, seed: int | None = None, sets: Sequence[str] = ()
) -> Resolved:
    """The scenario with its defaults written out and every random choice drawn. UsageError, ScenarioError."""
    match scenario:
        case Scenario():
            text, filename = scenario_text(scenario), f"Scenario {scenario.name}"
        case _:
            text, filename = find(str(scenario))
    return resolve(text, filename, sets=sets, seed=seed)


def run_all(
    scenarios: Sequence[Resolved],
    *,
    out: str | Path = "runs",
    spark_master: str = LOCAL_SPARK,
    progress: TextIO | None = None,
    panel: bool = False,
    argv: Sequence[str] = (),
) -> "SuiteResult":
    """Run resolved scenarios one after the other, with one Spark session; the arguments are those of `run`.

    With `panel`, `progress` is a terminal and shows a live panel. `argv` is kept in the manifests.
    """
    from harness.campaign.suite import Options, run_suite
    from harness.run.live.live_steps import LiveRunSteps

    _require_linux()
    stream = progress or sys.stderr
    options = Options(out=Path(out), progress=stream, panel=panel, argv=tuple(argv))
    _prepare(_releases(scenarios), stream)
    with LiveRunSteps(spark_master) as steps:
        return run_suite(scenarios, steps, options)


def suite(
    name: str | Path,
    *,
    budget_s: float | None = None,
    repeat: int | None = None,
    seed: int | None = None,
    shard: str = "1/1",
    out: str | Path = "runs",
    spark_master: str = LOCAL_SPARK,
    progress: TextIO | None = None,
    argv: Sequence[str] = (),
) -> "FinishedSuite":
    """Draw runs from a suite, a shipped name or a file, until `budget_s` is spent; all of them are judged.

    A suite that ends by itself needs no budget; `repeat` is how often the suite "catalogue" runs each
    scenario. `shard` "2/3" makes the second of three parts of one draw; `seed` is the same for all parts. The
    suite's directory is made below `out`: suite.json, junit.xml, observed.md, and the run directories. Raises
    UsageError, ScenarioError.
    """
    from harness.campaign.suites.directory import create
    from harness.campaign.suites.draw import Shard
    from harness.campaign.suites.plan import read_plan

    _require_linux()
    try:
        part = Shard.parse(shard)
    except ValueError as error:
        raise UsageError(f"shard: {error}") from None
    plan = read_plan(str(name), repeat=repeat)
    if budget_s is None and not plan.ends_by_itself:
        raise UsageError("suite: give a --budget, as in --budget 60m")
    if part.of > 1 and seed is None and plan.seed is None:
        raise UsageError("shard: all parts of a draw need the same seed; give it with --seed")
    made = create(plan, budget_s=budget_s or LONGEST_S, seed=seed, shard=part, out=Path(out))
    return _run_suite(made, spark_master, progress or sys.stderr, argv)


def resume_suite(
    directory: str | Path,
    *,
    budget_s: float | None = None,
    spark_master: str = LOCAL_SPARK,
    progress: TextIO | None = None,
    argv: Sequence[str] = (),
) -> "FinishedSuite":
    """Go on with a suite that was killed or interrupted, within the budget that it has left, or a new one.

    No run is made twice: one that was under way is judged if it was written to its end, else drawn again.
    What is left of the cluster of that is removed first: it would go on beside the next one. Raises
    RunDirectoryError where there is no suite or it still goes on, HistoryError if it cannot be read.
    """
    from harness.campaign.suites.directory import reopen

    _require_linux()
    opened = reopen(Path(directory), budget_s=budget_s)
    _clear(opened, progress or sys.stderr)
    return _run_suite(opened, spark_master, progress or sys.stderr, argv)


def configured(configuration: str | Path, *, sets: Sequence[str] = ()) -> "Acceptance":
    """A configuration with its promise: a profile's name, or a file. Raises UsageError, ScenarioError."""
    from harness.campaign.accept.acceptance import promised
    from harness.campaign.accept.configuration.configuration_file import read_configuration

    return promised(read_configuration(str(configuration), sets))


def of_topic(
    topic: str, bootstrap: str, *, client: Mapping[str, str] | None = None, sets: Sequence[str] = ()
) -> "Acceptance":
    """The configuration of a topic on a running cluster, which is only read, with its promise.

    `client` are librdkafka's settings, to reach it. Raises UsageError, TopicUnreadable, ScenarioError.
    """
    from harness.campaign.accept.acceptance import promised
    from harness.campaign.accept.configuration.configuration_file import parse_configuration
    from harness.campaign.accept.configuration.in_force import configuration_of
    from harness.campaign.accept.live.live_features import features_of
    from harness.campaign.accept.live.live_topic import configuration_text, reading, replicas_in_one_rack
    from workloads.clients.live_topic import read_topic
    from workloads.errors import ClientRefused

    try:
        live = read_topic(topic, bootstrap, client or {})
    except ClientRefused as error:
        raise UsageError(f"accept: {error}") from None
    features = features_of(live, client or {})
    asked = parse_configuration(configuration_text(live, features), f"topic {topic}", sets)
    configuration = configuration_of(asked, replicas_in_one_rack=replicas_in_one_rack(live))
    return promised(asked, configuration, reading(live, features, asked, sets))


def promise(configuration: "str | Path | Acceptance", *, sets: Sequence[str] = ()) -> "AcceptRecord":
    """What a configuration promises and the traps it falls into, by the contract alone: nothing is started.

    Raises UsageError, ScenarioError.
    """
    from harness.campaign.accept.acceptance import Acceptance, unproven

    return unproven(
        configuration if isinstance(configuration, Acceptance) else configured(configuration, sets=sets)
    )


def accept(
    configuration: "str | Path | Acceptance",
    *,
    sets: Sequence[str] = (),
    seed: int | None = None,
    budget_s: float | None = None,
    search_s: float | None = None,
    out: str | Path = "runs",
    spark_master: str = LOCAL_SPARK,
    progress: TextIO | None = None,
    argv: Sequence[str] = (),
) -> "tuple[AcceptRecord, FinishedSuite]":
    """Prove what a configuration promises: search counterexamples for at most `search_s` seconds each (None:
    the search's own limit; 0: not at all), then run a scenario for each clause and each counterexample on
    real clusters, within `budget_s` (None: until all are done).

    The directory is made below `out`: accept.json, the scenario files, and the files of a suite. Raises
    UsageError, also for a configuration of which no run can show anything; ScenarioError.
    """
    from harness.campaign.accept.acceptance import Acceptance, no_run, planned, searched
    from harness.campaign.accept.record import read_accept

    _require_linux()
    stream = progress or sys.stderr
    its = configuration if isinstance(configuration, Acceptance) else configured(configuration, sets=sets)
    if why := no_run(its):
        raise UsageError(f"accept: no run can show anything: {why}")
    _make(Path(out))
    if limit_s := _search_limit_s(search_s, stream):
        its = searched(its, time_limit_s=limit_s, on_result=partial(_printed(stream), its.setup))
    made = planned(its, out=Path(out), seed=seed, budget_s=budget_s or LONGEST_S)
    record = read_accept(made.path)
    for row in record.searches:
        if row.file:
            print(f"shortest {row.goal}: {made.path / row.file}", file=stream, flush=True)
    return record, _run_suite(made, spark_master, stream, argv)


def resume_accept(
    directory: str | Path,
    *,
    budget_s: float | None = None,
    spark_master: str = LOCAL_SPARK,
    progress: TextIO | None = None,
    argv: Sequence[str] = (),
) -> "tuple[AcceptRecord, FinishedSuite]":
    """Go on with an acceptance that was stopped. Raises RunDirectoryError, HistoryError."""
    from harness.campaign.accept.record import read_accept

    record = read_accept(Path(directory))
    suite = resume_suite(
        directory, budget_s=budget_s, spark_master=spark_master, progress=progress, argv=argv
    )
    return record, suite


def promised_matrix(*, sets: Sequence[str] = ()) -> "MatrixRecord":
    """The promise of each cell of the matrix, and what the simulated Kafka does in it: nothing is started."""
    from harness.campaign.accept.matrix.matrix import matrix

    return matrix(_of_all_cells(sets)).record


def accept_matrix(
    *,
    sets: Sequence[str] = (),
    seed: int | None = None,
    budget_s: float | None = None,
    search_s: float | None = None,
    out: str | Path = "runs",
    spark_master: str = LOCAL_SPARK,
    progress: TextIO | None = None,
    argv: Sequence[str] = (),
) -> "tuple[MatrixRecord, FinishedSuite]":
    """Run three schedules in each cell of the matrix, and the shortest that a search of at most `search_s`
    seconds finds to lose something there (None: the search's own limit; 0: no search); `sets` change what
    all cells have in common. Searches that have ended are kept below `out` until the runs begin: after an
    interruption they are not made again.
    """
    from harness.campaign.accept.matrix.matrix import matrix, planned_matrix, read_matrix
    from harness.campaign.accept.search.kept_searches import KeptSearches
    from harness.campaign.accept.search.searches import SharedSearches

    _require_linux()
    stream = progress or sys.stderr
    base, limit_s = _of_all_cells(sets), _search_limit_s(search_s, stream)
    _make(Path(out))
    kept = KeptSearches(Path(out))
    shared = SharedSearches(time_limit_s=limit_s, on_result=_printed(stream), kept=kept) if limit_s else None
    its = matrix(base, search=shared)
    made = planned_matrix(its, out=Path(out), seed=seed, budget_s=budget_s or LONGEST_S)
    kept.forget()
    return read_matrix(made.path), _run_suite(made, spark_master, stream, argv)


def resume_matrix(
    directory: str | Path,
    *,
    budget_s: float | None = None,
    spark_master: str = LOCAL_SPARK,
    progress: TextIO | None = None,
    argv: Sequence[str] = (),
) -> "tuple[MatrixRecord, FinishedSuite]":
    """Go on with a matrix that was stopped. Raises RunDirectoryError, HistoryError."""
    from harness.campaign.accept.matrix.matrix import read_matrix

    record = read_matrix(Path(directory))
    suite = resume_suite(
        directory, budget_s=budget_s, spark_master=spark_master, progress=progress, argv=argv
    )
    return record, suite


def upgrade(
    older: str,
    newer: str,
    *,
    only: Sequence[str] = (),
    sets: Sequence[str] = (),
    seed: int | None = None,
    budget_s: float | None = None,
    out: str | Path = "runs",
    spark_master: str = LOCAL_SPARK,
    progress: TextIO | None = None,
    argv: Sequence[str] = (),
) -> "tuple[UpgradeRecord, FinishedSuite]":
    """Show on real clusters what an upgrade of Kafka costs, and which way back there is.

    Every node goes from `older` to `newer` under load and faults; back again before anything is finalized;
    and after everything was finalized Kafka must refuse the way back. `only` are names of these phases: up,
    down, refused. `sets` are assignments for all scenarios. The directory is made below `out`: upgrade.json,
    upgrade.md, the scenario files, and the files of a suite. Raises UsageError, ScenarioError.
    """
    from harness.campaign.upgrade.pair import pair_of
    from harness.campaign.upgrade.upgrade import concluded, planned

    made = planned(
        pair_of(older, newer),
        only=only,
        sets=sets,
        out=Path(out),
        seed=seed,
        budget_s=budget_s or LONGEST_S,
    )
    suite = _run_suite(made, spark_master, progress or sys.stderr, argv)
    return concluded(made.path, suite), suite


def resume_upgrade(
    directory: str | Path,
    *,
    budget_s: float | None = None,
    spark_master: str = LOCAL_SPARK,
    progress: TextIO | None = None,
    argv: Sequence[str] = (),
) -> "tuple[UpgradeRecord, FinishedSuite]":
    """Go on with an upgrade that was stopped. Raises RunDirectoryError, HistoryError."""
    from harness.campaign.upgrade.record import read_upgrade
    from harness.campaign.upgrade.upgrade import concluded

    read_upgrade(Path(directory))
    suite = resume_suite(
        directory, budget_s=budget_s, spark_master=spark_master, progress=progress, argv=argv
    )
    return concluded(Path(directory), suite), suite


def _require_linux() -> None:
    """Before anything is made: the files of a run name its process, as only Linux does."""
    from compose.errors import MachineError
    from compose.host.system import require_linux

    try:
        require_linux()
    except MachineError as error:
        raise HighwaterError(str(error)) from None


def _make(out: Path) -> None:
    """Before minutes of searching: UsageError where nothing can be made."""
    from harness.run_directory.layout import making

    with making(out):
        out.mkdir(parents=True, exist_ok=True)


def _of_all_cells(sets: Sequence[str]) -> "AcceptFile":
    """What all cells of the matrix have in common."""
    from harness.campaign.accept.configuration.configuration_file import parse_common
    from harness.campaign.accept.matrix.matrix import NAME

    return parse_common(NAME, sets)


def _search_limit_s(asked_s: float | None, stream: TextIO) -> float:
    """The time limit of each search, which is said; 0: there are none."""
    from checkers.promises.search.search import TIME_LIMIT_S

    limit_s = TIME_LIMIT_S if asked_s is None else asked_s
    if limit_s > 0:
        print(f"searching, for at most {limit_s:g} s each", file=stream, flush=True)
    return limit_s


def _printed(stream: TextIO) -> "Callable[[Setup, SearchResult], None]":
    """Prints what each search comes to, as soon as it has, and of which configuration."""
    from harness.campaign.accept import page
    from harness.campaign.accept.search.searches import search_row

    def on_result(its: "Setup", result: "SearchResult") -> None:
        print(f"{its.asked.name}: {page.searched(search_row(its, result))}", file=stream, flush=True)

    return on_result


def _run_suite(
    opened: "OpenSuite", spark_master: str, progress: TextIO, argv: Sequence[str]
) -> "FinishedSuite":
    from harness.campaign.suites.loop import run_suite
    from harness.run.live.live_steps import LiveRunSteps

    entries = zip(opened.record.plan.scenarios, opened.record.sources, strict=True)
    scenarios = [resolve(its.text, its.filename, sets=entry.set, seed=0) for entry, its in entries]
    _prepare(_releases(scenarios), progress)
    print(f"suite {opened.record.name}, seed {opened.record.seed}: {opened.path}", file=progress, flush=True)
    with LiveRunSteps(spark_master) as steps:
        return run_suite(opened, steps, progress=progress, argv=argv)


def _clear(opened: "OpenSuite", out: TextIO) -> None:
    """Remove what the process has left that the suite was of before."""
    from compose.cleanup.cleanup import clean_run
    from compose.cleanup.leftovers import of_dead_process
    from compose.errors import ComposeError

    try:
        for run in of_dead_process(opened.before) if opened.before else ():
            print(f"removing what this suite had left: {run.in_words()}", file=out, flush=True)
            for why in clean_run(run.run_id).failed:
                print(f"  FAILED {why}", file=out, flush=True)
    except ComposeError:
        return  # the next run reports the same


def _releases(scenarios: Sequence[Resolved]) -> set[str]:
    """Every release that a cluster of these scenarios needs at some time."""
    return {release for each in scenarios for release in each.topology.every_release}


def _prepare(releases: Collection[str], out: TextIO) -> None:
    """Name what dead runs left, and pull or build what a release needs, before any live view."""
    from compose.cleanup.leftovers import of_dead_runs
    from compose.errors import ComposeError, EngineUnreachable
    from compose.setup.prepare import ensure_images

    def tell(text: object) -> None:
        print(text, file=out, flush=True)

    try:
        for run in of_dead_runs():
            tell(f"left by a dead {run.in_words()}; `highwater clean` removes it")
    except EngineUnreachable:
        return  # the run reports the same
    for release in sorted(releases):
        try:
            ensure_images(release, tell)
        except ComposeError as error:
            tell(error)
