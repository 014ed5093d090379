"""The steps of a run that need a cluster, clients, faults or Spark, as one Protocol.

`harness/run/live/live_steps.py` has the real ones, `tests/fakes/run/run_steps.py` those of tests. A step
returns plain data or raises; none calls back into the run, except through `on_event`.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Event
from typing import Protocol

from checkers.history.rows import Proof
from compose.protocols import Cluster, MetadataLog
from harness.report.report import Report
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import ClusterReady, ManifestProducer, ManifestTopic
from harness.scenario.resolve import Resolved
from harness.terminal.progress import LoadFigures
from workloads.record.recorder import RecordedSends

OnEvent = Callable[[str], None]
"""Gets one line for each event of the schedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedCluster:
    """What the manifest keeps of a cluster; `run_id` is in the labels of everything that belongs to it.

    `served` is how many runs it had served before; `why_new`: why it was started for this one, if it was;
    `ahead_s`: how long before this run that had begun, beside the run before.
    """

    run_id: str
    images: tuple[str, ...]
    ready: ClusterReady | None
    served: int = 0
    why_new: str = ""
    ahead_s: float | None = None


class Load(Protocol):
    """Producers, readers and the sampler of one run."""

    def wait_warm(self) -> None:
        """Return when every producer has acknowledgements; raises after a deadline."""

    def figures(self) -> LoadFigures:
        """The figures of this moment."""

    def check(self) -> None:
        """Raise if a thread of the load has died."""

    def stop_producers(self) -> None:
        """End the sending; every send has an outcome when this returns."""

    def stop(self) -> None:
        """End everything; what was recorded is on disk when this returns."""

    def abandon(self) -> None:
        """End everything at once; what is outstanding is indeterminate."""

    def recorded(self) -> Mapping[int, RecordedSends]:
        """What each producer instance has sent, as counted in memory."""


class RunWatch(Protocol):
    """The watch over the processes of the cluster, the clocks and the machine."""

    def check(self) -> None:
        """Raise if nobody would know of an end, or if no fault can be injected or healed any more."""

    def stop(self) -> None:
        """Look once more, and end; what was recorded is on disk when this returns."""


class RunSteps(Protocol):
    """Each step of a run, in call order."""

    def cluster(self, resolved: Resolved, run: RunDir) -> AbstractContextManager[Cluster]:
        """A started cluster; leaving saves its logs and removes everything of it."""

    def describe(self, cluster: Cluster) -> StartedCluster:
        """The cluster that was started, for the manifest."""

    def watch(
        self, cluster: Cluster, resolved: Resolved, run: RunDir, *, on_event: OnEvent
    ) -> AbstractContextManager[RunWatch]:
        """Watch from now on; `on_event` gets each start or end of a process that nobody had planned."""

    def make_topics(self, cluster: Cluster, resolved: Resolved) -> tuple[ManifestTopic, ...]:
        """Create the topics and wait until they are settled; returns them with their real settings."""

    def load(self, cluster: Cluster, resolved: Resolved, run: RunDir) -> AbstractContextManager[Load]:
        """A started load; leaving stops it."""

    def run_faults(
        self, cluster: Cluster, resolved: Resolved, run: RunDir, *, stop: Event, on_event: OnEvent
    ) -> tuple[str, ...]:
        """Run the schedule, heal, write the faults table; returns the name of each fault without evidence."""

    def warm_up(self) -> None:
        """Begin to make the verifier ready; returns at once."""

    def wait_in_sync(self, cluster: Cluster, resolved: Resolved) -> None:
        """Heal whatever is still broken and wait until every replica is in sync; raises after a deadline."""

    def final_read(
        self, cluster: Cluster, resolved: Resolved, run: RunDir, *, stop: Event
    ) -> tuple[Proof, ...]:
        """Read every partition to a proven end, or until `stop`, and write it; one proof each."""

    def copy_metadata(self, cluster: Cluster) -> MetadataLog:
        """Copy the metadata log as it is now; the result decodes it, while the cluster is there."""

    def save_timeline(self, log: MetadataLog, resolved: Resolved, run: RunDir) -> None:
        """Decode the metadata log, and write what it says of the run."""

    def keep(self, cluster: Cluster) -> None:
        """The run needs its cluster no more, and another one may have it."""

    def copy_disks(self, cluster: Cluster, resolved: Resolved, run: RunDir) -> tuple[str, ...]:
        """As `end_brokers`, but no broker is stopped: nobody writes to the run's topics any more."""

    def end_brokers(self, cluster: Cluster, resolved: Resolved, run: RunDir) -> tuple[str, ...]:
        """Stop every broker, then keep the nodes' logs and what the brokers' disks hold of each replica.

        Returns a line for each thing that could not be had.
        """

    def seal_load(self, run: RunDir) -> tuple[ManifestProducer, ...]:
        """Seal what the load has recorded; its producers. The load has ended."""

    def abandon_seal(self) -> None:
        """End `seal_load`, which another thread waits for; it raises."""

    def seal(self, run: RunDir, proofs: tuple[Proof, ...]) -> None:
        """Seal what else was recorded, after `seal_load`. The watch has ended."""

    def audit(self, run: RunDir) -> None:
        """Turn the replicas that were kept into tables of the history."""

    def judge(self, run: RunDir) -> Report:
        """Verify and judge what is in the run directory."""
