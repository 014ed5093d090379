"""The real rooms: a Docker cluster, real clients, real faults, Spark. A method is a few calls of one room."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from threading import Event
from types import TracebackType
from typing import Any

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
from harness.run.load import RealLoad, plan_of
from harness.run.steps import Say
from harness.run.verifier import SparkVerifier
from harness.run_directory.layout import RunDir
from harness.run_directory.recover import producers_of
from harness.scenario.resolve import Resolved
from workloads import run as load_room
from workloads.observe.final_read import final_read, write_proofs
from workloads.record.seal import seal

SETTLED_S = 30.0
MOST_NAMED = 4
"""Nodes or edges of a fault that a line names."""


class RealRooms:
    """One for a whole suite: it holds the Spark session, which starts with it."""

    def __init__(self, spark_master: str) -> None:
        """Nothing is started yet."""
        self._verifier = SparkVerifier(spark_master)
        self._active: dict[int, str] = {}

    def __enter__(self) -> "RealRooms":
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

    def describe(self, cluster: Cluster) -> dict[str, Any]:
        """What the manifest says of the cluster that was started."""
        releases = map(cluster.release_of, (*cluster.controllers, *cluster.brokers))
        names = (*dict.fromkeys(map(images.kafka_image, releases)), images.toxiproxy_image())
        took = getattr(cluster, "timings", None)
        return {
            "run_id": cluster.run_id,
            "images": list(names),
            "cluster_ready": asdict(took) if took else {},
        }

    def make_topics(self, cluster: Cluster, resolved: Resolved) -> list[dict[str, Any]]:
        """Create the topics, wait until they are settled; returns them with the settings they really have."""
        topics.create(cluster.bootstrap, resolved.scenario.topics)
        with _view(cluster) as view:
            for topic in resolved.scenario.topics:
                view.wait_until_settled(topic.name, within_s=SETTLED_S)
        return topics.realised(cluster.bootstrap, resolved.scenario.topics)

    @contextmanager
    def load(self, cluster: Cluster, resolved: Resolved, run: RunDir) -> Iterator[RealLoad]:
        """A started load."""
        with load_room.start(
            plan_of(resolved.scenario, resolved.seed), cluster.bootstrap, run.path
        ) as workload:
            yield RealLoad(workload, self._active)

    def run_faults(
        self, cluster: Cluster, resolved: Resolved, run: RunDir, *, stop: Event, say: Say
    ) -> tuple[str, ...]:
        """Run the schedule and write the faults table."""

        def tell(event: FaultEvent) -> None:
            self._note(event)
            say(words_of(event))

        with _view(cluster) as view:
            records = run_schedule(resolved.steps, cluster, view, SystemClock(), stop=stop, on_event=tell)
        _write(run, "faults", [record.row() for record in records])
        return tuple(record.name for record in records if not record.proven)

    def _note(self, event: FaultEvent) -> None:
        if event.stage == "injected":
            self._active[event.index] = f"{event.kind} {_hit(event)}"
        if event.stage in ("healed", "skipped"):
            self._active.pop(event.index, None)

    def warm_up(self) -> None:
        """Have Spark's workers ready when the history is."""
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
        partitions = plan_of(resolved.scenario, resolved.seed).partitions
        within_s = resolved.scenario.settle.final_read_s
        return final_read(cluster.bootstrap, partitions, run.history, within_s=within_s)

    def save_timeline(self, cluster: Cluster, run: RunDir) -> None:
        """Replay the metadata log into the history; Kafka's internal topics are left out."""
        rows = metadata_replay.timeline(cluster.metadata_records())
        _write(run, "metadata", [asdict(row) for row in rows if not row.topic.startswith("__")])

    def seal(self, run: RunDir, proofs: tuple[Proof, ...]) -> dict[str, Any]:
        """Seal the journals. The proofs come last: without them nothing is decided."""
        facts = producers_of(seal(run.path))
        write_proofs(run.history, proofs)
        return facts

    def judge(self, run: RunDir) -> Report:
        """Verify with Spark, and judge."""
        return judge(run, self._verifier)


def words_of(event: FaultEvent) -> str:
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
    write_table(unit_path(run.history, table), table, pa.Table.from_pylist(rows, schema=TABLES[table]))
