"""The matrix: acks × min.insync.replicas × replicas × unclean election, each cell's promise against what
runs show.

Each cell meets the same three schedules. What it must show in a run is what the simulated Kafka did under
it; whether that may be is the promise. The runs are those of a suite, so a matrix is resumed like one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import Field

from checkers.promises.configuration import Configuration
from checkers.promises.matrix import Cell, cells, promise_of
from checkers.promises.search.schedules import Kind, Schedule, Timed
from checkers.promises.search.search import Goal, try_schedule
from harness.campaign.accept.configuration_file import AcceptFile
from harness.campaign.accept.counterexamples import BROKERS, steps, stops_writes
from harness.campaign.accept.proofs import MISSED_S
from harness.campaign.accept.record import status_of
from harness.campaign.accept.scenarios import ONE_IN_FLIGHT, Loss, Setup, duration, setup
from harness.campaign.suites.directory import Suite
from harness.campaign.suites.json_record import read_json_record
from harness.campaign.suites.made import suite_of
from harness.campaign.suites.record import RunRow
from harness.run_directory.layout import write_whole
from harness.run_directory.manifest import ManifestPart
from harness.scenario.model import Scenario
from harness.terminal.columns import columns

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


class Observed(ManifestPart):
    """One schedule in one cell."""

    column: str
    shows: str = Field(description="what the run must show: the simulated Kafka did")
    entry: int = Field(description="the place of its scenario in the suite")


class CellRow(ManifestPart):
    """One cell."""

    name: str
    promise: str
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


def matrix(base: AcceptFile, only: Callable[[Cell], bool] = lambda cell: True) -> Matrix:
    """The promise of each cell, what each schedule must show in it, and the scenario of each."""
    rows: list[CellRow] = []
    scenarios: list[Scenario] = []
    for cell in filter(only, cells()):
        its = setup(_file(base, cell))
        found = [_shown(its, cell, column) for column in COLUMNS]
        observed = [
            Observed(column=column.name, shows=shows, entry=len(scenarios) + place)
            for place, (column, (shows, _)) in enumerate(zip(COLUMNS, found, strict=True))
        ]
        scenarios += [scenario for _, scenario in found]
        rows.append(CellRow(name=cell.name, promise=promise_of(its.configuration), observed=tuple(observed)))
    record = MatrixRecord(tool_version=version("highwater"), release=base.cluster.kafka, cells=tuple(rows))
    return Matrix(record=record, scenarios=tuple(scenarios))


def _file(base: AcceptFile, cell: Cell) -> AcceptFile:
    config = base.topic.config | {
        "min.insync.replicas": str(cell.min_isr),
        "unclean.leader.election.enable": str(cell.unclean).lower(),
    }
    topic = base.topic.model_copy(update={"replication": cell.replication, "config": config})
    idempotence = {} if cell.acks == "all" else {"enable.idempotence": "false"}
    producer = base.producer | {"acks": cell.acks} | idempotence
    return base.model_copy(update={"name": cell.name, "topic": topic, "producer": producer})


def _shown(its: Setup, cell: Cell, column: Column) -> tuple[str, Scenario]:
    """What a run of a column must show, and its scenario."""
    schedule = column.schedule(its.later_s)
    tried = try_schedule(its.configuration, column.goal, its.times, schedule)
    loss, accept = _expected(its, column.goal, always=all(tried), ever=any(tried))
    scenario = its.scenario(
        column.name,
        f"{cell.name}: {promise_of(its.configuration)}.",
        steps(schedule, its.times.fail_over_s),
        brokers=BROKERS,
        loss=loss,
        accept=accept,
        client=ONE_IN_FLIGHT,
        tail_s=20.0 if loss == "permitted" else 2.0,
    )
    return accept[0] if accept else {"none": "no loss", "permitted": "loss", "any": "any"}[loss], scenario


def _expected(its: Setup, goal: Goal, *, always: bool, ever: bool) -> tuple[Loss, list[str]]:
    if goal == "loss":
        return ("permitted" if always else "any" if ever else "none"), []
    if ever and not always:
        return "any", []
    going_on = f"unavailable.max <= {duration(its.times.fail_over_s + MISSED_S)}"
    return _loss_of_a_kill(its.configuration), [stops_writes(its) if always else going_on]


def _loss_of_a_kill(configuration: Configuration) -> Loss:
    return "none" if configuration.waits_for_all and not configuration.topic.unclean else "any"


def planned_matrix(its: Matrix, *, out: Path, seed: int | None, budget_s: float) -> Suite:
    """A directory with the suite of all runs, their scenario files and matrix.json. ScenarioError."""
    suite = suite_of(NAME, its.scenarios, out=out, seed=seed, budget_s=budget_s)
    write_whole(suite.path / FILE, its.record.model_dump_json(indent=2) + "\n")
    return suite


def is_matrix(directory: Path) -> bool:
    """Whether the directory is that of a matrix."""
    return (directory / FILE).is_file()


def read_matrix(directory: Path) -> MatrixRecord:
    """The record of the matrix in `directory`. RunDirectoryError if there is none; HistoryError if
    damaged.
    """
    return read_json_record(directory / FILE, MatrixRecord, SCHEMA_VERSION, "a matrix")


def table(record: MatrixRecord, judged: Mapping[int, RunRow] | None = None) -> str:
    """A line for each cell: its promise, and of each schedule what must be shown and, if it was run, whether
    it was.
    """
    heads = ("cell", "promise", *(column.name for column in COLUMNS))
    rows: list[Sequence[str]] = [heads, *(_cells(row, judged) for row in record.cells)]
    return "\n".join([f"Kafka {record.release}", *columns(rows)])


def _cells(row: CellRow, judged: Mapping[int, RunRow] | None) -> Sequence[str]:
    return row.name, row.promise, *(_words(each, judged) for each in row.observed)


def _words(each: Observed, judged: Mapping[int, RunRow] | None) -> str:
    return each.shows if judged is None else f"{each.shows}: {status_of(each.entry, judged)}"


def as_json(record: MatrixRecord, judged: Mapping[int, RunRow]) -> dict[str, Any]:
    """matrix.json with the status of each run."""
    document = record.model_dump(mode="json")
    for each in _every_observed(document):
        each["status"] = status_of(each["entry"], judged)
    return document


def _every_observed(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for row in document["cells"]:
        yield from row["observed"]
