"""Pass 1 over all partitions of some histories: large ones in parts, the others each as a whole.

cut         driver, workers   which parts; of large partitions only, and one short job at most
scan        workers           each part or partition in one reading
join_parts  driver, workers   the parts of a partition together; more jobs only if a part needs another
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_verify.partition_task import PartitionTask
from spark_verify.passes.partition.scan import Scan, scan
from spark_verify.passes.parts import cut, join_parts
from spark_verify.passes.parts.cut import Cutting
from spark_verify.passes.parts.join_parts import Joined
from spark_verify.session.jobs import cores, run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """A partition after pass 1."""

    scan: Scan
    parts: Sequence[PartitionTask]
    """What to read of it, and how: the whole as one task, or its parts."""


def first_pass(tasks: Sequence[tuple[PartitionTask, Cutting | None]], spark: "SparkSession") -> list[Scanned]:
    """The scan of each partition, in order; raises MalformedHistory, SessionFailed, WorkerFailed.

    How it is cut: None is as large parts as memory allows, and as small ones as occupy all cores.
    """
    usual = Cutting.for_cores(cores(spark), sum(task.rows for task, _ in tasks))
    plans = _plans([(task, cutting or usual) for task, cutting in tasks], spark)
    scans = iter(run(spark, scan, [part for plan in plans for part in plan.parts], weight=_rows))
    scanned = [(plan, [next(scans) for _ in plan.parts]) for plan in plans]
    whole = iter(_joined([each for each in scanned if len(each[1]) > 1], spark))
    return [Scanned(scan=its[0] if len(its) == 1 else next(whole), parts=plan.parts) for plan, its in scanned]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """How a partition is read; `groups` are the row groups of its files if it has several parts."""

    task: PartitionTask
    parts: Sequence[PartitionTask]
    groups: "Mapping[str, cut.Groups]"


def _plans(tasks: Sequence[tuple[PartitionTask, Cutting]], spark: "SparkSession") -> list[_Plan]:
    large = {at: cut.footers(task) for at, (task, cutting) in enumerate(tasks) if cutting.is_large(task)}
    asked = {at: cut.surveys(tasks[at][0], groups) for at, groups in large.items() if groups}
    surveyed = iter(
        run(spark, cut.survey, [each for its in asked.values() for each in its], weight=lambda s: s.rows)
    )
    plans = []
    for at, (task, cutting) in enumerate(tasks):
        groups = large.get(at)
        if groups:
            groups = cut.with_surveys(groups, asked[at], [next(surveyed) for _ in asked[at]])
        parts = cut.parts(task, groups, cutting) if groups else [task]
        plans.append(_Plan(task=task, parts=parts, groups=groups or {}))
    return plans


def _joined(scanned: Sequence[tuple[_Plan, Sequence[Scan]]], spark: "SparkSession") -> list[Scan]:
    """The scans of the partitions that were cut."""
    found = _looked_up([_join(plan, scans) for plan, scans in scanned], spark)
    matched = [join_parts.matched_ids(each) for each in found]
    again = [join_parts.below(each, its) if its else [] for each, its in zip(found, matched, strict=True)]
    items = [part for its in again for part in its]
    offenders = iter(run(spark, join_parts.order_again, items, weight=lambda item: item.task.rows))
    return [
        join_parts.finish(each, its, [next(offenders) for _ in parts])
        for each, its, parts in zip(found, matched, again, strict=True)
    ]


def _join(plan: _Plan, scans: Sequence[Scan]) -> Joined:
    joined = join_parts.join(plan.task, plan.parts, scans)
    cut.check_rows(plan.task, plan.groups, join_parts.rows_read(joined))
    return joined


def _looked_up(joined: Sequence[Joined], spark: "SparkSession") -> list[Joined]:
    wanted = [each.unresolved() for each in joined]
    asked = [
        [(part, ids) for part in each.parts] if len(ids) else []
        for each, ids in zip(joined, wanted, strict=True)
    ]
    items = [item for its in asked for item in its]
    found = iter(run(spark, join_parts.look_up, items, weight=lambda item: item[0].rows))
    return [
        each.with_placed([next(found) for _ in its]) if its else each
        for each, its in zip(joined, asked, strict=True)
    ]


def _rows(task: PartitionTask) -> int:
    return task.rows
