"""The steps of a real run: a Docker cluster, Kafka clients, faults, Spark. Each is a few calls.

Spark starts with the first schedule: earlier it would take processors from the cluster's start, and who waits
for a run waits for that.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Event
from types import TracebackType

import pyarrow as pa

from checkers.history.metadata_log.replay import replay
from checkers.history.metadata_log.since import states_since
from checkers.history.records.transactions import ENDED_WITHIN_NS, FINAL_READER
from checkers.history.rows import ConfigChange, Proof
from checkers.history.tables import NONE, TABLES, unit_path, write_table
from checkers.verdict.names import first_of
from compose.cluster.start import DockerCluster
from compose.host import memory
from compose.kafka.coordinators import INTERNAL
from compose.kafka.view import ClusterView
from compose.protocols import Cluster, MetadataLog
from compose.spec import images
from faults.clock import SystemClock
from faults.kinds.fault.base import try_all
from faults.schedule.events import no_acks, no_fencings
from faults.schedule.record import FaultEvent, FaultRecord
from faults.schedule.scheduler import run_schedule
from harness.errors import StepFailed
from harness.report.audit import audit_replicas
from harness.report.judge import judge
from harness.report.report import Report
from harness.run.live import brokers_end, topics
from harness.run.live.coordinators import coordinators_of
from harness.run.live.directories import watched, writes
from harness.run.live.kept_cluster import KeptCluster
from harness.run.live.load import LiveLoad
from harness.run.live.measured_logs import write_measured_logs
from harness.run.live.verifier import SparkVerifier
from harness.run.steps import OnEvent, StartedCluster
from harness.run.watch.room import Room, require
from harness.run.watch.run_watch import LiveWatch, watch
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import ClusterReady, ManifestProducer, ManifestTopic, read_manifest
from harness.run_directory.recover import producers_of
from harness.scenario.load.load_plan import load_plan
from harness.scenario.model import Scenario
from harness.scenario.resolve import Resolved
from workloads import run as workload
from workloads.observe.committed_read import committed_read
from workloads.observe.final_read import final_read, write_proofs
from workloads.record.recorder import table_journal
from workloads.record.seal import seal_load, seal_observed
from workloads.record.seal_apart import SealApart
from workloads.record.transactions import CommittedReadRecorder

SETTLED_S = 30.0
WITHOUT_A_BROKER_S = 5.0
"""One survey and its reason; no partition can be proven while a broker does not answer."""
QUICK_S = 0.5
"""Answers take milliseconds, on a busy machine tenths; roles must be known anew each second."""
APART_BYTES = 100 << 20
"""Sealing so much takes longer than a process takes to start."""
MOST_NAMED = 4
"""Nodes or edges of a fault that one line names."""


class LiveRunSteps:
    """One for all runs of a command: it holds the Spark session."""

    def __init__(self, spark_master: str) -> None:
        """Nothing is started yet."""
        memory.keep_heaps_few()
        self._arrows_pool = pa.default_memory_pool()
        self._verifier, self._clusters = SparkVerifier(spark_master), KeptCluster()
        self._active: dict[int, str] = {}
        self._load: LiveLoad | None = None
        self._sealing: SealApart | None = None

    def __enter__(self) -> "LiveRunSteps":
        """Nothing is started yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End Spark, and the clusters that wait for a run."""
        try:
            self.end_clusters()
        finally:
            self._verifier.close()

    def begin_next_cluster(self, resolved: Resolved, *, in_s: float) -> None:
        """Begin to boot the cluster of the next run in so many seconds; returns at once."""
        self._clusters.begin_next(resolved.topology, in_s=in_s)

    def end_clusters(self) -> None:
        """End the cluster that a run has left, and that of the next run. Raises ComposeError."""
        self._clusters.close()

    @contextmanager
    def cluster(self, resolved: Resolved, run: RunDir) -> Iterator[DockerCluster]:
        """A started cluster; its name in the engine is a short random id."""
        self._active.clear()
        require(writes(resolved.scenario, run))
        with self._clusters.lease(resolved.topology, run) as cluster:
            yield cluster

    def keep(self, cluster: Cluster) -> None:
        """Leave the cluster to a next run of its topology."""
        self._clusters.keep(cluster)

    def describe(self, cluster: Cluster) -> StartedCluster:
        """The cluster that was started, for the manifest."""
        releases = map(cluster.release_of, (*cluster.controllers, *cluster.brokers))
        served = self._clusters.served(cluster)
        is_new = cluster.timings is not None and not served
        return StartedCluster(
            run_id=cluster.run_id,
            images=(*dict.fromkeys(map(images.kafka_image, releases)), images.toxiproxy_image()),
            ready=ClusterReady(**asdict(cluster.timings)) if cluster.timings and is_new else None,
            served=served,
            why_new=self._clusters.why_new(cluster),
            ahead_s=self._clusters.ahead_s(cluster),
        )

    @contextmanager
    def watch(
        self, cluster: Cluster, resolved: Resolved, run: RunDir, *, on_event: OnEvent
    ) -> Iterator[LiveWatch]:
        """A watch that has begun."""
        partitions = load_plan(resolved.scenario, resolved.seed).partitions
        new = not self._clusters.lived_before(cluster)
        room = Room(directories=watched(run))
        with watch(cluster, run.path, partitions, on_event, run.id, room=room, new=new) as started:
            yield started

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
        # Arrow's own allocator is quicker, and keeps some MiB for each thread that has ever written a batch.
        pa.set_memory_pool(pa.system_memory_pool())
        with workload.start(plan, cluster.bootstrap, run.path, run.id) as started:
            self._load = LiveLoad(started, self._active)
            yield self._load

    def run_faults(
        self, cluster: Cluster, resolved: Resolved, run: RunDir, *, stop: Event, on_event: OnEvent
    ) -> tuple[str, ...]:
        """Run the schedule and write the faults table."""

        self._verifier.begin()

        def report(event: FaultEvent) -> None:
            self._note(event)
            on_event(event_text(event))

        partitions = load_plan(resolved.scenario, resolved.seed).partitions
        journal = table_journal(run.path, partitions, "faults", of="schedule", run=run.id)

        def note(record: FaultRecord) -> None:
            journal.write_rows([record.row()])

        with _view(cluster) as view, _quick_view(cluster) as quick, journal:
            records = run_schedule(
                resolved.steps,
                cluster,
                view,
                SystemClock(),
                stop=stop,
                on_event=report,
                on_record=note,
                quick=quick,
                last_ack_ns=no_acks if self._load is None else self._load.last_ack_ns,
                last_fencing_ns=no_fencings if self._load is None else self._load.last_fencing_ns,
            )
        _write(run, "faults", [record.row() for record in records])
        measured = [log for record in records for log in record.logs]
        write_measured_logs(run.path, partitions, measured, run.id)
        return tuple(record.name for record in records if not record.proven)

    def _note(self, event: FaultEvent) -> None:
        if event.stage == "injected":
            self._active[event.index] = f"{event.kind} {_hit(event)}"
        if event.stage in ("healed", "skipped"):
            self._active.pop(event.index, None)

    def warm_up(self) -> None:
        """Begin to start Spark's workers, so that they are ready when the history is: the load is to end."""
        pa.set_memory_pool(self._arrows_pool)
        self._verifier.warm_up()

    def wait_in_sync(self, cluster: Cluster, resolved: Resolved) -> None:
        """Heal once more whatever a fault may have left, then wait for every replica.

        A broker that has ended and that no fault had ended stays down: StepFailed.
        """
        nodes = sorted({*cluster.brokers, *cluster.controllers})
        try_all([cluster.mesh.mend_all, *(partial(_heal, cluster, node) for node in nodes)])
        if gone := ended_unplanned(cluster):
            named = ", ".join(map(str, gone))
            raise StepFailed("settle", f"brokers that ended unplanned stay down, not all is in sync: {named}")
        names = [topic.name for topic in resolved.scenario.topics]
        with _view(cluster) as view:
            view.wait_for_full_isr(names, within_s=resolved.scenario.settle.full_isr_s)

    def final_read(
        self, cluster: Cluster, resolved: Resolved, run: RunDir, *, stop: Event
    ) -> tuple[Proof, ...]:
        """Read every partition to a proven end; without one of the brokers there is none to wait for."""
        partitions = load_plan(resolved.scenario, resolved.seed).partitions
        within_s = _final_read_s(resolved.scenario)
        if ended_unplanned(cluster):
            within_s = min(within_s, WITHOUT_A_BROKER_S)
        with table_journal(run.path, partitions, "replica_offsets", of="final-read", run=run.id) as journal:
            proofs = final_read(
                cluster.bootstrap,
                partitions,
                run.history,
                within_s=within_s,
                replica_offsets=journal,
                run=run.id,
                stop=stop,
            )
        if resolved.scenario.workload.transactions is None:
            return proofs
        with table_journal(run.path, partitions, "transaction_reads", of="final", run=run.id) as journal:
            reports = CommittedReadRecorder(FINAL_READER, partitions, journal)
            return committed_read(cluster.bootstrap, proofs, reports, within_s=within_s)

    def copy_metadata(self, cluster: Cluster) -> MetadataLog:
        """A copy of the metadata log, and what decodes it."""
        return self._clusters.copy_metadata(cluster)

    def save_timeline(self, log: MetadataLog, resolved: Resolved, run: RunDir) -> None:
        """Replay the metadata log into the history: of partitions those of the run's topics, not what a fault
        has made and deleted; of Kafka's internal topics only who coordinated the load.

        Of a cluster that was there before the run, only what is of the run's topics and of its time.
        """
        manifest, tables = read_manifest(run), replay(log())
        names = {topic.name for topic in manifest.topics}
        if manifest.cluster_served or manifest.cluster_ahead_s is not None:
            tables = states_since(tables, names, INTERNAL)
        configs = (*reported(manifest.topics), *tables.configs)
        _write(run, "metadata", [asdict(row) for row in tables.metadata if row.topic in names])
        _write(run, "brokers", [asdict(row) for row in tables.brokers])
        _write(run, "configs", [asdict(row) for row in configs])
        _write(run, "metadata_appends", [asdict(row) for row in tables.appends])
        if ids := resolved.scenario.workload.transactional_ids:
            _write(run, "coordinators", [asdict(row) for row in coordinators_of(ids, tables.metadata)])

    def end_brokers(self, cluster: Cluster, resolved: Resolved, run: RunDir) -> tuple[str, ...]:
        """Stop the brokers, keep what they leave, and write the table of their lines."""
        names = [topic.name for topic in resolved.scenario.topics]
        troubles = brokers_end.end_brokers(cluster, names, run)
        self._write_lines(cluster, names, run)
        return troubles

    def copy_disks(self, cluster: Cluster, resolved: Resolved, run: RunDir) -> tuple[str, ...]:
        """Keep what running brokers hold, and write the table of their lines."""
        names = [topic.name for topic in resolved.scenario.topics]
        troubles = brokers_end.copy_running(cluster, names, run)
        self._write_lines(cluster, names, run)
        return troubles

    def _write_lines(self, cluster: Cluster, names: Sequence[str], run: RunDir) -> None:
        lines = brokers_end.broker_lines(run, {*cluster.brokers, *cluster.controllers})
        if lines is not None:
            _write(run, "broker_lines", [line for line in lines if line["topic"] in ("", *names)])

    def seal_load(self, run: RunDir) -> tuple[ManifestProducer, ...]:
        """Seal the journals that have ended with the load; large ones in a process of its own."""
        if _bytes_in(run.journal) < APART_BYTES:
            return producers_of(seal_load(run.path, run.id, ended=True))
        self._sealing = SealApart(run.path, run.id)
        return producers_of(self._sealing.result())

    def abandon(self) -> None:
        """End what seals or judges on another thread, or boots; nothing can be judged after that."""
        self._clusters.abandon_next()
        self.abandon_seal()
        self._verifier.close()

    def abandon_seal(self) -> None:
        """End what `seal_load` waits for."""
        if self._sealing is not None:
            self._sealing.kill()

    def seal(self, run: RunDir, proofs: tuple[Proof, ...]) -> None:
        """Seal the rest. The proofs come last: without them nothing is decided."""
        seal_observed(run.path, run.id, ended=True)
        write_proofs(run.history, proofs, run.id)

    def audit(self, run: RunDir) -> None:
        """Read the replicas with Spark."""
        audit_replicas(run, self._verifier.audit, run_id=run.id)

    def judge(self, run: RunDir) -> Report:
        """Verify with Spark, and judge."""
        return judge(run, self._verifier, self._verifier.audit)


def _final_read_s(scenario: Scenario) -> float:
    """As long as is asked for, and for the longest transaction to have ended: before, nothing is proven."""
    asked, transactions = scenario.settle.final_read_s, scenario.workload.transactions
    return asked if transactions is None else asked + transactions.timeout_s + ENDED_WITHIN_NS / 1e9


def _heal(cluster: Cluster, node: int) -> None:
    """Let a node go on, whatever a fault has done to it."""
    doings = (cluster.thaw, cluster.unpause, partial(_set_right, cluster), partial(_start_again, cluster))
    try_all(partial(do, node) for do in doings)


def _set_right(cluster: Cluster, node: int) -> None:
    if cluster.clock_setting(node):
        cluster.set_clock(node, 0)


def _start_again(cluster: Cluster, node: int) -> None:
    if (owner := cluster.ended_by(node)) is not None:
        cluster.start(node, owner=owner)


def ended_unplanned(cluster: Cluster) -> tuple[int, ...]:
    """Brokers that are down, and that nobody had asked to end."""
    return tuple(
        node
        for node in cluster.brokers
        if cluster.state(node).status in ("exited", "missing") and cluster.ended_by(node) is None
    )


def event_text(event: FaultEvent) -> str:
    """ "kill (kill of node 1): injected"."""
    detail = f": {event.detail}" if event.detail else ""
    return f"{event.name} ({event.kind} of {_hit(event)}) {event.stage}{detail}"


def reported(topics: Sequence[ManifestTopic]) -> tuple[ConfigChange, ...]:
    """The settings that a broker reported when the topics had been made: server.properties is in no log."""
    return tuple(
        ConfigChange(at_ms=NONE, kind="reported", name=topic.name, key=key, value=value)
        for topic in topics
        for key, value in topic.config.items()
    )


def _hit(event: FaultEvent) -> str:
    hit = event.edges or tuple(f"node {node}" for node in event.nodes)
    return first_of(hit, MOST_NAMED) or event.target or "nothing"


def _bytes_in(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir())


def _view(cluster: Cluster) -> ClusterView:
    return ClusterView(cluster.bootstrap)


def _quick_view(cluster: Cluster) -> ClusterView:
    """By which roles and events are known in time. It proves nothing: it does not wait for all brokers."""
    return ClusterView(cluster.bootstrap, within_s=QUICK_S, skips_silent=True)


def _write(run: RunDir, table: str, rows: list[dict[str, object]]) -> None:
    held = pa.Table.from_pylist(rows, schema=TABLES[table])
    write_table(unit_path(run.history, table), table, held, run=run.id)
