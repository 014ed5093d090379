"""Which fault holds which node paused or its disk frozen, so that overlapping faults compose.

As in the mesh, a node stays as it is until the last fault that holds it so has released it. What is set to a
value, as a topic's replicas or a setting, one fault has to itself: it claims the thing by a name.

A fault that ends a node's process, or has its disk thawed, takes the node from all who hold it so. They are
told when, and by whom.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Literal

Hold = Literal["paused", "frozen", "pulsed"]
"""`pulsed`: in turn held and let go; then it is "paused" or "frozen" as well for as long as a pulse takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutShort:
    """A fault lost its hold of `node` at `at_ns`, before it has released it, to the fault `by`."""

    node: int
    by: str
    at_ns: int


@dataclass(slots=True)
class Holds:
    """Owners per node and kind of hold. Safe to use from threads: who changes a node has it to himself."""

    _owners: dict[tuple[Hold, int], set[str]] = field(default_factory=dict)
    _nodes: dict[int, threading.Lock] = field(default_factory=dict)
    _claims: dict[str, str] = field(default_factory=dict)
    _cut_short: dict[str, dict[int, CutShort]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def changing(self, nodes: Iterable[int]) -> Iterator[None]:
        """No other fault changes one of the nodes meanwhile; one that does is waited for."""
        with ExitStack() as held:
            for node in sorted(set(nodes)):  # in one order, so that nobody waits in a circle
                held.enter_context(self._of_node(node))
            yield

    def _of_node(self, node: int) -> threading.Lock:
        with self._lock:
            return self._nodes.setdefault(node, threading.Lock())

    def take(self, hold: Hold, node: int, owner: str) -> None:
        """`owner` holds `node`; taking twice is taking once."""
        with self._lock:
            self._owners.setdefault((hold, node), set()).add(owner)

    def release(self, hold: Hold, node: int, owner: str) -> bool:
        """Release `node`; whether no fault holds it now. Releasing twice is releasing once."""
        with self._lock:
            owners = self._owners.setdefault((hold, node), set())
            owners.discard(owner)
            return not owners

    def void(self, hold: Hold, node: int, *, by: str, at_ns: int) -> bool:
        """No fault holds `node` any more: `by` has ended its process or mount. Whether any had held it."""
        with self._lock:
            owners = self._owners.pop((hold, node), set())
            for owner in owners - {by}:
                lost = CutShort(node=node, by=by, at_ns=at_ns)
                self._cut_short.setdefault(owner, {}).setdefault(node, lost)
            return bool(owners)

    def cut_short(self, owner: str) -> tuple[CutShort, ...]:
        """The first time that `owner` lost its hold of each node, in the order of the nodes."""
        with self._lock:
            return tuple(lost for _, lost in sorted(self._cut_short.get(owner, {}).items()))

    def claim(self, thing: str, owner: str) -> str:
        """Claim `thing`; returns who has it now: `owner`, or the one who was quicker."""
        with self._lock:
            return self._claims.setdefault(thing, owner)

    def claimed_by(self, thing: str) -> str:
        """Who has `thing`; "" if nobody does."""
        with self._lock:
            return self._claims.get(thing, "")

    def give_up(self, thing: str, owner: str) -> None:
        """`owner` claims `thing` no more; nothing if another one has it."""
        with self._lock:
            if self._claims.get(thing) == owner:
                del self._claims[thing]
