"""Which fault holds which node paused or its disk frozen, so that overlapping faults compose.

As in the mesh, a node stays as it is until the last fault that holds it so has released it.
"""

from dataclasses import dataclass, field
from typing import Literal

Hold = Literal["paused", "frozen"]


@dataclass(slots=True)
class Holds:
    """Owners per node and kind of hold. One thread only: that of the event loop."""

    _owners: dict[tuple[Hold, int], set[str]] = field(default_factory=dict)

    def take(self, hold: Hold, node: int, owner: str) -> None:
        """`owner` holds `node`; taking twice is taking once."""
        self._owners.setdefault((hold, node), set()).add(owner)

    def release(self, hold: Hold, node: int, owner: str) -> bool:
        """Release `node`; whether no fault holds it now. Releasing twice is releasing once."""
        owners = self._owners.setdefault((hold, node), set())
        owners.discard(owner)
        return not owners

    def void(self, hold: Hold, node: int) -> bool:
        """No fault holds `node` any more: its process or mount is gone. Whether any had held it."""
        return bool(self._owners.pop((hold, node), None))
