"""A run goes on when nobody reads along any more."""

import os
import pty
import signal
import threading
import time
from pathlib import Path

import pytest

from harness.terminal.read_along import read_along


def test_what_is_written_arrives_line_by_line() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        print("27 acked — so far", file=read_along(stream))
        assert os.read(reader, 100).decode() == "27 acked — so far\n"
    os.close(reader)


def test_a_pipe_that_nobody_reads_any_more_takes_everything() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        along = read_along(stream)
        os.close(reader)
        for number in range(1000):
            print("line", number, file=along, flush=True)
        with pytest.raises(BrokenPipeError):
            os.write(writer, b"as it is without")


def test_a_terminal_that_was_closed_takes_everything() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        along = read_along(stream)
        assert along.isatty()
        os.close(master)
        print("line", file=along, flush=True)
        with pytest.raises(OSError, match="Input/output error"):
            os.write(slave, b"as it is without")


def test_a_full_disk_is_still_an_error() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        along = read_along(stream)
        with pytest.raises(OSError, match="No space left"):
            print("line", file=along, flush=True)
        with Path(os.devnull).open("w", encoding="utf-8") as nothing:
            os.dup2(nothing.fileno(), stream.fileno())  # what is still held is written when it is closed


def test_a_signal_whose_handler_writes_may_come_while_a_line_is_written() -> None:
    """As a Ctrl-C does: the pipe is full, so the long line waits for its reader when the signal comes."""
    reader, writer = os.pipe()
    long, told = "x" * 300_000, list[bytes]()

    def read_late() -> None:
        time.sleep(0.5)
        while chunk := os.read(reader, 65_536):
            told.append(chunk)

    late = threading.Thread(target=read_late)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        along = read_along(stream)
        before = signal.signal(signal.SIGALRM, lambda *_: print("stopping", file=along, flush=True))
        late.start()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            print(long, file=along, flush=True)
        finally:
            signal.signal(signal.SIGALRM, before)
    late.join()
    os.close(reader)
    lines = b"".join(told).decode()
    assert lines.count("x") == len(long)
    assert "stopping" in lines
