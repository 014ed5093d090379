"""The audit of replicas: what the disks of all brokers hold at the end of a run, as tables of the history.

    <replicas_dir>/<broker>/...              a copy of each broker's log directory; <broker>-2/ of its second
    history/replica_batches/<topic>-<p>/     a row for each batch on each replica
    history/replicas.parquet                 a row for each replica, with its checkpoints
    history/producer_states.parquet          the entries of each replica's last producer snapshot
    history/markers.parquet                  of a load with transactions, where each of them ends

The driver lists the replicas and reads the small files (`list_replicas`); workers read the segments
(`audit_alike`), one task for each 256 MB of a partition's replicas. A replica that cannot be read whole, or
is not there, is a row that says why: nothing about it is decided.

The brokers have stopped cleanly, or the copies were made while they ran. Of the latter nothing is `clean`,
and one that ends below the high watermark of the final read is not complete: it may have been copied too
early, and a replica that really lacks records looks the same.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from checkers.history.load import load_proofs
from checkers.history.rows import Marker, ProducerState, Replica, TopicPartition
from checkers.history.tables import NONE, REPLICA_BATCHES, TABLES, unit_path, write_table
from spark_verify.passes.replicas.audit_piece import FoundMarker, Piece, PieceRead, audit_alike
from spark_verify.passes.replicas.list_replicas import ListedReplica, list_replicas
from spark_verify.session.jobs import run as run_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIECE_BYTES = 256 << 20
"""About a second of work; a larger segment is a piece of its own, and is read in chunks."""


def audit(replicas_dir: Path, history_dir: Path, spark: "SparkSession", *, run: str) -> None:
    """Read every replica of the run's partitions and write the tables; `run` is the run's id.

    Raises MalformedHistory for the history's own files, SessionFailed and WorkerFailed; what is wrong with a
    disk is said in `replicas`.
    """
    history_dir = history_dir.absolute()  # workers have a working directory of their own
    partitions, proofs = load_proofs(history_dir)
    expected = [(proof.tp, broker) for proof in proofs for broker in proof.replicas]
    listed = list_replicas(replicas_dir.absolute(), partitions, expected)
    pieces = [_pieces(each, history_dir, run) for each in listed]
    shutil.rmtree(history_dir / REPLICA_BATCHES, ignore_errors=True)
    (history_dir / REPLICA_BATCHES).mkdir(parents=True)
    alike = _alike(piece for its in pieces for piece in its)
    answers = run_job(spark, audit_alike, alike, weight=_work)
    read = {
        piece: its
        for group, answer in zip(alike, answers, strict=True)
        for piece, its in zip(group, answer, strict=True)
    }
    ends = {proof.tp: proof.high_watermark for proof in proofs if proof.complete}
    replicas = [
        _replica(each, [read[piece] for piece in its], ends.get(each.tp, NONE))
        for each, its in zip(listed, pieces, strict=True)
    ]
    _write(history_dir, "producer_states", [state for each in listed for state in each.states], run)
    if unit_path(history_dir, "transactions").exists():
        _write(history_dir, "markers", _markers(read), run)
    _write(history_dir, "replicas", replicas, run)


def _pieces(listed: ListedReplica, history_dir: Path, run: str) -> list[Piece]:
    """The segments of a replica in groups of about PIECE_BYTES."""
    before = 0
    numbered = []
    for segment in listed.segments:
        numbered.append((before // PIECE_BYTES, segment))
        before += segment.bytes
    groups = [
        tuple(segment for _, segment in group) for _, group in groupby(numbered, key=lambda each: each[0])
    ]
    return [
        Piece(
            history_dir=str(history_dir),
            run=run,
            topic=listed.tp.topic,
            partition=listed.tp.partition,
            broker=listed.disk.broker,
            number=number,
            segments=segments,
        )
        for number, segments in enumerate(groups)
    ]


def _alike(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Pieces of a partition whose segments have the same names and sizes on several brokers, together."""
    groups: dict[object, list[Piece]] = {}
    for piece in pieces:
        sizes = tuple((segment.base_offset, segment.bytes) for segment in piece.segments)
        groups.setdefault((piece.topic, piece.partition, piece.number, sizes), []).append(piece)
    return list(groups.values())


def _work(alike: Sequence[Piece]) -> int:
    """In bytes to decode; those of the others are compared ten times as fast."""
    return alike[0].bytes + sum(piece.bytes for piece in alike[1:]) // 10


def _replica(listed: ListedReplica, reads: Sequence[PieceRead], high_watermark: int) -> Replica:
    """A replica's row; `high_watermark` is that of the final read, -1 without a proof."""
    disk, key = listed.disk, (listed.tp.topic, listed.tp.partition)
    log_start_checkpoint = disk.log_starts.get(key, NONE)
    reasons = [*listed.reasons, *(reason for read in reads for reason in read.reasons)]
    torn = [each for read in reads for each in read.torn]
    first, last = (listed.segments[0], listed.segments[-1]) if listed.segments else (None, None)
    for base, size in torn:
        if last is not None and base != last.base_offset:
            reasons.append(f"segment {base} ends with {size} bytes of no whole batch, and others follow it")
    # An empty segment begins where the log ends.
    log_end = max([last.base_offset, *(read.log_end for read in reads)]) if last else NONE
    if not disk.clean and NONE < log_end < high_watermark:
        # A kill takes nothing that was written; and who lacks records looks as who was copied too early.
        how = "ran while its disk was copied, and the copy" if disk.running else "was killed, and its log"
        reasons.append(
            f"broker {disk.broker} {how} ends at {log_end}, below the high watermark {high_watermark} of the "
            f"final read"
        )
    return Replica(
        topic=listed.tp.topic,
        partition=listed.tp.partition,
        broker=disk.broker,
        log_start=max(log_start_checkpoint, first.base_offset) if first else NONE,
        log_end=log_end,
        recovery_point=disk.recovery_points.get(key, NONE),
        hw_checkpoint=disk.high_watermarks.get(key, NONE),
        log_start_checkpoint=log_start_checkpoint,
        epochs=listed.epochs.epochs,
        epoch_starts=listed.epochs.starts,
        segments=len(listed.segments),
        bytes=sum(read.bytes for read in reads),
        batches=sum(read.batches for read in reads),
        torn_bytes=sum(size for _, size in torn),
        clean=disk.clean,
        complete=not reasons,
        reason="; ".join(reasons),
    )


def _markers(read: Mapping[Piece, PieceRead]) -> list[Marker]:
    """The markers of all partitions by offset, each with the brokers on whose disks it is."""
    brokers: dict[tuple[TopicPartition, FoundMarker], set[int]] = defaultdict(set)
    for piece, its in read.items():
        for found in its.markers:
            brokers[TopicPartition(piece.topic, piece.partition), found].add(piece.broker)
    return [
        Marker(**tp._asdict(), **found._asdict(), brokers=tuple(sorted(brokers[tp, found])))
        for tp, found in sorted(brokers)
    ]


def _write(history_dir: Path, table: str, rows: Sequence[Replica | ProducerState | Marker], run: str) -> None:
    columns = {
        field.name: pa.array([getattr(row, field.name) for row in rows], field.type)
        for field in TABLES[table]
    }
    write_table(unit_path(history_dir, table), table, pa.table(columns), run=run)
