"""The last step, on the driver: the anomalies that pass 1 has decided, and those of the rules by id.

What one partition shows by itself (losses, holes, what readers were given) comes from the workers in blocks;
only the sends that readers' records had in other partitions are added here, as evidence. All other properties
are decided by the reference rule on the fetched rows: those are a subset on which the rule gives the same
answer as on the whole history (each rule's docstring names its subsets).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from checkers.anomalies import Anomalies, Anomaly, AnomalyBlock
from checkers.history.records.transactions import PartitionShown
from checkers.history.rows import LogRecord, Send, TopicPartition
from checkers.history.tables import Outcome
from checkers.properties import DECIDED, Property
from checkers.reference import durability, order, presence
from checkers.reference.control_plane.rule_result import RuleResult
from checkers.reference.control_plane.rules import RULES as SMALL_TABLES
from checkers.reference.facts import Facts, Rule
from checkers.reference.transactions import rules as transactions
from spark_verify.partition_task import PartitionTask
from spark_verify.passes.by_id.fetch import Fetched
from spark_verify.passes.by_id.orphans import with_senders
from spark_verify.passes.control_plane import early_reads, fallen_watermarks, unbacked
from spark_verify.passes.open_history import OpenedHistory
from spark_verify.passes.partition.scan import Scan, Suspects
from spark_verify.passes.replicas import replica_rules
from spark_verify.passes.replicas.scan_replicas import ReplicaScan


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the two passes brought of one history: all that is decided on here."""

    facts: Facts
    """The fetched rows, with all proofs."""
    blocks: Sequence[AnomalyBlock]
    """What pass 1 has decided, by partition."""
    replicas: Sequence[tuple[TopicPartition, ReplicaScan]] = ()
    """What was found in the replicas of each partition."""


def anomalies(
    opened: OpenedHistory,
    suspects: Sequence[Suspects | None],
    fetched: Sequence[Fetched],
    counting: Mapping[Property, RuleResult],
    replicas: Sequence[ReplicaScan] = (),
) -> Anomalies:
    """All anomalies of a history, by property; `suspects` and `fetched` belong to the tasks, in order.

    `counting` is what the function of this name returned.
    """
    found = [each for each in suspects if each]
    case = Case(
        facts=_facts(opened, fetched),
        blocks=with_senders(found, fetched),
        replicas=[
            (task.partition.tp, scan) for task, scan in zip(opened.replica_tasks, replicas, strict=True)
        ],
    )
    found_of = {each: tuple(rule(case)) for each, rule in RULES.items()}
    found_of |= {each: _blocks(result.anomalies) for each, result in counting.items()}
    found_of[Property.HW_MONOTONE] = tuple(fallen_watermarks(opened.context))
    return Anomalies(block for each in DECIDED for block in found_of[each])


def _blocks(anomalies: Sequence[Anomaly]) -> tuple[AnomalyBlock, ...]:
    return anomalies.blocks if isinstance(anomalies, Anomalies) else Anomalies.of(anomalies).blocks


def counting(
    opened: OpenedHistory, scans: Sequence[Scan], shown: Sequence[PartitionShown]
) -> dict[Property, RuleResult]:
    """What the rules decide that count for themselves: those of the control plane and of transactions.

    `scans` belong to the tasks, in order, and `shown` to the tasks of transactions.
    """
    return _control_plane(opened, scans) | transactions.results(opened.context, shown)


def _control_plane(opened: OpenedHistory, scans: Sequence[Scan]) -> dict[Property, RuleResult]:
    scanned = list(zip((task.tp for task in opened.tasks), scans, strict=True))
    acks = [(tp, scan.backed) for tp, scan in scanned if scan.backed]
    contract = RuleResult(
        anomalies=Anomalies(unbacked(opened.context, acks)),
        examined=sum(found.examined for _, found in acks),
        undecided=sum(found.undecided for _, found in acks),
        doubtful=sum(found.doubtful for _, found in acks),
    )
    reads = [(tp, scan.before) for tp, scan in scanned if scan.before]
    proven = [task.tp for task in opened.tasks if task.window]
    early = early_reads(opened.read_limits, proven, reads)
    shared = {each: rule(opened.context) for each, rule in SMALL_TABLES.items()}
    return {Property.ACK_CONTRACT: contract, Property.EARLY_READ: early} | shared


def _facts(opened: OpenedHistory, fetched: Sequence[Fetched]) -> Facts:
    parts = list(zip(opened.tasks, fetched, strict=True))
    return Facts(
        sends=[_send(**row) for task, its in parts for row in _plain(task, its.sends)],
        final_log=[LogRecord(**row) for task, its in parts for row in _plain(task, its.final_log)],
        proofs=opened.proofs,
        producers=opened.context.producers,
    )


def _plain(task: PartitionTask, table: pa.Table) -> Iterator[dict[str, Any]]:
    names = [*table.column_names, "topic", "partition"]
    for values in zip(*(column.to_pylist() for column in table.columns), strict=True):
        yield dict(zip(names, (*values, task.topic, task.partition), strict=True))


def _send(*, outcome: int, **columns: Any) -> Send:  # noqa: ANN401 - the columns of the table
    return Send(outcome=Outcome(outcome), **columns)


def _of_pass_1(wanted: Property) -> Callable[[Case], Iterable[AnomalyBlock]]:
    """What the workers have decided."""
    return lambda case: (block for block in case.blocks if block.property is wanted)


def _on_fetched(rule: Rule) -> Callable[[Case], Iterable[AnomalyBlock]]:
    """A reference rule for which the fetched rows are a subset with the right answer."""
    return lambda case: Anomalies.of(rule(case.facts)).blocks


def _of_replicas(wanted: Property) -> Callable[[Case], Iterable[AnomalyBlock]]:
    """A rule about replicas: the workers have decided, each on one partition."""
    return lambda case: Anomalies.of(replica_rules.anomalies(wanted, case.replicas)).blocks


RULES: Mapping[Property, Callable[[Case], Iterable[AnomalyBlock]]] = MappingProxyType(
    {
        Property.ACKED_LOSS: _of_pass_1(Property.ACKED_LOSS),
        Property.HW_LOSS: _of_pass_1(Property.HW_LOSS),
        Property.ACK_OFFSET: _on_fetched(durability.ack_offset),
        Property.CONTENT: _on_fetched(durability.content),
        Property.UNKNOWN_OFFSET_ACK: _of_pass_1(Property.UNKNOWN_OFFSET_ACK),
        Property.DUPLICATE: _on_fetched(order.duplicate),
        Property.PRODUCER_ORDER: _on_fetched(order.producer_order),
        Property.REAL_TIME_ORDER: _on_fetched(order.real_time_order),
        Property.RESURRECTED: _on_fetched(durability.resurrected),
        Property.PHANTOM: _on_fetched(presence.phantom),
        Property.OFFSET_GAP: _of_pass_1(Property.OFFSET_GAP),
        Property.READ_UNCOMMITTED: _of_pass_1(Property.READ_UNCOMMITTED),
        Property.MONOTONE_READ: _of_pass_1(Property.MONOTONE_READ),
        Property.SAME_FOR_ALL: _of_pass_1(Property.SAME_FOR_ALL),
        **{each: _of_replicas(each) for each in replica_rules.WORDS},
    }
)
"""The rule of each decided property that is decided on fetched rows."""
