"""A Docker Engine that tells what a test puts into it, for the watch of the nodes."""

import queue
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from compose.docker.events import ContainerEvent, Inspected
from compose.errors import EngineUnreachable, Vanished


@dataclass
class FakeEvents:
    """A stream: blocks until something is put into it; None ends it."""

    coming: "queue.SimpleQueue[ContainerEvent | None]" = field(default_factory=queue.SimpleQueue)

    def __iter__(self) -> Iterator[ContainerEvent]:
        while (event := self.coming.get()) is not None:
            yield event

    def close(self) -> None:
        self.coming.put(None)


@dataclass
class FakeEngine:
    """Containers by name. Its wall clock is `ahead_ns` ahead of the machine's monotonic one."""

    containers: dict[str, Inspected]
    logs: dict[str, str] = field(default_factory=dict)
    ahead_ns: int = 5_000_000_000_000
    away: bool = False
    streams: list[FakeEvents] = field(default_factory=list)

    def now_ns(self) -> int:
        self._answer()
        return time.monotonic_ns() + self.ahead_ns

    def events(self, since_ns: int) -> FakeEvents:
        self._answer()
        self.streams.append(FakeEvents())
        return self.streams[-1]

    def inspect(self, container: str) -> Inspected:
        self._answer()
        if container not in self.containers:
            raise Vanished(f"no container {container}")
        return self.containers[container]

    def log(self, container: str, lines: int) -> str:
        self._answer()
        return self.logs.get(container, "")

    def tell(self, container: str, action: str, *, exit_code: int = -1) -> int:
        """An event of now, in the newest stream; the time that it has."""
        at_ns = self.now_ns()
        self.streams[-1].coming.put(
            ContainerEvent(container=container, action=action, at_ns=at_ns, exit_code=exit_code)  # type: ignore[arg-type]
        )
        return at_ns

    def _answer(self) -> None:
        if self.away:
            raise EngineUnreachable("no Docker Engine answers")
