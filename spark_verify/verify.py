"""The Spark verdict: `verify(history_dir, spark)` answers what
`checkers.reference.check(load(history_dir))` would.

    plan      driver    every footer, the proofs and samples; one unit for each partition
    scan      workers   pass 1: each partition in one reading; counts, and what is suspicious (scan.py)
    reuse     both      no id belongs to two sends (reuse.py)
    recall    workers   pass 2, only if something is suspicious: its rows from all partitions (recall.py)
    classify  driver    the reference rules decide on those rows (apply_rules.py)

Several histories can be verified in the same jobs; they share nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from checkers.history.tables import MalformedHistory
from checkers.judgement import Judgement
from spark_verify.kernels.ids import Ids
from spark_verify.partition_task import BATCH_ROWS, Unit
from spark_verify.passes import apply_rules, tally
from spark_verify.passes.duplicate_ids import find_reused, joined, words
from spark_verify.passes.fetch import NOTHING, NOWHERE, Rows, Wanted, recall
from spark_verify.passes.open_history import Plan, plan
from spark_verify.passes.scan import Findings, Scan, scan
from spark_verify.session.jobs import asking_spark, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A history after pass 1; `scans` are of the plan's units, in order."""

    plan: Plan
    scans: Sequence[Scan]

    @property
    def findings(self) -> list[Findings | None]:
        """What pass 1 left to be decided in each unit; None for undecided ones."""
        return [scan.findings for scan in self.scans]

    def suspects(self) -> Ids:
        """The suspicious ids of all partitions, each once."""
        return Ids.joined([found.ids for found in self.findings if found]).unique()


def verify(history_dir: Path, spark: "SparkSession") -> Judgement:
    """Judge one history; raises MalformedHistory, SessionFailed, WorkerFailed."""
    return verify_all([history_dir], spark)[0]


def verify_all(
    history_dirs: Sequence[Path], spark: "SparkSession", *, batch_rows: int = BATCH_ROWS
) -> list[Judgement]:
    """Judge several histories with as many jobs as one needs; raises as `verify`, if any of them is
    malformed."""
    cases = _scan([plan(each, batch_rows=batch_rows) for each in history_dirs], spark)
    _refuse_reused_ids(cases, spark)
    return [_judge(case, rows) for case, rows in zip(cases, _recall(cases, spark), strict=True)]


def _scan(plans: Sequence[Plan], spark: "SparkSession") -> list[_Case]:
    scans = iter(run(spark, scan, [unit for each in plans for unit in each.units], weight=_rows))
    return [_Case(plan=each, scans=[next(scans) for _ in each.units]) for each in plans]


def _refuse_reused_ids(cases: Sequence[_Case], spark: "SparkSession") -> None:
    """Pass 1 proves for nearly every producer that it used no id twice; the others' ids are compared."""
    doubtful = [(case, producers) for case in cases if (producers := _doubtful_producers(case))]
    items = [(unit, producers) for case, producers in doubtful for unit in case.plan.units]
    found = iter(run(spark, words, items, weight=lambda item: _rows(item[0])))
    for case, _ in doubtful:
        reused = find_reused([next(found) for _ in case.plan.units])
        if reused:
            raise MalformedHistory(
                case.plan.history_dir / "sends", f"two sends have the id {reused.producer}/{reused.sequence}"
            )


def _doubtful_producers(case: _Case) -> frozenset[int]:
    numbers = joined(scan.numbers for scan in case.scans)
    certain = any(scan.twice for scan in case.scans)
    return frozenset(producer for producer, its in numbers.items() if certain or not its.is_range())


def _recall(cases: Sequence[_Case], spark: "SparkSession") -> list[list[Rows]]:
    """The rows to decide on, of each unit of each case; no job at all if nothing is suspicious."""
    suspects = [case.suspects() for case in cases]
    wanted = {
        (at, place): Wanted(unit=unit, case=at, offsets=found.offsets if found else NOWHERE)
        for at, case in enumerate(cases)
        for place, (unit, found) in enumerate(zip(case.plan.units, case.findings, strict=True))
        if len(suspects[at]) or (found and found.offsets.size)
    }
    rows = dict(zip(wanted, _fetch(suspects, list(wanted.values()), spark), strict=True))
    return [
        [rows.get((at, place), NOTHING) for place in range(len(case.plan.units))]
        for at, case in enumerate(cases)
    ]


def _fetch(suspects: Sequence[Ids], wanted: Sequence[Wanted], spark: "SparkSession") -> list[Rows]:
    if not wanted:
        return []
    with asking_spark():
        shared = spark.sparkContext.broadcast(list(suspects))
        try:
            return run(spark, partial(recall, shared), wanted, weight=lambda item: _rows(item.unit))
        finally:
            shared.destroy()


def _judge(case: _Case, rows: Sequence[Rows]) -> Judgement:
    examined, undecided = tally.counts(case.plan, case.scans)
    return Judgement(
        examined=examined,
        undecided=undecided,
        anomalies=apply_rules.anomalies(case.plan, case.findings, rows),
        undecided_partitions=case.plan.undecided_partitions(),
        totals=tally.totals(case.scans),
    )


def _rows(unit: Unit) -> int:
    return unit.rows
