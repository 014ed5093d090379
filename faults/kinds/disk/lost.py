"""What of nodes' logs is gone with a file system that was cut off, counted file by file."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from faults.kinds.fault.base import Injection, StepT
from faults.kinds.fault.evidence import by_name, shorter_by


@dataclass(slots=True)
class Lost:
    """By node, in bytes: what its logs had before it was cut off, by file; how much of that was unsynced, and
    how much is gone. Each is told to the outages of the injection: those nodes have lost data."""

    before: dict[int, Mapping[str, int]] = field(default_factory=dict)
    unsynced: dict[int, int] = field(default_factory=dict)
    gone: dict[int, int] = field(default_factory=dict)

    def measure(self, injection: Injection[StepT], node: int, log_dir: int | None = None) -> None:
        """Read what there is; a node that runs writes on meanwhile, so that more may go."""
        self.before[node] = injection.cluster.log_sizes(node, log_dir=log_dir)
        self.unsynced[node] = injection.cluster.unsynced_bytes(node, log_dir=log_dir)

    def cut(self, injection: Injection[StepT], node: int) -> None:
        """It was cut off: what was unsynced is gone."""
        if self.unsynced[node] > 0:
            injection.outages.data_lost.add(node)

    def note(self, injection: Injection[StepT], node: int, left: Mapping[str, int]) -> None:
        """So much is left, by file."""
        self.gone[node] = shorter_by(self.before[node], left)
        if self.gone[node] > 0:
            injection.outages.data_lost.add(node)

    @property
    def unsynced_before(self) -> Mapping[str, object]:
        """For evidence."""
        return {"unsynced_log_bytes_before": by_name(self.unsynced)}

    @property
    def values(self) -> Mapping[str, object]:
        """For evidence."""
        return {"lost_log_bytes": by_name(self.gone)}
