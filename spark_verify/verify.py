"""The Spark verdict: `verify(history_dir, spark)` answers what `checkers.reference.check(load(history_dir))`
would.

    open_history   driver   every footer, the proofs and samples; one task for each partition
    first_pass     workers  pass 1: each partition in one reading; counts, what it lost, suspicious ids
    duplicate_ids  both     no id belongs to two sends
    fetch          workers  pass 2, only if ids are suspicious: their rows from all partitions
    scan_replicas  workers  the replicas of each partition, if they were audited
    scan_transactions       the same of its transactions, if the load had any
    apply_rules    driver   the reference's rules by id decide on those rows; all anomalies together

Several histories can be verified in the same jobs; they share nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from checkers.errors import MalformedHistory
from checkers.history.records.transactions import PartitionShown
from checkers.judgement import Judgement
from checkers.places import Place, place_of
from checkers.properties import Property
from spark_verify.first_pass import Scanned, first_pass
from spark_verify.kernels.ids import Ids
from spark_verify.partition_task import BATCH_ROWS, PartitionTask
from spark_verify.passes import apply_rules, counts
from spark_verify.passes.by_id.fetch import NOTHING, Fetched, Wanted, fetch, together
from spark_verify.passes.duplicate_ids import added, find_duplicate, id_words
from spark_verify.passes.open_history import OpenedHistory, open_history
from spark_verify.passes.partition.scan import Scan, Suspects
from spark_verify.passes.partition.transactions import TransactionTask, scan_transactions
from spark_verify.passes.parts.cut import Cutting
from spark_verify.passes.replicas.scan_replicas import ReplicaScan, ReplicaTask, scan_replicas
from spark_verify.session.jobs import run, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scanned:
    """A history after pass 1; `scanned` are its partitions, in order, `replicas` of its replica tasks, and
    `shown` of its transaction tasks."""

    opened: OpenedHistory
    scanned: Sequence[Scanned]
    replicas: Sequence[ReplicaScan]
    shown: Sequence[PartitionShown]

    @property
    def scans(self) -> list[Scan]:
        """Of its tasks, in order."""
        return [each.scan for each in self.scanned]

    @property
    def suspects(self) -> list[Suspects | None]:
        """What pass 1 left to be decided in each partition; None for undecided ones."""
        return [scan.suspects for scan in self.scans]

    def suspect_ids(self) -> Ids:
        """The suspicious ids of all partitions, each once."""
        return Ids.joined([found.ids for found in self.suspects if found]).unique()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A history, and how it is read, on which the answer does not depend."""

    history_dir: Place | str
    batch_rows: int = BATCH_ROWS
    cutting: Cutting | None = None
    """None: as memory and cores demand."""


def verify(history_dir: Place | str, spark: "SparkSession") -> Judgement:
    """Judge one history, in a directory or at a URI; raises MalformedHistory, SessionFailed, WorkerFailed."""
    return verify_all([history_dir], spark)[0]


def verify_all(
    history_dirs: Sequence[Place | str],
    spark: "SparkSession",
    *,
    batch_rows: int = BATCH_ROWS,
    cutting: Cutting | None = None,
) -> list[Judgement]:
    """Judge several histories with as many jobs as one needs; raises as `verify`, if any of them is
    malformed. The answer does not depend on `batch_rows` and `cutting`."""
    return verify_each(
        [Asked(history_dir=each, batch_rows=batch_rows, cutting=cutting) for each in history_dirs], spark
    )


def verify_each(asked: Sequence[Asked], spark: "SparkSession") -> list[Judgement]:
    """The same, each history read in its own way."""
    opened = [open_history(place_of(each.history_dir), batch_rows=each.batch_rows) for each in asked]
    cases = _scan(opened, spark, [each.cutting for each in asked])
    _refuse_duplicate_ids(cases, spark)
    return [_judge(case, rows) for case, rows in zip(cases, _fetch(cases, spark), strict=True)]


def _scan(
    histories: Sequence[OpenedHistory], spark: "SparkSession", cuttings: Sequence[Cutting | None]
) -> list[_Scanned]:
    tasks = [
        (task, cutting) for each, cutting in zip(histories, cuttings, strict=True) for task in each.tasks
    ]
    scanned = iter(first_pass(tasks, spark))
    replica_tasks = [task for each in histories for task in each.replica_tasks]
    replicas = iter(run(spark, scan_replicas, replica_tasks, weight=_replica_rows))
    transaction_tasks = [task for each in histories for task in each.transaction_tasks]
    shown = iter(run(spark, scan_transactions, transaction_tasks, weight=_transaction_rows))
    return [
        _Scanned(
            opened=each,
            scanned=[next(scanned) for _ in each.tasks],
            replicas=[next(replicas) for _ in each.replica_tasks],
            shown=[next(shown) for _ in each.transaction_tasks],
        )
        for each in histories
    ]


def _refuse_duplicate_ids(cases: Sequence[_Scanned], spark: "SparkSession") -> None:
    """Pass 1 proves for nearly every producer that it used no id twice; the others' ids are compared."""
    doubtful = [(case, producers) for case in cases if (producers := _doubtful_producers(case))]
    asked = [[(part, its) for each in case.scanned for part in each.parts] for case, its in doubtful]
    items = [item for its in asked for item in its]
    words = iter(run(spark, id_words, items, weight=lambda item: _rows(item[0])))
    for (case, _), its in zip(doubtful, asked, strict=True):
        duplicate = find_duplicate([next(words) for _ in its])
        if duplicate:
            raise MalformedHistory(
                case.opened.history_dir / "sends",
                f"two sends have the id {duplicate.producer}/{duplicate.sequence}",
            )


def _doubtful_producers(case: _Scanned) -> frozenset[int]:
    sums = added(scan.sums for scan in case.scans)
    certain = any(scan.duplicate_acks for scan in case.scans)
    return frozenset(producer for producer, its in sums.items() if certain or not its.is_range())


def _fetch(cases: Sequence[_Scanned], spark: "SparkSession") -> list[list[Fetched]]:
    """The rows to decide on, of each task of each case; no job at all if nothing is suspicious."""
    suspect_ids = [case.suspect_ids() for case in cases]
    wanted = [
        Wanted(task=part, case=at)
        for at, case in enumerate(cases)
        for each in case.scanned
        for part in each.parts
        if len(suspect_ids[at])
    ]
    rows = iter(_fetch_all(suspect_ids, wanted, spark))
    return [
        [
            together([next(rows) for _ in each.parts]) if len(suspect_ids[at]) else NOTHING
            for each in case.scanned
        ]
        for at, case in enumerate(cases)
    ]


def _fetch_all(suspect_ids: Sequence[Ids], wanted: Sequence[Wanted], spark: "SparkSession") -> list[Fetched]:
    if not wanted:
        return []
    with spark_errors():
        shared = spark.sparkContext.broadcast(list(suspect_ids))
        try:
            return run(spark, partial(fetch, shared), wanted, weight=lambda item: _rows(item.task))
        finally:
            shared.destroy()


def _judge(case: _Scanned, fetched: Sequence[Fetched]) -> Judgement:
    examined, undecided = counts.examined_and_undecided(case.opened, case.scans, case.replicas)
    counting = apply_rules.counting(case.opened, case.scans, case.shown)
    return Judgement(
        examined=examined | {each: result.examined for each, result in counting.items()},
        undecided=undecided | {each: result.undecided for each, result in counting.items()},
        anomalies=apply_rules.anomalies(case.opened, case.suspects, fetched, counting, case.replicas),
        undecided_partitions=case.opened.undecided_partitions(),
        totals=counts.totals(case.scans),
        attempts=counts.attempts(case.scans),
        doubtful_acks=counting[Property.ACK_CONTRACT].doubtful,
    )


def _rows(task: PartitionTask) -> int:
    return task.rows


def _replica_rows(task: ReplicaTask) -> int:
    return task.rows


def _transaction_rows(task: TransactionTask) -> int:
    return task.partition.rows
