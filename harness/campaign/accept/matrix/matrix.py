"""The matrix: acks × min.insync.replicas × replicas × unclean election, each cell's promise against what
runs show.

Each cell meets the same three schedules, and the shortest one by which a search loses something in it. What
a run must show is what the simulated Kafka did; whether that may be is the promise. The runs are those of a
suite, so a matrix is resumed like one.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pydantic import Field

from checkers.promises.clauses import clauses
from checkers.promises.configuration import Configuration
from checkers.promises.matrix import Cell, cells, promise_of
from checkers.promises.search import Goal, Kind, Schedule, SearchResult, Trial, causes_of
from checkers.promises.search.schedules import AFTER_S, Timed
from checkers.verdict.algebra import Verdict, worst
from harness.campaign.accept.configuration.configuration_file import AcceptFile
from harness.campaign.accept.proofs import MISSED_S
from harness.campaign.accept.record import SearchRow, Status, agreement_of, named, with_runs
from harness.campaign.accept.scenarios import ONE_IN_FLIGHT, Loss, Setup, duration, setup
from harness.campaign.accept.search.counterexamples import BROKERS, steps, stops_writes
from harness.campaign.accept.search.searches import scenario_of, search_row
from harness.campaign.suites.directory import Suite
from harness.campaign.suites.files.json_record import read_json_record
from harness.campaign.suites.files.record import RunRow, SuiteRecord
from harness.campaign.suites.made import judged_entries, suite_of
from harness.run_directory.layout import write_whole
from harness.run_directory.manifest import ManifestPart
from harness.scenario.model import Scenario

FILE = "matrix.json"
NAME = "matrix"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One schedule that every cell meets; `schedule` of the time after which who is gone is surely missed."""

    name: str
    goal: Goal
    schedule: Callable[[float], Schedule]


COLUMNS = (
    Column(
        name="leader-dies",
        goal="loss",
        schedule=lambda later_s: (
            Timed(kind=Kind.ALONE, node=1),
            Timed(kind=Kind.KILL, node=1, after_s=2.0),
        ),
    ),
    Column(
        name="alone-and-powerless",
        goal="loss",
        schedule=lambda later_s: (
            Timed(kind=Kind.ALONE, node=1),
            Timed(kind=Kind.POWER_LOSS, node=1, after_s=later_s),
        ),
    ),
    Column(
        name="one-away",
        goal="unavailability",
        schedule=lambda later_s: (Timed(kind=Kind.KILL, node=1),),
    ),
)
"""Before its followers had fetched; after they had left the ISR; and what a single broker stops."""


NOTHING_PROMISED = "nothing-promised"
SEARCHED = "searched"
"""The name of the schedule that was found for the cell alone."""


class Observed(ManifestPart):
    """One schedule in one cell."""

    column: str
    shows: str = Field(description="what the run must show: the simulated Kafka did")
    causes: tuple[str, ...] = Field(default=(), description="by which the simulated Kafka lost something")
    kinds: tuple[str, ...] = Field(default=(), description="what its faults do to a broker")
    loses: bool = Field(
        default=False, description="whether its run must lose something, by one of its causes"
    )
    entry: int = Field(description="the place of its scenario in the suite")


class CellRow(ManifestPart):
    """One cell."""

    name: str
    promise: str
    may_lose: tuple[str, ...] = Field(default=(), description="the clauses of its losses")
    causes: Mapping[str, tuple[str, ...]] = Field(default={}, description="that each of them names")
    unseen: tuple[str, ...] = Field(
        default=(), description="of them, those by which the simulated Kafka loses in no schedule"
    )
    spare: int = Field(default=0, description="how many replicas may be away while it takes writes")
    search: SearchRow | None = Field(default=None, description="the search for its shortest loss")
    observed: tuple[Observed, ...]


class MatrixRecord(ManifestPart):
    """The whole file."""

    schema_version: int = SCHEMA_VERSION
    tool_version: str
    release: str
    cells: tuple[CellRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """All cells, and the scenarios in the order of the suite."""

    record: MatrixRecord
    scenarios: tuple[Scenario, ...]


def matrix(
    base: AcceptFile,
    only: Callable[[Cell], bool] = lambda cell: True,
    search: Callable[[Setup], SearchResult] | None = None,
) -> Matrix:
    """The promise of each cell, what each schedule must show in it, and the scenario of each; with `search`,
    which finds the shortest loss of a configuration, its counterexample too.
    """
    rows: list[CellRow] = []
    scenarios: list[Scenario] = []
    for cell in filter(only, cells()):
        row, its = _cell(setup(_file(base, cell)), cell, len(scenarios), search)
        rows.append(row)
        scenarios += its
    record = MatrixRecord(tool_version=version("highwater"), release=base.cluster.kafka, cells=tuple(rows))
    return Matrix(record=record, scenarios=tuple(scenarios))


def _cell(
    its: Setup, cell: Cell, entry: int, search: Callable[[Setup], SearchResult] | None
) -> tuple[CellRow, list[Scenario]]:
    """A cell, and its scenarios; the first one has the place `entry` in the suite."""
    causes = {clause.id: clause.causes for clause in clauses(its.configuration) if clause.kind == "lost"}
    shown = [_shown(its, cell, column, entry + place) for place, column in enumerate(COLUMNS)]
    observed, scenarios = [each for each, _ in shown], [scenario for _, scenario in shown]
    row = None
    if search is not None and causes:
        result = search(its)
        place, scenario = _column_of(its, result, observed), scenario_of(its, result)
        if place is None and scenario is not None:
            place = len(scenarios)
            scenarios.append(scenario)
        if place is None:
            row = search_row(its, result)
        else:
            row = search_row(its, result, scenarios[place], entry + place)
            observed.append(_of_search(row, result))
    return CellRow(
        name=cell.name,
        promise=promise_of(its.configuration),
        may_lose=tuple(causes),
        causes=causes,
        unseen=unseen(causes, [(each.kinds, each.causes) for each in observed]),
        spare=its.configuration.spare,
        search=row,
        observed=tuple(observed),
    ), scenarios


def _column_of(its: Setup, result: SearchResult, observed: Sequence[Observed]) -> int | None:
    """The place of the column that has the very schedule that was found: one run of it is enough."""
    for place, (column, each) in enumerate(zip(COLUMNS, observed, strict=True)):
        if each.loses and result.found is not None and result.found.schedule == _schedule(its, column):
            return place
    return None


def _schedule(its: Setup, column: Column) -> Schedule:
    """As the search has it, which waits as long."""
    return column.schedule(its.times.fail_over_s + AFTER_S)


Shown = tuple[Collection[str], Collection[str]]
"""What the faults of a schedule do to a broker, and the causes of what is lost by it."""


def unseen(lost: Mapping[str, Collection[str]], shown: Iterable[Shown]) -> tuple[str, ...]:
    """The clauses, each with its causes, whose loss no schedule has shown. Where nothing is promised, one
    loss is like another; and that of a disk takes a disk that is lost.
    """
    if NOTHING_PROMISED in lost:
        return ()
    each = [*shown]
    seen = {name for name, causes in lost.items() for kinds, by in each if _shows(name, causes, kinds, by)}
    return tuple(name for name in lost if name not in seen)


def _shows(name: str, causes: Collection[str], kinds: Collection[str], by: Collection[str]) -> bool:
    return named(by, causes) and (name != "disk-loss" or Kind.DISK_LOSS in kinds)


def _of_search(row: SearchRow, result: SearchResult) -> Observed:
    assert result.found is not None, "only a schedule that was found is run"
    assert row.entry is not None, "a schedule that was found has a scenario"
    return Observed(
        column=SEARCHED,
        shows=f"loss by: {row.found}",
        causes=row.causes,
        kinds=_kinds(result.found.schedule),
        loses=True,
        entry=row.entry,
    )


def _kinds(schedule: Schedule) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(fault.kind) for fault in schedule))


def _file(base: AcceptFile, cell: Cell) -> AcceptFile:
    config = base.topic.config | {
        "min.insync.replicas": str(cell.min_isr),
        "unclean.leader.election.enable": str(cell.unclean).lower(),
    }
    topic = base.topic.model_copy(update={"replication": cell.replication, "config": config})
    idempotence = {} if cell.acks == "all" else {"enable.idempotence": "false"}
    producer = base.producer | {"acks": cell.acks} | idempotence
    return base.model_copy(update={"name": cell.name, "topic": topic, "producer": producer})


def _shown(its: Setup, cell: Cell, column: Column, entry: int) -> tuple[Observed, Scenario]:
    """What a run of a column must show, and its scenario."""
    schedule = _schedule(its, column)
    trial = Trial(configuration=its.configuration, goal=column.goal, times=its.times)
    tried = [*trial.of_each_seed(schedule)]
    always, ever = all(tried), any(tried)
    accept, require = _lines(its, always=always, ever=ever) if column.goal == "unavailability" else ([], [])
    loss = (
        _loss(always=always, ever=ever or cell.acks == "0")
        if column.goal == "loss"
        else _loss_of_a_kill(its.configuration)
    )
    scenario = its.scenario(
        column.name,
        f"{cell.name}: {promise_of(its.configuration)}.",
        steps(its, column.goal, schedule),
        brokers=BROKERS,
        loss=loss,
        client=ONE_IN_FLIGHT,
        accept=accept,
        require=require,
    )
    return Observed(
        column=column.name,
        shows=_words(column.goal, loss, [*accept, *require]),
        causes=causes_of(tried),
        kinds=_kinds(schedule),
        loses=column.goal == "loss" and loss == "permitted",
        entry=entry,
    ), scenario


def _words(goal: Goal, loss: Loss, lines: Sequence[str]) -> str:
    """What a run must show."""
    if goal == "unavailability":
        return lines[0] if lines else "any: writes stop under some seeds"
    return {"none": "no loss", "permitted": "loss", "any": "any"}[loss]


def _lines(its: Setup, *, always: bool, ever: bool) -> tuple[list[str], list[str]]:
    """That writes go on, which is a service to accept, or that they stop, which is required to be shown: a
    cluster on which they do not is none that fails.
    """
    if always:
        return [], [stops_writes(its)]
    return ([] if ever else [f"unavailable.max <= {duration(its.times.fail_over_s + MISSED_S)}"]), []


def _loss(*, always: bool, ever: bool) -> Loss:
    """What must be lost where the simulated Kafka always loses something, and may be where it ever does: with
    acks=0 whatever is on its way, which is a matter of luck.
    """
    return "permitted" if always else "any" if ever else "none"


def _loss_of_a_kill(configuration: Configuration) -> Loss:
    kept = configuration.acknowledged_by_all and not configuration.stale_may_lead
    return "none" if kept else "any"


def planned_matrix(its: Matrix, *, out: Path, seed: int | None, budget_s: float) -> Suite:
    """A directory with the suite of all runs, their scenario files and matrix.json. ScenarioError."""
    suite = suite_of(NAME, its.scenarios, out=out, seed=seed, budget_s=budget_s)
    write_whole(suite.path / FILE, its.record.model_dump_json(indent=2) + "\n")
    return suite


def exit_code(record: MatrixRecord, suite: SuiteRecord | None) -> int:
    """That of the signal or of the worst run; FAIL if the model loses by what no clause names, and UNKNOWN
    if a run that has passed has lost by other causes, or a search was cut short.
    """
    against = [Verdict.FAIL for row in record.cells if unnamed(row)]
    if suite is None:
        return worst(against).exit_code
    judged = judged_entries(suite)
    statuses = [observed_status(each, judged) for row in record.cells for each in row.observed]
    cut_short = any(row.search is not None and row.search.cut_short for row in record.cells)
    unknown = [Verdict.UNKNOWN] if cut_short or "not shown" in statuses else []
    return with_runs(suite, [*against, *unknown])


def unnamed(row: CellRow) -> tuple[str, ...]:
    """The causes by which the simulated Kafka loses in a cell, and that none of its clauses names."""
    allowed = {cause for causes in row.causes.values() for cause in causes}
    found = dict.fromkeys(cause for each in row.observed for cause in each.causes)
    return tuple(cause for cause in found if cause not in allowed)


def observed_status(each: Observed, judged: Mapping[int, RunRow]) -> Status:
    """What the run of a schedule shows."""
    return agreement_of(each.entry, judged, each.causes if each.loses else ())


def is_matrix(directory: Path) -> bool:
    """Whether the directory is that of a matrix."""
    return (directory / FILE).is_file()


def read_matrix(directory: Path) -> MatrixRecord:
    """The record of the matrix in `directory`. RunDirectoryError if there is none; HistoryError if
    damaged.
    """
    return read_json_record(directory / FILE, MatrixRecord, SCHEMA_VERSION, "a matrix")
