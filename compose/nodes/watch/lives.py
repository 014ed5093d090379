"""When a container's process started and ended, put together from two sources that may tell the same twice.

The engine's event stream tells at once and in order, with the exit code; but it can break, and what it brings
again when it is opened anew was partly told before. An inspection tells only the last life, but always.

Invariant: the changes of one container alternate: started, ended, started, …
Evidence: the engine's events and inspections, all with the engine's own times.
Counterexample to "an inspection alone will do":
    broker 2 is killed at 7.0 s and started at 7.4 s; the inspections at 6 s and 8 s both find it running
    the second has another start time, so it shows that a life ended, and not with which exit code
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from compose.docker.events import UNKNOWN, ContainerEvent, Inspected

SAME_START_NS = 5_000_000_000
"""The event of a start is logged just after the start time that an inspection shows; a `start` so soon after
a known start, without an end between them, is the same one. The stream keeps the order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A process started or ended at `at_ns` of the engine's clock; `exit_code` -1: not known, or a start."""

    kind: Literal["started", "ended"]
    at_ns: int
    exit_code: int = UNKNOWN
    oom_killed: bool = False


class Lives:
    """The lives of one container, as far as they were told; `since_ns` is the start of the last one."""

    def __init__(self, first: Inspected) -> None:
        """`first` is what an inspection shows when the watch begins."""
        self.is_up = first.is_up
        self.since_ns = first.started_ns
        self._ended_ns = UNKNOWN if first.is_up else first.finished_ns
        self._short_of_memory = False
        self._unconfirmed_ns = UNKNOWN

    def told(self, event: ContainerEvent) -> tuple[Change, ...]:
        """What is new in an event of the stream; nothing if it was known before."""
        match event.action:
            case "oom":
                self._short_of_memory |= self.is_up and event.at_ns >= self.since_ns
                return ()
            case "start":
                return tuple(self._start(event.at_ns))
            case "die" if self.is_up and event.at_ns >= self.since_ns:
                return (self._end(event.at_ns, event.exit_code, oom_killed=False),)
        return ()

    def _start(self, at_ns: int) -> Iterator[Change]:
        if self.is_up and at_ns - self.since_ns >= SAME_START_NS:
            yield self._end(at_ns, UNKNOWN, oom_killed=False)
            yield self._begin(at_ns)
        elif not self.is_up and at_ns > self._ended_ns:
            yield self._begin(at_ns)

    def found(self, now: Inspected) -> tuple[Change, ...]:
        """What is new in an inspection.

        A life of which the stream has not told is believed when a second inspection shows it too: the stream
        may only be late, and it knows the exit code of the life before.
        """
        another = now.started_ns > self.since_ns or (now.is_up and not self.is_up)
        if another and now.started_ns != self._unconfirmed_ns:
            self._unconfirmed_ns = now.started_ns
            return ()
        return tuple(self._catch_up(now, another=another))

    def _catch_up(self, now: Inspected, *, another: bool) -> Iterator[Change]:
        if another and self.is_up:
            yield self._end(now.finished_ns if now.is_up else now.started_ns, UNKNOWN, oom_killed=False)
        if another:
            yield self._begin(now.started_ns)
        if self.is_up and not now.is_up:
            yield self._end(now.finished_ns, now.exit_code, oom_killed=now.oom_killed)

    def _begin(self, at_ns: int) -> Change:
        self.is_up, self.since_ns, self._short_of_memory = True, at_ns, False
        self._unconfirmed_ns = UNKNOWN
        return Change(kind="started", at_ns=at_ns)

    def _end(self, at_ns: int, exit_code: int, *, oom_killed: bool) -> Change:
        self.is_up, self._ended_ns = False, at_ns
        short = self._short_of_memory or oom_killed
        return Change(kind="ended", at_ns=at_ns, exit_code=exit_code, oom_killed=short)
