"""Files that survive the death of their writer: Arrow IPC streams, one message a write.

A batch is given to the operating system before `write` returns, so a `kill -9` loses nothing that was
written and tears at most the batch that was being written; `read` gives every whole batch before the tear.
(Nothing is synced to the disk: a power cut of the machine that runs the harness is not survived.)
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

import pyarrow as pa

from workloads.errors import JournalUnreadable


class Journal:
    """A growing Arrow IPC stream file with one schema; `facts` are its key-value metadata."""

    def __init__(self, path: Path, schema: pa.Schema, facts: Mapping[str, str]) -> None:
        """Create the file (it must not exist) and write its schema."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._schema = schema.with_metadata(dict(facts))
        self._file = path.open("xb")
        self._put(self._schema.serialize())

    def write(self, columns: list[pa.Array]) -> None:
        """Append one batch of columns in the order of the schema; it is out of this process on return."""
        self._put(pa.RecordBatch.from_arrays(columns, schema=self._schema).serialize())

    def close(self) -> None:
        """End the file; a second call does nothing."""
        self._file.close()

    def _put(self, message: pa.Buffer) -> None:
        self._file.write(message)
        self._file.flush()

    def __enter__(self) -> "Journal":
        """Nothing to do yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def read(path: Path) -> Iterator[pa.RecordBatch]:
    """Every whole batch of a journal in the order written, not copied; ends silently where it is torn."""
    with pa.memory_map(str(path)) as source:
        try:
            stream = pa.ipc.open_stream(source)
        except pa.ArrowInvalid:
            return  # torn within the schema: nothing was written
        while (batch := _next(stream)) is not None:
            yield batch


def facts(path: Path) -> dict[str, str] | None:
    """The key-value metadata of a journal; None if it was torn before it was complete."""
    if not path.is_file():
        raise JournalUnreadable(f"{path}: no such journal")
    with pa.memory_map(str(path)) as source:
        try:
            metadata = pa.ipc.open_stream(source).schema.metadata or {}
        except pa.ArrowInvalid:
            return None
    return {key.decode(): value.decode() for key, value in metadata.items()}


def _next(stream: pa.RecordBatchReader) -> pa.RecordBatch | None:
    try:
        return stream.read_next_batch()
    except (StopIteration, pa.ArrowInvalid, OSError):
        return None
