"""Lines that show a person what set-up is doing."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

OnLine = Callable[[str], None]
"""Gets each line of progress."""


def print_line(text: str) -> None:
    """Print one line at once, also where standard output is a pipe."""
    print(f"highwater: {text}", flush=True)


def silent(_text: str) -> None:
    """Drop the line."""


@contextmanager
def timed(what: str, on_line: OnLine) -> Iterator[None]:
    """Report that `what` begins, and how long it took."""
    on_line(f"{what} ...")
    begin_s = time.monotonic()
    yield
    on_line(f"{what}: done in {time.monotonic() - begin_s:.0f} s")
