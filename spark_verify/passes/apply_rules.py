"""The last step, on the driver: one rule for each property decides on what the two passes brought.

Most properties are decided by the reference rule on the fetched rows: those are a subset on which the rule
gives the same answer as on the whole history (each rule's docstring names its subsets). Three rules need the
whole of a partition: pass 1 has decided offset-gap and monotone-read, and has reduced hw-loss below a sampled
high watermark to the holes of the log; here they only get their notes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from checkers.anomalies import Anomalies, Anomaly
from checkers.history.rows import LogRecord, Read, Send
from checkers.history.tables import NONE, Outcome
from checkers.properties import DECIDED, Property
from checkers.reference import durability, high_watermark, order, presence, reads
from checkers.reference.facts import Facts, Rule
from spark_verify.kernels.reads import SKIP_COLUMNS
from spark_verify.partition_task import PartitionTask, Window
from spark_verify.passes.fetch import Fetched
from spark_verify.passes.open_history import OpenedHistory
from spark_verify.passes.scan import Suspects


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the two passes brought of one history: all that the rules decide on."""

    facts: Facts
    """The fetched rows, with all proofs and the samples."""
    decided: Sequence[tuple[PartitionTask, Window, Suspects]]
    """Each decided partition."""


def anomalies(
    opened: OpenedHistory, suspects: Sequence[Suspects | None], fetched: Sequence[Fetched]
) -> Anomalies:
    """All anomalies of a history, by property; `suspects` and `fetched` belong to the tasks, in order."""
    case = Case(
        facts=_facts(opened, fetched),
        decided=[
            (task, task.window, found)
            for task, found in zip(opened.tasks, suspects, strict=True)
            if task.window and found
        ],
    )
    return Anomalies.of(anomaly for each in DECIDED for anomaly in RULES[each](case))


def _facts(opened: OpenedHistory, fetched: Sequence[Fetched]) -> Facts:
    parts = list(zip(opened.tasks, fetched, strict=True))
    return Facts(
        sends=[_send(**row) for task, its in parts for row in _plain(task, its.sends)],
        final_log=[LogRecord(**row) for task, its in parts for row in _plain(task, its.final_log)],
        reads=[Read(**row) for task, its in parts for row in _plain(task, its.reads)],
        watermarks=opened.watermarks,
        proofs=opened.proofs,
    )


def _plain(task: PartitionTask, table: pa.Table) -> Iterator[dict[str, Any]]:
    names = [*table.column_names, "topic", "partition"]
    for values in zip(*(column.to_pylist() for column in table.columns), strict=True):
        yield dict(zip(names, (*values, task.topic, task.partition), strict=True))


def _send(*, outcome: int, **columns: Any) -> Send:  # noqa: ANN401 - the columns of the table
    return Send(outcome=Outcome(outcome), **columns)


def _on_fetched(rule: Rule) -> Callable[[Case], Iterable[Anomaly]]:
    """A reference rule for which the fetched rows are a subset with the right answer."""
    return lambda case: rule(case.facts)


def _hw_loss(case: Case) -> Iterator[Anomaly]:
    """Losses that a read or an ack witnesses, then offsets that are empty though a sample was above them."""
    witnessed = list(high_watermark.hw_loss_witnessed(case.facts))
    yield from witnessed
    named = {(a.topic, a.partition, a.offset) for a in witnessed}
    for task, window, found in case.decided:
        note = f"the high watermark was {task.highest} once, nothing is at offset {{}} now"
        for first, end in found.holes.tolist():
            for offset in range(first, min(end, task.highest)):
                unread = window.high_watermark <= offset < window.log_end
                if not unread and (*task.tp, offset) not in named:
                    yield _at(Property.HW_LOSS, task, offset, note=note.format(offset))


def _offset_gap(case: Case) -> Iterator[Anomaly]:
    for task, window, found in case.decided:
        note = f"nothing is at offset {{}}, the high watermark is {window.high_watermark}"
        for first in found.holes[:, 0].tolist():
            if first < window.high_watermark:
                yield _at(Property.OFFSET_GAP, task, first, note=note.format(first))


def _monotone_read(case: Case) -> Iterator[Anomaly]:
    for task, _, found in case.decided:
        columns = (found.skips[name].tolist() for name in SKIP_COLUMNS)
        for reader, generation, before, offset, read_ns in zip(*columns, strict=True):
            yield _at(
                Property.MONOTONE_READ,
                task,
                offset,
                producer=reader,
                sequence=generation,
                completed_ns=read_ns,
                note=f"reader {reader} was given offset {before}, then {offset}",
            )


def _at(
    wanted: Property,
    task: PartitionTask,
    offset: int,
    *,
    producer: int = NONE,
    sequence: int = NONE,
    completed_ns: int = NONE,
    note: str,
) -> Anomaly:
    return Anomaly(
        property=wanted,
        topic=task.topic,
        partition=task.partition,
        offset=offset,
        producer=producer,
        sequence=sequence,
        completed_ns=completed_ns,
        note=note,
    )


RULES: Mapping[Property, Callable[[Case], Iterable[Anomaly]]] = MappingProxyType(
    {
        Property.ACKED_LOSS: _on_fetched(durability.acked_loss),
        Property.HW_LOSS: _hw_loss,
        Property.ACK_OFFSET: _on_fetched(durability.ack_offset),
        Property.CONTENT: _on_fetched(durability.content),
        Property.UNKNOWN_OFFSET_ACK: _on_fetched(durability.unknown_offset_ack),
        Property.DUPLICATE: _on_fetched(order.duplicate),
        Property.PRODUCER_ORDER: _on_fetched(order.producer_order),
        Property.REAL_TIME_ORDER: _on_fetched(order.real_time_order),
        Property.RESURRECTED: _on_fetched(durability.resurrected),
        Property.PHANTOM: _on_fetched(presence.phantom),
        Property.OFFSET_GAP: _offset_gap,
        Property.READ_UNCOMMITTED: _on_fetched(high_watermark.read_uncommitted),
        Property.MONOTONE_READ: _monotone_read,
        Property.SAME_FOR_ALL: _on_fetched(reads.same_for_all),
    }
)
"""The rule of each decided property."""
