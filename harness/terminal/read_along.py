"""A stream of which the reader may go away: the terminal is closed, or the program behind the pipe ends."""

import errno
import os
from io import RawIOBase, TextIOWrapper
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

GONE = (errno.EPIPE, errno.EIO)
"""What a write answers when nobody reads a pipe any more, and when a terminal is closed."""


class _WhileRead(RawIOBase):
    """Bytes to a file descriptor of the caller's, and to nowhere once its reader has gone.

    Nothing is buffered: a signal may interrupt a write, and its handler may write.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: "ReadableBuffer") -> int:
        view = memoryview(data)
        written = 0
        try:
            while written < view.nbytes:
                written += os.write(self._descriptor, view[written:])
        except OSError as error:
            if error.errno not in GONE:
                raise
        return view.nbytes


def read_along(stream: TextIO) -> TextIO:
    """Writes to where `stream` does while somebody reads it; what nobody can read is dropped.

    Nothing is raised then: a run goes on to its verdict, which is in its directory. Each line is written at
    once.
    """
    try:
        descriptor = stream.fileno()
    except OSError:  # it is in memory
        return stream
    stream.flush()
    return TextIOWrapper(
        cast("BinaryIO", _WhileRead(descriptor)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=True,
        write_through=True,
    )
