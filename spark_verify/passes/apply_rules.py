"""Pass 2, on the driver: the reference rules decide on the rows that were fetched.

Three rules need the whole of a partition: those pass 1 has decided (offset-gap, monotone-read) or
reduced to the holes of the log (the losses below a sampled high watermark that nobody witnessed), and
here they only get their words.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from checkers.history.rows import LogRecord, Read, Send
from checkers.history.tables import NONE, Outcome
from checkers.judgement import Anomaly, Property
from checkers.reference.check import RULES
from checkers.reference.facts import Facts
from checkers.reference.high_watermark import hw_loss_witnessed
from spark_verify.kernels.reads import SKIP_COLUMNS
from spark_verify.partition_task import Unit, Window
from spark_verify.passes.fetch import Rows
from spark_verify.passes.open_history import Plan
from spark_verify.passes.scan import Findings


def anomalies(plan: Plan, findings: Sequence[Findings | None], rows: Sequence[Rows]) -> tuple[Anomaly, ...]:
    """All anomalies of a history, by property; `findings` and `rows` belong to the plan's units, in order."""
    facts = _facts(plan, rows)
    decided = [
        (unit, unit.window, found)
        for unit, found in zip(plan.units, findings, strict=True)
        if unit.window and found
    ]
    witnessed = list(hw_loss_witnessed(facts))
    ours = {
        Property.HW_LOSS: [*witnessed, *_unwitnessed(decided, witnessed)],
        Property.OFFSET_GAP: list(_gaps(decided)),
        Property.MONOTONE_READ: list(_skips(decided)),
    }
    return tuple(
        anomaly
        for wanted, rule in RULES.items()
        for anomaly in (ours[wanted] if wanted in ours else rule(facts))
    )


_Decided = Sequence[tuple[Unit, Window, Findings]]


def _facts(plan: Plan, rows: Sequence[Rows]) -> Facts:
    parts = list(zip(plan.units, rows, strict=True))
    return Facts(
        sends=[_send(**row) for unit, its in parts for row in _plain(unit, its.sends)],
        final_log=[LogRecord(**row) for unit, its in parts for row in _plain(unit, its.final_log)],
        reads=[Read(**row) for unit, its in parts for row in _plain(unit, its.reads)],
        watermarks=plan.watermarks,
        proofs=plan.proofs,
    )


def _plain(unit: Unit, table: pa.Table) -> Iterator[dict[str, Any]]:
    names = [*table.column_names, "topic", "partition"]
    for values in zip(*(column.to_pylist() for column in table.columns), strict=True):
        yield dict(zip(names, (*values, unit.topic, unit.partition), strict=True))


def _send(*, outcome: int, **columns: Any) -> Send:  # noqa: ANN401 - the columns of the table
    return Send(outcome=Outcome(outcome), **columns)


def _unwitnessed(decided: _Decided, witnessed: Sequence[Anomaly]) -> Iterator[Anomaly]:
    """The hw-loss of offsets that are empty though they were below a sampled high watermark."""
    named = {(a.topic, a.partition, a.offset) for a in witnessed}
    for unit, window, found in decided:
        note = f"the high watermark was {unit.highest} once, nothing is at offset {{}} now"
        for first, end in found.holes.tolist():
            for offset in range(first, min(end, unit.highest)):
                unread = window.high_watermark <= offset < window.log_end
                if not unread and (*unit.tp, offset) not in named:
                    yield _at(Property.HW_LOSS, unit, offset, note=note.format(offset))


def _gaps(decided: _Decided) -> Iterator[Anomaly]:
    for unit, window, found in decided:
        note = f"nothing is at offset {{}}, the high watermark is {window.high_watermark}"
        for first in found.holes[:, 0].tolist():
            if first < window.high_watermark:
                yield _at(Property.OFFSET_GAP, unit, first, note=note.format(first))


def _skips(decided: _Decided) -> Iterator[Anomaly]:
    for unit, _, found in decided:
        columns = (found.skips[name].tolist() for name in SKIP_COLUMNS)
        for reader, generation, before, offset, read_ns in zip(*columns, strict=True):
            yield _at(
                Property.MONOTONE_READ,
                unit,
                offset,
                producer=reader,
                sequence=generation,
                completed_ns=read_ns,
                note=f"reader {reader} was given offset {before}, then {offset}",
            )


def _at(
    wanted: Property,
    unit: Unit,
    offset: int,
    *,
    producer: int = NONE,
    sequence: int = NONE,
    completed_ns: int = NONE,
    note: str,
) -> Anomaly:
    return Anomaly(
        property=wanted,
        topic=unit.topic,
        partition=unit.partition,
        offset=offset,
        producer=producer,
        sequence=sequence,
        completed_ns=completed_ns,
        note=note,
    )
