"""One node's container: what it is doing, and the process faults, each read back before it returns."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, get_args

from compose.docker import containers
from compose.errors import ComposeError, NodeStateError, Refused, Vanished
from compose.host.waiting import wait_until
from compose.protocols import ContainerState, Status

CHANGE_S = 20.0
NOT_FROZEN, FREEZE_TRIES = "unable to freeze", 3
"""The freezer gives up, and thaws what it had, if a process does not come out of the kernel in time: one that
waits for its disk on a busy machine. The next try succeeds."""
MISSING = ContainerState(status="missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of the cluster: its number, its container, the network it lives in, and what it runs.

    A container is of one Kafka release, with the `properties` (server.properties) that it was made with. The
    node keeps its `name` where a container of another release takes its place.
    """

    number: int
    container_id: str
    name: str
    network: str
    release: str
    properties: str

    def state(self) -> ContainerState:
        """The state of the container now, as the engine reports it."""
        try:
            return read_state(containers.inspect(self.container_id)["State"])
        except Vanished:
            return MISSING

    def pause(self) -> None:
        """Stop all of its processes in place."""
        for _ in range(FREEZE_TRIES - 1):
            try:
                self._change("pause", "paused", {"paused"})
                return
            except ComposeError as error:
                if NOT_FROZEN not in str(error):
                    raise
        self._change("pause", "paused", {"paused"})

    def unpause(self) -> None:
        """Let it go on if it is paused."""
        if self.state().status == "paused":
            self._change("unpause", "running", {"running", "exited", "missing"})

    def kill(self) -> None:
        """SIGKILL; nothing to do if it has exited by itself."""
        if self.state().status != "created":
            self._change("kill", "exited", {"exited"})

    def start(self) -> None:
        """Start it if it does not run."""
        self._change("start", "running", {"running"})

    def stop(self, *, within_s: float) -> None:
        """SIGTERM, then wait until it has exited. Raises NodeStateError after `within_s` seconds."""
        if self.state().status == "paused":
            raise NodeStateError(f"{self.name}: paused, and so cannot stop; unpause it first")
        # It is refused if it does not run, which is what was wanted; the wait makes sure of it.
        with suppress(Refused):
            containers.signal_stop(self.container_id, name=self.name)
        self._wait("has stopped", lambda state: state.status in ("exited", "created"), within_s)

    def limit_cpu(self, cpus: float | None) -> None:
        """Let it use so many processors at most; None: as many as there are."""
        containers.set_cpu_quota(self.container_id, cpus, name=self.name)
        if (limit := self.cpu_limit()) != cpus:
            raise NodeStateError(f"{self.name}: may use {limit} processors, and was limited to {cpus}")

    def cpu_limit(self) -> float | None:
        """How many processors it may use at most; None: as many as there are."""
        return containers.cpu_quota(self.container_id)

    def share_cpu(self, shares: int) -> None:
        """Set its weight where the processors do not suffice for all."""
        containers.set_cpu_shares(self.container_id, shares, name=self.name)

    def limit_memory(self, most_bytes: int | None) -> None:
        """Let it have so many bytes of memory at most; None: as many as there are."""
        containers.set_memory_limit(self.container_id, most_bytes, name=self.name)
        if (limit := self.memory_limit()) != most_bytes:
            raise NodeStateError(f"{self.name}: may have {limit} bytes, and was limited to {most_bytes}")

    def memory_limit(self) -> int | None:
        """How many bytes of memory it may have at most; None: as many as there are."""
        return containers.memory_limit(self.container_id)

    def _change(self, action: str, wanted: Status, done: set[str]) -> None:
        before = self.state()
        if before.status in done:
            return
        try:
            containers.act(self.container_id, action, name=self.name)
        except (Refused, Vanished) as error:
            # It may have come into the wanted state by itself meanwhile; else its refusal is the news.
            if self.state().status not in done:
                raise NodeStateError(f"{self.name}: {before.status}; {error}") from error
        self._wait(f"is {wanted} after {action}", lambda state: state.status in done, CHANGE_S)

    def _wait(self, what: str, holds: Callable[[ContainerState], bool], within_s: float) -> None:
        """Or until it is gone: then nothing comes any more."""

        def is_over(state: ContainerState) -> bool:
            return holds(state) or state == MISSING

        state = wait_until(
            f"{self.name} {what}", self.state, is_over, within_s=within_s, error=NodeStateError
        )
        if not holds(state):
            raise NodeStateError(f"{self.name} {what}: it never will, its container is gone")


def read_state(state: dict[str, Any]) -> ContainerState:
    """The engine's `State` as ours; what is being removed counts as missing, what restarts as running."""
    status = {"restarting": "running", "dead": "exited", "removing": "missing"}.get(
        state["Status"], state["Status"]
    )
    if status not in get_args(Status):
        raise NodeStateError(
            f"the engine reports the state {status!r}, which is not a known state of a container"
        )
    alive = status in ("running", "paused")
    return ContainerState(
        status=status,
        exit_code=None if alive or status == "created" else int(state["ExitCode"]),
        pid=int(state["Pid"]) if alive else None,
        started_at=str(state["StartedAt"]),
    )


def with_restarts(state: ContainerState, restarts: int) -> ContainerState:
    """`state` with the number of times the node was started again."""
    return replace(state, restarts=restarts)
