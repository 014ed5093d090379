"""What the Docker Engine tells of a run's containers as it happens, and what it says of one when asked.

The engine's event stream has each start, end and lack of memory of a container with the engine's own time, in
nanoseconds. It keeps the last 256 events of all containers, so a stream that is opened again with `since_ns`
brings what was missed, unless the engine itself was restarted (moby, daemon/events/events.go).

A stream without events cannot be told from one whose engine stands still. So one that was silent for
API_TIMEOUT_S ends with an error, and whoever reads it opens it again.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from compose.docker.api import asking, client
from compose.docker.labels import RUN
from compose.errors import NodeStateError

SECOND_NS = 1_000_000_000
ACTIONS = ("start", "die", "oom")
UNKNOWN = -1
ENGINE_TIME = re.compile(
    r"(?P<seconds>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(?P<decimals>\d{1,9}))?(?P<zone>Z|[+-]\d\d:\d\d)"
)

Action = Literal["start", "die", "oom"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEvent:
    """One event of the stream; `at_ns` is the engine's wall clock, `exit_code` -1 unless it is a `die`.

    `container` is its name: a node's container may be replaced by another one of that name.
    """

    container: str
    action: Action
    at_ns: int
    exit_code: int = UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """A container as it is now; the times, on the engine's wall clock, are of its present or last life.

    `finished_ns` of a container that runs is the end of the life before, or -1; `is_up`: running or paused.
    """

    is_up: bool
    started_ns: int = UNKNOWN
    finished_ns: int = UNKNOWN
    exit_code: int = UNKNOWN
    oom_killed: bool = False


class EventStream:
    """The events of the containers of one run, from `since_ns` on; iterating blocks until `close`."""

    def __init__(self, run_id: str, *, since_ns: int) -> None:
        """Subscribed when this returns. Raises EngineUnreachable, NodeStateError."""
        self._since_ns = since_ns
        filters = {"type": ["container"], "label": [f"{RUN}={run_id}"], "event": list(ACTIONS)}
        with asking(f"following the containers of run {run_id}"):
            self._stream = client().api.events(since=since_ns // SECOND_NS, filters=filters, decode=True)

    def __iter__(self) -> Iterator[ContainerEvent]:
        """Each event once; ends when the engine closes the stream, or `close` is called.

        Raises EngineUnreachable, and NodeStateError after a long silence.
        """
        with asking("reading the engine's events"):
            for raw in self._stream:
                event = read_event(raw)
                if event.at_ns >= self._since_ns:  # the SDK takes whole seconds only
                    yield event

    def close(self) -> None:
        """End the stream, also for a thread that waits in it."""
        with suppress(Exception):  # the SDK closes sockets that may be closed already
            self._stream.close()


def read_event(raw: Mapping[str, Any]) -> ContainerEvent:
    """An event of the engine's API (version 1.41: `Action`, `Actor`, `timeNano`)."""
    attributes = raw["Actor"]["Attributes"]
    return ContainerEvent(
        container=str(attributes["name"]),
        action=raw["Action"],
        at_ns=int(raw["timeNano"]),
        exit_code=int(attributes.get("exitCode", UNKNOWN)),
    )


def read_inspected(state: Mapping[str, Any]) -> Inspected:
    """The `State` of a container as the engine reports it."""
    is_up = state["Status"] in ("running", "paused", "restarting")
    return Inspected(
        is_up=is_up,
        started_ns=engine_time_ns(state["StartedAt"]),
        finished_ns=engine_time_ns(state["FinishedAt"]),
        exit_code=UNKNOWN if is_up else int(state["ExitCode"]),
        oom_killed=bool(state.get("OOMKilled", False)),
    )


def engine_time_ns(text: str) -> int:
    """An engine's time (RFC 3339, up to nine decimals) as nanoseconds since 1970; -1 for its "never"."""
    found = ENGINE_TIME.fullmatch(text)
    if found is None:
        raise NodeStateError(f"the engine reports the time {text!r}, which is not of RFC 3339")
    zone = "+00:00" if found["zone"] == "Z" else found["zone"]
    seconds = int(datetime.fromisoformat(found["seconds"] + zone).timestamp())
    return UNKNOWN if seconds < 0 else seconds * SECOND_NS + int((found["decimals"] or "").ljust(9, "0"))


def engine_now_ns() -> int:
    """The engine's wall clock now; takes 10 to 14 ms. Raises EngineUnreachable."""
    with asking("reading the engine's clock"):
        return engine_time_ns(client().api.info()["SystemTime"])
