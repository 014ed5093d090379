"""The audit of replicas, on a worker: reads some segments of a replica and writes a row for each of their
batches.

A follower appends the batches of its leader as they are, so the segments of replicas are mostly the same byte
by byte. Comparing bytes takes a tenth of the time that decoding them does: those that were found the same are
decoded once (`audit_alike`).

Memory: the columns of a chunk of records and those of 65,536 batches. What cannot be read is said in the
result; nothing is raised that the disk's content could cause.
"""

import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.history.tables import NONE, REPLICA_BATCHES, TABLES, open_writer, replica_path
from spark_verify.partition_task import BATCH_ROWS
from spark_verify.segments.batches import Batches, Bytes, SegmentWalk, TailKind
from spark_verify.segments.control import ControlType, control_records
from spark_verify.segments.data_directory import SegmentFile
from spark_verify.segments.decode import batch_digests
from spark_verify.segments.layout import MAGIC

_HEADER_COLUMNS = (
    *("last_offset_delta", "leader_epoch", "crc", "attributes", "producer_id", "producer_epoch"),
    *("base_sequence", "records", "max_timestamp_ms"),
)
"""The columns of `replica_batches` that are fields of a header, by the same names."""
_COMPARED_BYTES = 1 << 20
"""At a time: what both sides hold stays in the processor's cache."""
_KINDS = {ControlType.COMMIT: "commit", ControlType.ABORT: "abort"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Consecutive segments of one replica, and where the rows of their batches go."""

    history_dir: str
    run: str
    topic: str
    partition: int
    broker: int
    number: int
    """In the order of the log, from 0."""
    segments: tuple[SegmentFile, ...]

    @property
    def bytes(self) -> int:
        """The weight of the task."""
        return sum(segment.bytes for segment in self.segments)

    @property
    def path(self) -> Path:
        """The file of its rows."""
        return replica_path(Path(self.history_dir), self.topic, self.partition, self.broker, self.number)


class FoundMarker(NamedTuple):
    """The end of a transaction; the fields are columns of the table `markers`."""

    offset: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    kind: str
    coordinator_epoch: int


@dataclass(slots=True, kw_only=True)
class PieceRead:
    """What was read of a piece."""

    bytes: int = 0
    batches: int = 0
    log_end: int = NONE
    """Behind the last batch with a right CRC; NONE without one."""
    torn: list[tuple[int, int]] = field(default_factory=list)
    """Base offset of each segment that does not end with a whole batch, and how many bytes are left of it."""
    markers: list[FoundMarker] = field(default_factory=list)
    """The ends of transactions, in the order of the log."""
    reasons: list[str] = field(default_factory=list)
    """Why not everything could be read."""


def audit_alike(pieces: Sequence[Piece]) -> list[PieceRead]:
    """Read pieces of several replicas whose segments have the same names and sizes; in their order.

    Each of them with the bytes of the first has the rows of the first; any other is read by itself.
    """
    first, *others = pieces
    read = audit_piece(first)
    return [read, *(_copied(first, read, each) or audit_piece(each) for each in others)]


def audit_piece(piece: Piece) -> PieceRead:
    """Read a piece and write its file."""
    read = PieceRead()
    _write(piece, _tables(piece, read))
    return read


def _copied(first: Piece, read: PieceRead, piece: Piece) -> PieceRead | None:
    """What reading `piece` would find and write, if it has the bytes of `first`; else None.

    What is wrong with a replica is found in its own files: nothing is taken over of one that has reasons.
    """
    pairs = zip(first.segments, piece.segments, strict=True)
    if read.reasons or not all(_have_same_bytes(one.path, other.path) for one, other in pairs):
        return None
    _write(piece, _rows_of(first, broker=piece.broker))
    return read


def _have_same_bytes(one: Path, other: Path) -> bool:
    try:
        with one.open("rb") as left, other.open("rb") as right:
            while held := left.read(_COMPARED_BYTES):
                if held != right.read(_COMPARED_BYTES):
                    return False
            return not right.read(1)
    except OSError:
        return False


def _rows_of(piece: Piece, *, broker: int) -> Iterator[pa.Table]:
    """The rows of a piece that was written, as those of another broker."""
    column = TABLES[REPLICA_BATCHES].get_field_index("broker")
    with pq.ParquetFile(piece.path) as file:
        for batch in file.iter_batches(BATCH_ROWS):
            table = pa.Table.from_batches([batch])
            brokers = pa.array(np.full(len(table), broker, np.int32))
            yield table.set_column(column, table.schema.field(column), brokers).cast(TABLES[REPLICA_BATCHES])


def _write(piece: Piece, tables: Iterable[pa.Table]) -> None:
    growing = piece.path.with_suffix(".growing")
    with open_writer(growing, REPLICA_BATCHES, piece.topic, piece.partition, run=piece.run) as writer:
        waiting: list[pa.Table] = []
        for table in tables:
            waiting.append(table)
            if sum(map(len, waiting)) >= BATCH_ROWS:
                writer.write_table(pa.concat_tables(waiting))
                waiting.clear()
        if waiting:
            writer.write_table(pa.concat_tables(waiting))
    growing.rename(piece.path)


def _tables(piece: Piece, read: PieceRead) -> Iterator[pa.Table]:
    """The rows of each chunk of each segment; adds to `read` what was found."""
    for segment in piece.segments:
        try:
            data = _content(segment.path)
        except OSError as error:
            read.reasons.append(f"{segment.path.name}: {error.strerror or error}")
            continue
        walk = SegmentWalk(data)
        for batches in walk.chunks():
            yield _table(piece, segment, data, batches)
            _add_batches(read, batches)
            read.markers += _markers(data, batches)
        read.bytes += len(data)
        if walk.tail.size:
            read.torn.append((segment.base_offset, walk.tail.size))
        if walk.tail.kind is TailKind.CORRUPT:
            tail = walk.tail
            read.reasons.append(f"{segment.path.name}, byte {tail.position}: {tail.reason}")


def _content(path: Path) -> Bytes:
    with path.open("rb") as file:
        if not path.stat().st_size:  # which cannot be mapped
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _add_batches(read: PieceRead, batches: Batches) -> None:
    read.batches += len(batches)
    ends = (batches.column("base_offset") + batches.column("last_offset_delta") + 1)[batches.crc_ok]
    if ends.size:
        read.log_end = int(ends[-1])


def _markers(data: Bytes, batches: Batches) -> Iterator[FoundMarker]:
    records, _ = control_records(data, batches)
    if not records:
        return
    epochs, ids, producer_epochs = (
        batches.column(name) for name in ("leader_epoch", "producer_id", "producer_epoch")
    )
    for record in records:
        if record.type in _KINDS:
            yield FoundMarker(
                offset=record.offset,
                leader_epoch=int(epochs[record.row]),
                producer_id=int(ids[record.row]),
                producer_epoch=int(producer_epochs[record.row]),
                kind=_KINDS[record.type],
                coordinator_epoch=record.coordinator_epoch,
            )


def _table(piece: Piece, segment: SegmentFile, data: Bytes, batches: Batches) -> pa.Table:
    digest, errors = batch_digests(data, batches)
    is_known = batches.header["magic"] == MAGIC
    count = len(batches)
    fields = {name: np.where(is_known, batches.column(name), NONE) for name in _HEADER_COLUMNS}
    columns = {
        "topic": pa.repeat(piece.topic, count),
        "partition": np.full(count, piece.partition, np.int32),
        "broker": np.full(count, piece.broker, np.int32),
        "segment": np.full(count, segment.base_offset, np.int64),
        "position": batches.position,
        "base_offset": batches.column("base_offset"),
        "crc_ok": batches.crc_ok,
        "size": batches.end - batches.position,
        "digest": digest,
        "error": [errors.get(row, "") for row in range(count)] if errors else pa.repeat("", count),
        **fields,
    }
    schema = TABLES[REPLICA_BATCHES]
    return pa.table({name: columns[name] for name in schema.names}).cast(schema)
