"""Which ends and starts of a node this harness itself causes: announced before it acts, by whom.

An end is planned iff it comes while it is announced, with an exit code that the announced act leads to.
Who kills a node announces 137 and who stops it 143 or 0; so a process that halts by itself, or is killed by
somebody else, while the harness is stopping it is not excused. What a node's process does of its own accord
is planned only where a fault has said that it may (`allow`): a broker whose log directory fails halts.
"""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

KILLED = (137,)
"""The exit code after SIGKILL."""
STOPPED = (0, 143)
"""The exit codes after SIGTERM: that of the signal, or of a program that catches it and ends well."""
HALTED = (1,)
"""The exit code with which Kafka ends itself (`Exit.halt(1)`, ProcessTerminatingFaultHandler)."""

EARLY_NS, LATE_NS = 2_000_000_000, 1_000_000_000
"""An event's time is the engine's, on our clock. Where that is another machine's, it is early or late by half
a question to the engine: 5 to 7 ms, and up to 0.4 s measured where processors were short. Early does no harm,
for the node runs when its end is announced; late might excuse an end just after we started it again."""
NEVER_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """From `begin_ns` to `end_ns` of our monotonic clock `owner` may cause an end with one of `codes`."""

    owner: str
    codes: tuple[int, ...]
    begin_ns: int
    end_ns: int = NEVER_NS

    def covers(self, at_ns: int) -> bool:
        """Whether it is in force at this time."""
        return self.begin_ns - EARLY_NS <= at_ns <= self.end_ns + LATE_NS

    @property
    def is_open(self) -> bool:
        """Whether it goes on."""
        return self.end_ns == NEVER_NS


class PlannedEnds:
    """What was announced of each node; for any thread."""

    def __init__(self, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._now_ns = now_ns
        self._ends: dict[int, list[Announced]] = {}
        self._starts: dict[int, list[Announced]] = {}
        self._lock = threading.Lock()

    def ending(self, node: int, *, owner: str, codes: Collection[int]) -> None:
        """The node runs, and `owner` is about to end it; holds until it `runs` again."""
        self._announce(self._ends, node, owner, codes)

    def allow(self, node: int, *, owner: str) -> None:
        """The node may halt by itself, because of `owner`, until `disallow`."""
        self._announce(self._ends, node, owner, HALTED)

    def disallow(self, node: int, *, owner: str) -> None:
        """From now on the node may not halt because of `owner`."""
        with self._lock:
            self._close(node, lambda one: one.owner == owner and one.codes == HALTED)

    def starting(self, node: int, *, owner: str) -> None:
        """The node has ended, and `owner` is about to start it."""
        self._announce(self._starts, node, owner, ())

    def runs(self, node: int) -> None:
        """The node runs: what was announced of its end and start is over, but not what it may do itself."""
        with self._lock:
            self._close(node, lambda one: one.codes != HALTED)
            self._starts[node] = [self._closed(one) for one in self._starts.get(node, [])]

    def allowed(self, node: int) -> tuple[str, ...]:
        """For whom the node may halt by itself now."""
        with self._lock:
            open_now = (one for one in self._ends.get(node, []) if one.is_open and one.codes == HALTED)
            return tuple(one.owner for one in open_now)

    def owner_of_end(self, node: int, at_ns: int, exit_code: int) -> str | None:
        """Who had announced an end of that time with that exit code (-1: any); None: nobody."""
        with self._lock:
            return next(
                (
                    one.owner
                    for one in reversed(self._ends.get(node, []))
                    if one.covers(at_ns) and (exit_code in one.codes or exit_code < 0)
                ),
                None,
            )

    def owner_of_start(self, node: int, at_ns: int) -> str | None:
        """Who had announced a start of that time; None: nobody."""
        with self._lock:
            return next(
                (one.owner for one in reversed(self._starts.get(node, [])) if one.covers(at_ns)), None
            )

    def _announce(
        self, of: dict[int, list[Announced]], node: int, owner: str, codes: Collection[int]
    ) -> None:
        made = Announced(owner=owner, codes=tuple(codes), begin_ns=self._now_ns())
        with self._lock:
            of.setdefault(node, []).append(made)

    def _close(self, node: int, which: Callable[[Announced], bool]) -> None:
        self._ends[node] = [self._closed(one) if which(one) else one for one in self._ends.get(node, [])]

    def _closed(self, one: Announced) -> Announced:
        return replace(one, end_ns=self._now_ns()) if one.is_open else one
