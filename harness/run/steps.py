"""What a run asks of the other rooms, as small Protocols: the real ones are in harness/real_rooms.py.

Each call returns plain data or raises; none reaches back into the runner. Tests put fakes in their place.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from threading import Event
from typing import Any, Protocol

from checkers.history.rows import Proof
from compose.protocols import Cluster
from harness.report.report import Report
from harness.run_directory.layout import RunDir
from harness.scenario.resolve import Resolved
from harness.terminal.progress import Snapshot

Say = Callable[[str], None]


class Load(Protocol):
    """Producers, readers and the sampler of one run."""

    def wait_warm(self) -> None:
        """Return when every producer has acknowledgements; raises after a deadline."""

    def snapshot(self) -> Snapshot:
        """The figures of this moment."""

    def check(self) -> None:
        """Raise if a thread of the load has died."""

    def stop_producers(self) -> None:
        """End the sending; every send has an outcome when this returns."""

    def stop(self) -> None:
        """End everything; what was recorded is on disk when this returns."""


class Rooms(Protocol):
    """The steps of a run that need the world outside."""

    def cluster(self, resolved: Resolved, run: RunDir) -> AbstractContextManager[Cluster]:
        """A started cluster; leaving saves its logs and removes everything of it."""

    def describe(self, cluster: Cluster) -> Mapping[str, Any]:
        """What the manifest says of the cluster that was started."""

    def make_topics(self, cluster: Cluster, resolved: Resolved) -> list[dict[str, Any]]:
        """Create the topics and wait until they are settled; returns them with their real settings."""

    def load(self, cluster: Cluster, resolved: Resolved, run: RunDir) -> AbstractContextManager[Load]:
        """A started load; leaving stops it."""

    def run_faults(
        self, cluster: Cluster, resolved: Resolved, run: RunDir, *, stop: Event, say: Say
    ) -> tuple[str, ...]:
        """Run the schedule, heal, write the faults table; returns a line for each fault without evidence."""

    def warm_up(self) -> None:
        """Have the verifier ready soon; returns at once."""

    def wait_in_sync(self, cluster: Cluster, resolved: Resolved) -> None:
        """Heal whatever is still broken and wait until every replica is in sync; raises after a deadline."""

    def final_read(self, cluster: Cluster, resolved: Resolved, run: RunDir) -> tuple[Proof, ...]:
        """Read every partition to a proven end and write it; one proof each."""

    def save_timeline(self, cluster: Cluster, run: RunDir) -> None:
        """Write the timeline of the metadata log."""

    def seal(self, run: RunDir, proofs: tuple[Proof, ...]) -> Mapping[str, Any]:
        """Turn the journals into the history, then write the proofs; what the manifest says of it."""

    def judge(self, run: RunDir) -> Report:
        """Verify and judge what is in the run directory."""
