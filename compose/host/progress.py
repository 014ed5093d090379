"""Lines that show a person what set-up is doing."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Say = Callable[[str], None]


def say_line(text: str) -> None:
    """Print one line at once, also where standard output is a pipe."""
    print(f"highwater: {text}", flush=True)


def silent(_text: str) -> None:
    """Say nothing."""


@contextmanager
def timed(what: str, say: Say) -> Iterator[None]:
    """Say that `what` begins, and how long it took."""
    say(f"{what} ...")
    begin_s = time.monotonic()
    yield
    say(f"{what}: done in {time.monotonic() - begin_s:.0f} s")
