"""Watches every process of a cluster all along: each start and end is reported as it happens, and for whom.

Two sources, since neither is enough: the engine's event stream, and every POLL_S seconds an inspection of
each container, which also shows what happened while the stream was broken. An end that this harness had
announced (`PlannedEnds`) is planned; of any other the last lines of the node's log are kept, read at once.
"""

import queue
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol

from compose.docker import containers
from compose.docker.events import ContainerEvent, EventStream, Inspected, read_inspected
from compose.errors import ComposeError, NodeStateError, Vanished
from compose.nodes.clocks.engine_clock import EngineClock
from compose.nodes.watch.lives import Change, Lives
from compose.nodes.watch.planned_ends import PlannedEnds
from compose.protocols import ProcessEvent, Role

POLL_S = 5.0
"""An inspection of seven containers takes about 15 ms."""
BROKEN_POLL_S = 1.0
RECONNECT_S = 0.5
CLOSE_S = 15.0

LOG_LINES = 80
MOST_LINES = 3
MOST_CHARACTERS = 300
FATAL = re.compile(
    r"\b(FATAL|ERROR)\b|fatal error has been detected|OutOfMemoryError|^panic:|^#\s+SIG", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One container to watch, by its name, and which node it is (-1: the proxy).

    A node that gets another release gets another container, under the same name.
    """

    container: str
    node: int
    role: Role


class Events(Protocol):
    """A stream of events, as `compose.docker.events.EventStream`."""

    def __iter__(self) -> Iterator[ContainerEvent]: ...
    def close(self) -> None:
        """End it, also for a thread that waits in it."""


class Engine(Protocol):
    """What the watch asks of the engine; `compose.docker` answers, in tests a list of events does."""

    def events(self, since_ns: int) -> Events:
        """The events of the run's containers from then on. ComposeError if the engine does not answer."""

    def inspect(self, container: str) -> Inspected:
        """A container now. Vanished if it is gone."""

    def log(self, container: str, lines: int) -> str:
        """The last lines of its output."""

    def now_ns(self) -> int:
        """The engine's wall clock."""


@dataclass(frozen=True, slots=True)
class DockerEngine:
    """The Docker Engine, asked about the containers of one run."""

    run_id: str
    clock: EngineClock

    def events(self, since_ns: int) -> EventStream:
        """The events of the run's containers from then on."""
        return EventStream(self.run_id, since_ns=since_ns)

    def inspect(self, container: str) -> Inspected:
        """A container now."""
        return read_inspected(containers.inspect(container)["State"])

    def log(self, container: str, lines: int) -> str:
        """The last lines of its output."""
        return containers.logs(container, lines=lines)

    def now_ns(self) -> int:
        """The engine's wall clock."""
        return self.clock.ask()


@dataclass(frozen=True, slots=True)
class _Stream:
    """The stream is whole again (it was opened), or it is broken."""

    is_whole: bool


class NodeWatch:
    """Watches from when it is made until `close`; `on_event` is called on a thread of its own."""

    def __init__(
        self,
        watched: Sequence[Watched],
        engine: Engine,
        planned: PlannedEnds,
        on_event: Callable[[ProcessEvent], None],
    ) -> None:
        """Reports each process that runs now as started. ComposeError if the engine does not answer."""
        self._engine, self._planned, self._on_event = engine, planned, on_event
        self._watched = {one.container: one for one in watched}
        self._told: queue.SimpleQueue[ContainerEvent | _Stream] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._error: Exception | None = None
        self._stream_is_whole = False
        self._answered_s = time.monotonic()
        self._known_ns: dict[str, int] = {}
        self._tie_clocks()
        self._newest_ns = engine.now_ns()
        self._stream = engine.events(self._newest_ns)
        self._lives = dict(self._first_lives())
        self._reader = threading.Thread(target=self._read, name="engine events", daemon=True)
        self._watcher = threading.Thread(target=self._watch, name="node watch", daemon=True)
        self._reader.start()
        self._watcher.start()

    def check(self) -> None:
        """Raise NodeStateError if the watch itself has died: then nobody knows of an end."""
        if self._error is not None:
            text = f"{type(self._error).__name__}: {self._error}"
            raise NodeStateError(f"the watch of the nodes has died: {text}") from self._error

    def silent_s(self) -> float:
        """For how many seconds the engine has not said how each process is: up to POLL_S if it answers."""
        return time.monotonic() - self._answered_s

    def close(self) -> None:
        """Look at every process once more, then end; a second call does nothing. Raises as `check` does."""
        if not self._closing.is_set():
            self._closing.set()
            self._stream.close()
            self._told.put(_Stream(is_whole=False))
            self._watcher.join(CLOSE_S)
            if self._watcher.is_alive():
                raise NodeStateError(f"the watch of the nodes has not ended after {CLOSE_S:g} s")
        self.check()

    def __enter__(self) -> "NodeWatch":
        """It watches already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End; without hiding what was raised, if something was."""
        if error is None:
            self.close()
        else:
            with suppress(ComposeError):
                self.close()

    def _first_lives(self) -> Iterator[tuple[str, Lives]]:
        for one in self._watched.values():
            now = self._inspect(one)
            # A process that has ended before the first look was up when the cluster was ready.
            lives, began = Lives(replace(now, is_up=True)), Change(kind="started", at_ns=now.started_ns)
            began_ns = self._known_ns[one.container] = now.started_ns - self._ahead_ns
            self._tell(one, began, at_ns=began_ns, owner="", detail="")
            for change in lives.found(now):
                self._report(one, change)
            yield one.container, lives

    def _read(self) -> None:
        """Pass on what the stream tells; when it breaks, or was silent for long, open it again.

        It goes on from its last event, which comes twice then: `Lives` knows it already.
        """
        while not self._closing.is_set():
            self._told.put(_Stream(is_whole=True))
            with suppress(ComposeError):
                for event in self._stream:
                    self._newest_ns = max(self._newest_ns, event.at_ns)
                    self._told.put(event)
            self._told.put(_Stream(is_whole=False))
            self._open_again()
        self._stream.close()

    def _open_again(self) -> None:
        while not self._closing.wait(RECONNECT_S):
            with suppress(ComposeError):
                self._stream = self._engine.events(self._newest_ns)
                return

    def _watch(self) -> None:
        try:
            while not self._closing.is_set():
                self._take_until(time.monotonic() + (POLL_S if self._stream_is_whole else BROKEN_POLL_S))
                with suppress(ComposeError):  # the engine may be away: then the next poll tells
                    self._look()
            self._take_until(time.monotonic())
            self._look()
            self._look()  # a life of which no event tells is believed when it is seen twice
        except Exception as error:  # kept whatever it is: a thread has no caller
            self._error = error

    def _take_until(self, deadline: float) -> None:
        """Handle what the stream tells, until `deadline`, or until it breaks or is whole again."""
        while True:
            try:
                told = self._told.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return
            if isinstance(told, _Stream):
                self._stream_is_whole = told.is_whole
                if not told.is_whole:
                    return
            elif told.container in self._watched:
                for change in self._lives[told.container].told(told):
                    self._report(self._watched[told.container], change)

    def _look(self) -> None:
        """Inspect every process."""
        self._tie_clocks()
        for one in self._watched.values():
            began_ns, lives = time.monotonic_ns(), self._lives[one.container]
            now = self._inspect(one)
            for change in lives.found(now):
                self._report(one, change)
            if now.is_up and lives.is_up and now.started_ns <= lives.since_ns:
                self._known_ns[one.container] = began_ns
        self._answered_s = time.monotonic()

    def _inspect(self, one: Watched) -> Inspected:
        try:
            return self._engine.inspect(one.container)
        except Vanished:
            return Inspected(is_up=False, finished_ns=self._engine.now_ns())

    def _tie_clocks(self) -> None:
        before_ns = time.monotonic_ns()
        engine_ns = self._engine.now_ns()
        self._ahead_ns = engine_ns - (before_ns + time.monotonic_ns()) // 2

    def _report(self, one: Watched, change: Change) -> None:
        at_ns = self._at_ns(one, change.at_ns)
        owner = self._owner(one.node, at_ns, change)
        detail = self._last_lines(one) if change.kind == "ended" and owner is None else ""
        self._known_ns[one.container] = at_ns
        self._tell(one, change, at_ns=at_ns, owner=owner, detail=detail)

    def _at_ns(self, one: Watched, engine_ns: int) -> int:
        """A time of the engine on our clock: after what was known of the process before, whatever it says.

        Where the engine's clock was set since the clocks were tied, its time alone would be off by as much.
        """
        at_ns = engine_ns - self._ahead_ns
        return min(max(at_ns, self._known_ns[one.container]), time.monotonic_ns())

    def _tell(self, one: Watched, change: Change, *, at_ns: int, owner: str | None, detail: str) -> None:
        started, oom = change.kind == "started", change.oom_killed
        self._on_event(
            ProcessEvent(
                at_ns=at_ns,
                node=one.node,
                role=one.role,
                event="started" if started else "oom-killed" if oom else "exited",
                exit_code=change.exit_code,
                planned=owner is not None,
                owner=owner or "",
                detail=detail,
            )
        )

    def _owner(self, node: int, at_ns: int, change: Change) -> str | None:
        if change.kind == "started":
            return self._planned.owner_of_start(node, at_ns)
        if change.oom_killed:
            return None
        return self._planned.owner_of_end(node, at_ns, change.exit_code)

    def _last_lines(self, one: Watched) -> str:
        try:
            return fatal_lines(self._engine.log(one.container, LOG_LINES))
        except ComposeError as error:
            return f"[no log: {error}]"


def fatal_lines(log: str) -> str:
    """The last lines that say why a process ended (errors of Kafka, of Java, of Go); else its last lines."""
    lines = [line.rstrip()[:MOST_CHARACTERS] for line in log.splitlines() if line.strip()]
    fatal = [line for line in lines if FATAL.search(line)]
    return "\n".join((fatal or lines)[-MOST_LINES:])
