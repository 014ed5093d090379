"""Tries schedules in several processes side by side; what they show comes in the order of the schedules.

    main      → process    some schedules
    process   → main       what each of them shows

A process ends when nobody is at the other end of its pipe any more, however that came about.
"""

import signal
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection

from checkers.promises.search.schedules import Schedule
from checkers.promises.search.trial import Found, Trial

Shown = list[Found | None]
AT_ONCE = 8
"""Schedules that a process is given together: about half a second's work."""
AHEAD = 2
"""How often that, so that no process waits for the next ones."""
ENDS_WITHIN_S = 10.0


@contextmanager
def trials(trial: Trial, schedules: Iterator[Schedule], *, processes: int) -> Iterator[Iterator[Shown]]:
    """What each schedule shows, for the length of a `with` block. Without processes all are tried here."""
    context = get_context("spawn")
    pipes, started = [], []
    for _ in range(processes):
        ours, theirs = context.Pipe()
        pipes.append(ours)
        started.append(context.Process(target=_serve, args=(trial, theirs), daemon=True))
        started[-1].start()
        theirs.close()
    try:
        yield _in_order(trial, schedules, pipes) if pipes else map(trial.of, schedules)
    finally:
        for pipe in pipes:
            pipe.close()
        for process in started:
            process.join(ENDS_WITHIN_S)
            process.kill()


def _in_order(trial: Trial, schedules: Iterator[Schedule], pipes: list[Connection]) -> Iterator[Shown]:
    asked: deque[tuple[Connection, list[Schedule]]] = deque()
    turns = cycle(pipes)
    while True:
        while len(asked) < AHEAD * len(pipes) and (some := list(islice(schedules, AT_ONCE))):
            pipe = next(turns)
            with suppress(OSError):
                pipe.send(some)
            asked.append((pipe, some))
        if not asked:
            return
        yield from _answer(trial, *asked.popleft())


def _answer(trial: Trial, pipe: Connection, some: list[Schedule]) -> list[Shown]:
    """What a process has found; of one that is gone nothing comes, and they are tried here."""
    try:
        found: list[Shown] = pipe.recv()
    except (EOFError, OSError):
        return [trial.of(schedule) for schedule in some]
    return found


def _serve(trial: Trial, pipe: Connection) -> None:
    """Ctrl-C is for the process that asks: it closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        while True:
            pipe.send([trial.of(schedule) for schedule in pipe.recv()])
