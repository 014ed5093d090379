"""Files that survive the death of their writer: Arrow messages in frames, one message a write.

    frame   magic 4 bytes · number u32 · length u64 · CRC-32 of the message u32 · CRC-32 of these 20 bytes u32
            · the message; little-endian. Numbers go up from 0.
    0       the schema; its key-value metadata are the `facts`
    1 …     record batches
    last    the end, written by `close`: JSON, what the writer counted. A killed writer leaves none.

A frame is given to the operating system before `write` returns, so a `kill -9` loses nothing that was written
and tears at most the frame that was being written. So a file may stop within its last frame, and `inspect`
takes what is before it. Anything else that no writer wrote is damage, and refused: a frame that does not
match its CRC, bytes after a tear, a number left out. (Nothing is synced to the disk: a power cut of the
machine that runs the harness is not survived.)
"""

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple

import pyarrow as pa

from workloads.errors import JournalUnreadable

MAGIC, END_MAGIC = b"hwJ1", b"hwE1"
HEAD = struct.Struct("<4sIQI")
CRC = struct.Struct("<I")
HEAD_BYTES = HEAD.size + CRC.size
PORTION_BYTES, READ_BYTES = 8 << 20, 1 << 20
NOTHING_COUNTED: Mapping[str, int] = MappingProxyType({})


class Journal:
    """A growing file with one schema; `facts` are its key-value metadata."""

    def __init__(self, path: Path, schema: pa.Schema, facts: Mapping[str, str]) -> None:
        """Create the file (it must not exist) and write its schema."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._schema = schema.with_metadata(dict(facts))
        self._file = path.open("xb")
        self._number = self._rows = 0
        self._put(MAGIC, self._schema.serialize())

    def write(self, columns: list[pa.Array]) -> None:
        """Append one batch of columns in the order of the schema; it is out of this process on return."""
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self._put(MAGIC, batch.serialize())
        self._rows += batch.num_rows

    def write_rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows by the names of their columns, as one batch; without any, nothing."""
        if rows:
            self.write(pa.RecordBatch.from_pylist([dict(row) for row in rows], self._schema).columns)

    def close(self, counted: Mapping[str, int] = NOTHING_COUNTED) -> None:
        """Write the end, with the rows and what else was `counted`; a second call does nothing."""
        if not self._file.closed:
            self._put(END_MAGIC, json.dumps({"rows": self._rows, **counted}).encode())
            self._file.close()

    def _put(self, magic: bytes, message: pa.Buffer | bytes) -> None:
        head = HEAD.pack(magic, self._number, len(message), zlib.crc32(message))
        self._file.write(head + CRC.pack(zlib.crc32(head)))
        self._file.write(message)
        self._file.flush()
        self._number += 1

    def __enter__(self) -> "Journal":
        """Nothing to do yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


@dataclass(frozen=True, slots=True)
class Portion:
    """Some frames behind each other: the place of the first one in the file, and the bytes of all."""

    place: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalState:
    """A journal of which each byte was checked: its facts, and where its rows are.

    `counted` is what its writer counted; None: it was killed.
    """

    path: Path
    facts: Mapping[str, str]
    counted: Mapping[str, int] | None
    portions: tuple[Portion, ...]


class _Frame(NamedTuple):
    """A tuple, as a long journal has millions of them; `end` is the place behind it."""

    end: int
    magic: bytes
    message: bytes


def inspect(path: Path) -> JournalState | None:
    """Check every byte of a journal; None if it was torn before its schema was whole.

    Whoever reads it then need not check again. JournalUnreadable, with the byte: it is missing or damaged.
    """
    frames = _frames(path)
    first = next(frames, None)
    if first is None:
        return None
    facts = _facts(path, first.message)
    counted: Mapping[str, int] | None = None
    portions: list[Portion] = []
    begin = end = first.end
    for frame in frames:
        if frame.magic == END_MAGIC:
            counted = json.loads(frame.message)
            continue
        end = frame.end
        if end - begin >= PORTION_BYTES:
            portions.append(Portion(begin, end - begin))
            begin = end
    if end > begin:
        portions.append(Portion(begin, end - begin))
    return JournalState(path=path, facts=facts, counted=counted, portions=tuple(portions))


def read(state: JournalState | None) -> Iterator[pa.RecordBatch]:
    """The rows of a journal in the order written; none of one without a whole schema.

    A batch has those of about PORTION_BYTES: clients write some tens of rows at a time, and it takes as long
    to work on a batch of ten rows as on one of a thousand. One batch at a time is in memory. At the end,
    JournalUnreadable if they are not as many as the writer counted.
    """
    return (batch for _, batch in read_portions(state)) if state is not None else iter(())


def read_portions(state: JournalState) -> Iterator[tuple[Portion, pa.RecordBatch]]:
    """The same, each with what `rows_at` finds it by again."""
    found = 0
    for portion, rows in _decoded(state.path, state.portions):
        if rows.num_rows:
            found += rows.num_rows
            yield portion, _joined(rows)
    counted = found if state.counted is None else state.counted["rows"]
    if counted != found:
        raise JournalUnreadable(f"{state.path}: damaged: it has {found} rows, its writer counted {counted}")


def rows_at(path: Path, portions: Iterable[Portion]) -> Iterator[pa.RecordBatch]:
    """The rows of some portions of a journal, as `read_portions` gave them."""
    return (_joined(rows) for _, rows in _decoded(path, portions))


def _decoded(path: Path, portions: Iterable[Portion]) -> Iterator[tuple[Portion, pa.Table]]:
    """The rows of frames: behind the message of the schema, their messages are a stream of Arrow's."""
    with path.open("rb") as file:
        _, _, length, _ = HEAD.unpack(file.read(HEAD_BYTES)[: HEAD.size])
        schema = file.read(length)
        for portion in portions:
            file.seek(portion.place)
            stream = b"".join([schema, *_messages(memoryview(file.read(portion.length)))])
            yield portion, pa.ipc.open_stream(pa.py_buffer(stream)).read_all()


def _messages(frames: memoryview) -> Iterator[memoryview]:
    """The messages of whole frames behind each other."""
    place = 0
    while place < len(frames):
        _, _, length, _ = HEAD.unpack_from(frames, place)
        begin = place + HEAD_BYTES
        place = begin + length
        yield frames[begin:place]


def _joined(rows: pa.Table) -> pa.RecordBatch:
    """Some rows, at least one, behind each other in memory."""
    (batch,) = rows.combine_chunks().to_batches()
    return batch


def _facts(path: Path, schema: bytes) -> Mapping[str, str]:
    try:
        metadata = pa.ipc.read_schema(pa.py_buffer(schema)).metadata or {}
    except pa.ArrowException:
        raise _damaged(path, 0, "frame 0 has no schema") from None
    return {key.decode(): value.decode() for key, value in metadata.items()}


def _frames(path: Path) -> Iterator[_Frame]:
    """Every whole frame of a journal; JournalUnreadable with the place of one that is not as written."""
    if not path.is_file():
        raise JournalUnreadable(f"{path}: no such journal")
    place, number, magic, size = 0, 0, MAGIC, path.stat().st_size
    with path.open("rb", buffering=READ_BYTES) as file:
        while len(head := file.read(HEAD_BYTES)) == HEAD_BYTES:
            if magic == END_MAGIC:
                raise _damaged(path, place, "bytes after the journal's end")
            magic, length, crc = _head(path, head, place, number)
            if length > size - place - HEAD_BYTES:
                return  # torn
            message = file.read(length)
            if zlib.crc32(message) != crc:
                raise _damaged(path, place, f"frame {number} is not what was written")
            place, number = place + HEAD_BYTES + length, number + 1
            yield _Frame(place, magic, message)
    if head and (magic == END_MAGIC or not _begins_a_frame(head)):
        raise _damaged(path, place, "bytes that no writer wrote")


def _head(path: Path, found: bytes, place: int, number: int) -> tuple[bytes, int, int]:
    """Magic, length and CRC of the message of the frame at `place`, which must be the one with `number`."""
    magic, its_number, length, crc = HEAD.unpack(found[: HEAD.size])
    if magic not in (MAGIC, END_MAGIC) or CRC.pack(zlib.crc32(found[: HEAD.size])) != found[HEAD.size :]:
        raise _damaged(path, place, f"no frame begins there, where frame {number} should")
    if its_number != number:
        raise _damaged(path, place, f"frame {its_number} stands where frame {number} should")
    return magic, length, crc


def _begins_a_frame(rest: bytes) -> bool:
    """Whether these bytes, too few for a head, can be the beginning of one."""
    return any(magic.startswith(rest[:4]) for magic in (MAGIC, END_MAGIC))


def _damaged(path: Path, place: int, what: str) -> JournalUnreadable:
    return JournalUnreadable(f"{path}: damaged at byte {place}: {what}")
