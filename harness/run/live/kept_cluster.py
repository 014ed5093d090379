"""The cluster that a run gets: that of the run before, if it fits and is proven clean; else a new one.

A run keeps its cluster only by saying so (`keep`) when all that needed it went well; a run that fails, that
stops its brokers, or says nothing, leaves nothing behind. At most one cluster waits for a next run. Where it
is known that the next run will need another one, that can boot already while a run goes on (`begin_next`).
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event

from compose.cluster import cleanness, ready
from compose.cluster.cleanness import Before
from compose.cluster.start import DockerCluster, start
from compose.errors import ComposeError
from compose.kafka.view import ClusterView
from compose.protocols import Cluster, MetadataLog
from compose.spec.topology import Topology
from harness.errors import StepFailed
from harness.run.live import topics
from harness.run.live.next_cluster import NextCluster
from harness.run_directory.layout import RunDir

DECODED_S = 60.0
SERVES_WITHIN_S = 5.0
"""Every broker serves already; this is one round of questions."""
FIRST = "it is the first"
OTHER = "the run before had another cluster, or had ended it"


@dataclass(slots=True, kw_only=True)
class Held:
    """A cluster, what ends it, and how many runs it has served."""

    topology: Topology
    cluster: DockerCluster
    ends: ExitStack
    served: int = 0
    why_new: str = ""
    ahead_s: float | None = None
    keep: bool = False
    before: Before | None = None
    unclean: list[str] = field(default_factory=list)
    copies: list[Event] = field(default_factory=list)
    """Copies of its metadata log, each set when it was decoded: the cluster must not end before."""


class KeptCluster:
    """Gives each run its cluster; `close` ends the one that waits for a next run."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self._waiting: Held | None = None
        self._of: dict[int, Held] = {}
        self._given, self._why = 0, ""
        self._next: NextCluster | None = None

    def begin_next(self, topology: Topology, *, in_s: float) -> None:
        """Begin to boot the cluster of the next run in so many seconds; returns at once."""
        self._end_next()
        # The host's ports are taken until the run under way has ended.
        if not topology.client_port:
            self._next = NextCluster(topology, in_s=in_s)

    @contextmanager
    def lease(self, topology: Topology, run: RunDir) -> Iterator[DockerCluster]:
        """A started cluster for one run; leaving collects its logs, if nobody has, and keeps or ends it."""
        held = self._reused(topology) or self._begun(topology) or self._started(topology, run)
        self._given += 1
        self._of[id(held.cluster)] = held
        of_runs_before = tuple(held.copies)
        try:
            yield held.cluster
        finally:
            del self._of[id(held.cluster)]
            try:
                if not run.nodes.exists():
                    with suppress(ComposeError):
                        held.cluster.collect(run.nodes)
            finally:
                self._leave(held, of_runs_before)

    def served(self, cluster: object) -> int:
        """How many runs a cluster had served before the one that leases it; 0: none, or nobody leases it."""
        held = self._of.get(id(cluster))
        return held.served if held else 0

    def why_new(self, cluster: object) -> str:
        """Why a leased cluster was started for this run; "" if it was not."""
        held = self._of.get(id(cluster))
        return held.why_new if held else ""

    def ahead_s(self, cluster: object) -> float | None:
        """How long before its run a leased cluster had begun to boot; None if it had not."""
        held = self._of.get(id(cluster))
        return held.ahead_s if held else None

    def lived_before(self, cluster: object) -> bool:
        """Whether a leased cluster was there before its run: that is none of the run's evidence."""
        return self.served(cluster) > 0 or self.ahead_s(cluster) is not None

    def keep(self, cluster: object) -> None:
        """A leased cluster may serve another run."""
        self._of[id(cluster)].keep = True

    def copy_metadata(self, cluster: Cluster) -> MetadataLog:
        """Copy the metadata log of a leased cluster. The result decodes it, also when the lease is over."""
        log, decoded = cluster.copy_metadata(), Event()
        self._of[id(cluster)].copies.append(decoded)

        def decode() -> list[dict[str, object]]:
            try:
                return log()
            finally:
                decoded.set()

        return decode

    def abandon_next(self) -> None:
        """Let the cluster of the next run be taken down; returns at once."""
        if self._next is not None:
            self._next.abandon()

    def close(self) -> None:
        """End the clusters that wait, as soon as what was copied of them is decoded. Raises ComposeError."""
        try:
            self._end_waiting()
        finally:
            self._end_next()

    def _end_next(self) -> None:
        following, self._next = self._next, None
        if following is not None:
            following.close()

    def _end_waiting(self) -> None:
        held, self._waiting = self._waiting, None
        if held is not None:
            _end(held, held.copies)

    def _leave(self, held: Held, of_runs_before: Sequence[Event]) -> None:
        if not held.keep:
            _end(held, of_runs_before)
            return
        held.keep, held.served = False, held.served + 1
        try:
            held.before = cleanness.before(held.cluster)
        except ComposeError as error:
            held.unclean = [str(error)]
        self._waiting = held

    def _reused(self, topology: Topology) -> Held | None:
        """The cluster that waits, for a run of its topology, if it is as good as new; else it is ended."""
        held = self._waiting
        if held is None or held.topology != topology:
            self._end_waiting()
            return None
        self._why = "; ".join(held.unclean or _unclean(held))
        if self._why:
            self._end_waiting()
            return None
        self._waiting = None
        held.why_new, held.ahead_s = "", None
        held.cluster.begin_run()
        return held

    def _begun(self, topology: Topology) -> Held | None:
        """The cluster that was begun for this run; None if there is none, or it does not come up."""
        following = self._next
        if following is None or following.topology != topology:
            self._end_next()
            return None
        try:
            cluster = following.ready()
        except ComposeError as error:
            self._why = f"{OTHER}; the one that was begun beside it: {str(error).splitlines()[0]}"
            self._end_next()
            return None
        cluster.begin_run()
        self._next, ends = None, ExitStack()
        ends.callback(following.close)
        return Held(
            topology=topology,
            cluster=cluster,
            ends=ends,
            why_new=OTHER,
            ahead_s=round(following.ahead_s, 3),
        )

    def _started(self, topology: Topology, run: RunDir) -> Held:
        why, self._why = self._why or (OTHER if self._given else FIRST), ""
        ends = ExitStack()
        cluster = ends.enter_context(start(topology, run_id=secrets.token_hex(4), workdir=run.path))
        return Held(topology=topology, cluster=cluster, ends=ends, why_new=why)


def _end(held: Held, copies: Sequence[Event]) -> None:
    """End it, as soon as what was copied of it is decoded."""
    for decoded in copies:
        decoded.wait(DECODED_S)
    held.ends.close()


def _unclean(held: Held) -> list[str]:
    """What is not as in a new cluster, after the topics of the runs before are deleted."""
    cluster = held.cluster
    assert held.before is not None
    try:
        with ClusterView(cluster.bootstrap) as view:
            topics.delete_all(cluster.bootstrap, view)
            ready.wait_until_ready(cluster, within_s=SERVES_WITHIN_S)
            volume_bytes = held.topology.volume_mib << 20
            return cleanness.what_is_left(cluster, view, held.before, volume_bytes=volume_bytes)
    except (ComposeError, StepFailed) as error:
        return [str(error).splitlines()[0]]
