"""Pass 1, on a worker: one partition in one reading, O(rows). It decides nothing; it names what is
worth a decision.

Memory: 44 bytes a log record, and 56 a send that claims no place. A healthy partition yields counts,
and no suspect.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from spark_verify.kernels.acks import SEND_COLUMNS, Claims, SendCounts, acked_offsets
from spark_verify.kernels.final_log import FinalLog, read_final_log
from spark_verify.kernels.ids import Ids
from spark_verify.kernels.match_by_id import explain
from spark_verify.kernels.order import Sequences, out_of_real_time, steps
from spark_verify.kernels.reads import READ_COLUMNS, Reads
from spark_verify.partition_task import Columns, Ints, Unit, Window
from spark_verify.passes.duplicate_ids import Numbers, joined, numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is left to be decided about a partition. All empty: every property holds in it."""

    ids: Ids
    """Of records that a rule by id or by order might report; each once."""
    offsets: Ints
    """At which a rule by offset might report something, ascending."""
    holes: Ints
    """Shape (n, 2): runs of offsets [first, end) that the log lacks, from its start to the greatest
    high watermark."""
    skips: Columns
    """The monotone-read anomalies: columns reader, generation, before, offset, read_ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What pass 1 says of one partition."""

    sends: SendCounts
    log_records: int
    reads: int
    reads_unread: int = 0
    """Reads at offsets of which nothing can be said."""
    numbers: Mapping[int, Numbers]
    """Of each producer's sends, to find ids that two sends have."""
    twice: bool = False
    """Two sends claim one record: certainly they have one id."""
    findings: Findings | None = None
    """None: the partition is undecided."""


def scan(unit: Unit) -> Scan:
    """Read one partition and say what is suspicious in it; raises MalformedHistory."""
    return _decided(unit, unit.window) if unit.window else _undecided(unit)


def _decided(unit: Unit, window: Window) -> Scan:
    log = read_final_log(unit)
    claims, reads = _claims(unit, log), _reads(unit, log, window)
    claimed, residue = claims.claimed(), claims.residue()
    sequences, parts = Sequences(log), []
    for step in steps(log.ids(), unit.batch_rows):
        sequences.add(step)
        parts.append(numbers(step.kept(claimed)))
    unexplained = explain(log, claims, claimed, residue)
    offsets = np.union1d(reads.suspects(), acked_offsets(residue))
    at_suspects = log.rows_at(offsets)
    rows = [
        *claims.altered,
        sequences.offenders(),
        out_of_real_time(claims, unit.batch_rows),
        # The rules by id must see all of each id whose record a rule by offset is shown.
        at_suspects[at_suspects >= 0],
    ]
    return Scan(
        sends=claims.counts,
        log_records=len(log),
        reads=reads.count,
        reads_unread=reads.unread,
        numbers=joined([*parts, *_numbers(residue, unit)]),
        twice=claims.total > int(np.count_nonzero(claimed)),
        findings=Findings(
            ids=Ids.joined([unexplained, reads.gone(), log.ids()[np.concatenate(rows)]]).unique(),
            offsets=offsets,
            holes=_holes(log, window, unit.highest),
            skips=reads.skips(),
        ),
    )


def _undecided(unit: Unit) -> Scan:
    """Everything is read, as a damaged file is to be noticed, but only counted."""
    log = read_final_log(unit)
    claims = _claims(unit, FinalLog.empty())
    reads = sum(len(batch["offset"]) for batch in unit.batches("reads", READ_COLUMNS))
    return Scan(
        sends=claims.counts,
        log_records=len(log),
        reads=reads,
        numbers=joined(_numbers(claims.residue(), unit)),
    )


def _numbers(residue: Columns, unit: Unit) -> Iterator[dict[int, Numbers]]:
    return (numbers(step) for step in steps(Ids.of(residue), unit.batch_rows))


def _claims(unit: Unit, log: FinalLog) -> Claims:
    claims = Claims(unit, log)
    for batch in unit.batches("sends", SEND_COLUMNS):
        claims.add(batch)
    return claims


def _reads(unit: Unit, log: FinalLog, window: Window) -> Reads:
    reads = Reads(window, log)
    for batch in unit.batches("reads", READ_COLUMNS):
        reads.add(batch)
    return reads


def _holes(log: FinalLog, window: Window, highest: int) -> Ints:
    end = max(window.high_watermark, highest)
    if end <= window.log_start:
        return np.empty((0, 2), np.int64)
    first, last = log.rank(np.array([window.log_start, end]))
    edges = np.concatenate(([window.log_start - 1], log.offset[first:last], [end]))
    at = np.flatnonzero(np.diff(edges) > 1)
    return np.stack((edges[at] + 1, edges[at + 1]), axis=1)
