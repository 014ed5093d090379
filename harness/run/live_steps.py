"""The steps of a real run: a Docker cluster, Kafka clients, faults, Spark. Each is a few calls."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from threading import Event
from types import TracebackType

import pyarrow as pa

from checkers.history import metadata_replay
from checkers.history.rows import Proof
from checkers.history.tables import TABLES, unit_path, write_table
from compose.cluster.start import DockerCluster, start
from compose.errors import ComposeError
from compose.kafka.view import ClusterView
from compose.protocols import Cluster
from compose.spec import images
from faults.clock import SystemClock
from faults.schedule.record import FaultEvent
from faults.schedule.scheduler import run_schedule
from harness.report.judge import judge
from harness.report.report import Report
from harness.run import topics
from harness.run.load import LiveLoad
from harness.run.steps import OnEvent, StartedCluster
from harness.run.verifier import SparkVerifier
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import ClusterReady, ManifestProducer, ManifestTopic
from harness.run_directory.recover import producers_of
from harness.scenario.load_plan import load_plan
from harness.scenario.resolve import Resolved
from workloads import run as workload
from workloads.observe.final_read import final_read, write_proofs
from workloads.record.seal import seal

SETTLED_S = 30.0
MOST_NAMED = 4
"""Nodes or edges of a fault that one line names."""


class LiveRunSteps:
    """One for all runs of a command: it holds the Spark session, which starts with it."""

    def __init__(self, spark_master: str) -> None:
        """Nothing is started yet."""
        self._verifier = SparkVerifier(spark_master)
        self._active: dict[int, str] = {}

    def __enter__(self) -> "LiveRunSteps":
        """Begin to start Spark."""
        self._verifier.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End Spark."""
        self._verifier.close()

    @contextmanager
    def cluster(self, resolved: Resolved, run: RunDir) -> Iterator[DockerCluster]:
        """A started cluster; its name in the engine is a short random id."""
        self._active.clear()
        with start(resolved.topology, run_id=secrets.token_hex(4), workdir=run.path) as cluster:
            try:
                yield cluster
            finally:
                with suppress(ComposeError):
                    cluster.collect(run.nodes)

    def describe(self, cluster: Cluster) -> StartedCluster:
        """The cluster that was started, for the manifest."""
        releases = map(cluster.release_of, (*cluster.controllers, *cluster.brokers))
        return StartedCluster(
            run_id=cluster.run_id,
            images=(*dict.fromkeys(map(images.kafka_image, releases)), images.toxiproxy_image()),
            ready=None if cluster.timings is None else ClusterReady(**asdict(cluster.timings)),
        )

    def make_topics(self, cluster: Cluster, resolved: Resolved) -> tuple[ManifestTopic, ...]:
        """Create the topics, wait until they are settled; returns them with the settings they really have."""
        topics.create(cluster.bootstrap, resolved.scenario.topics)
        with _view(cluster) as view:
            for topic in resolved.scenario.topics:
                view.wait_until_settled(topic.name, within_s=SETTLED_S)
        return topics.read_back(cluster.bootstrap, resolved.scenario.topics)

    @contextmanager
    def load(self, cluster: Cluster, resolved: Resolved, run: RunDir) -> Iterator[LiveLoad]:
        """A started load."""
        plan = load_plan(resolved.scenario, resolved.seed)
        with workload.start(plan, cluster.bootstrap, run.path, run.id) as started:
            yield LiveLoad(started, self._active)

    def run_faults(
        self, cluster: Cluster, resolved: Resolved, run: RunDir, *, stop: Event, on_event: OnEvent
    ) -> tuple[str, ...]:
        """Run the schedule and write the faults table."""

        def report(event: FaultEvent) -> None:
            self._note(event)
            on_event(event_text(event))

        with _view(cluster) as view:
            records = run_schedule(resolved.steps, cluster, view, SystemClock(), stop=stop, on_event=report)
        _write(run, "faults", [record.row() for record in records])
        return tuple(record.name for record in records if not record.proven)

    def _note(self, event: FaultEvent) -> None:
        if event.stage == "injected":
            self._active[event.index] = f"{event.kind} {_hit(event)}"
        if event.stage in ("healed", "skipped"):
            self._active.pop(event.index, None)

    def warm_up(self) -> None:
        """Begin to start Spark's workers, so that they are ready when the history is."""
        self._verifier.warm_up()

    def wait_in_sync(self, cluster: Cluster, resolved: Resolved) -> None:
        """Heal once more whatever may be left, then wait for every replica."""
        cluster.mesh.mend_all()
        for node in {*cluster.brokers, *cluster.controllers}:
            cluster.thaw(node)
            cluster.unpause(node)
            if cluster.state(node).status == "exited":
                cluster.start(node)
        names = [topic.name for topic in resolved.scenario.topics]
        with _view(cluster) as view:
            view.wait_for_full_isr(names, within_s=resolved.scenario.settle.full_isr_s)

    def final_read(self, cluster: Cluster, resolved: Resolved, run: RunDir) -> tuple[Proof, ...]:
        """Read every partition to a proven end."""
        partitions = load_plan(resolved.scenario, resolved.seed).partitions
        within_s = resolved.scenario.settle.final_read_s
        return final_read(cluster.bootstrap, partitions, run.history, within_s=within_s, run=run.id)

    def save_timeline(self, cluster: Cluster, run: RunDir) -> None:
        """Replay the metadata log into the history; Kafka's internal topics are left out."""
        rows = metadata_replay.timeline(cluster.metadata_records())
        _write(run, "metadata", [asdict(row) for row in rows if not row.topic.startswith("__")])

    def seal(self, run: RunDir, proofs: tuple[Proof, ...]) -> tuple[ManifestProducer, ...]:
        """Seal the journals. The proofs come last: without them nothing is decided."""
        producers = producers_of(seal(run.path, run.id, ended=True))
        write_proofs(run.history, proofs, run.id)
        return producers

    def judge(self, run: RunDir) -> Report:
        """Verify with Spark, and judge."""
        return judge(run, self._verifier)


def event_text(event: FaultEvent) -> str:
    """ "kill (kill of node 1): injected"."""
    detail = f": {event.detail}" if event.detail else ""
    return f"{event.name} ({event.kind} of {_hit(event)}) {event.stage}{detail}"


def _hit(event: FaultEvent) -> str:
    hit = event.edges or tuple(f"node {node}" for node in event.nodes)
    more = f" and {len(hit) - MOST_NAMED} more" if len(hit) > MOST_NAMED else ""
    return ", ".join(hit[:MOST_NAMED]) + more or "nothing"


def _view(cluster: Cluster) -> ClusterView:
    return ClusterView(cluster.bootstrap)


def _write(run: RunDir, table: str, rows: list[dict[str, object]]) -> None:
    held = pa.Table.from_pylist(rows, schema=TABLES[table])
    write_table(unit_path(run.history, table), table, held, run=run.id)
