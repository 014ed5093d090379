"""The parts of the bench that drive a cluster themselves: how fast it is ready, how fast the load records."""

import functools
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from compose.cluster.start import DockerCluster, start
from compose.docker import containers
from compose.docker.containers import ContainerSpec
from compose.docker.labels import owner_of
from compose.host.waiting import wait_until
from compose.kafka.view import ClusterView
from compose.spec.images import CLASSPATH, kafka_image
from compose.spec.topology import Topology
from harness.bench import plain_cluster
from harness.run.live import topics
from harness.scenario.model import TopicPart
from workloads.bench import send_throughput

TOOL_S = 300.0
TOPIC = TopicPart(name="bench", partitions=6, replication=3, config={"min.insync.replicas": "2"})
VOLUME_MIB = 16_384
"""Room for what is measured at 300,000 records/s of 200 bytes, on each broker; it takes what is written."""


@functools.cache
def ready_times(rounds: int) -> tuple[float, float]:
    """Median seconds until a new cluster is ready, with the class-data archive and without, in turns.

    Measured once.
    """
    took: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for appcds in took:
            with start(Topology(), run_id=secrets.token_hex(4), appcds=appcds) as cluster:
                assert cluster.timings is not None
                took[appcds].append(cluster.timings.ready_s)
    return round(statistics.median(took[True]), 1), round(statistics.median(took[False]), 1)


@functools.cache
def plain_ready_time(rounds: int) -> float:
    """Median seconds until the same nodes in plain containers are ready. Measured once."""
    took = [plain_cluster.ready_s(Topology(), secrets.token_hex(4)) for _ in range(rounds)]
    return round(statistics.median(took), 1)


def send_lines() -> Sequence[Mapping[str, Any]]:
    """Recorded sends against the same loop without recording and against Kafka's own producer benchmark."""
    run_id = secrets.token_hex(4)
    topology = Topology(volume_mib=VOLUME_MIB)
    with start(topology, run_id=run_id) as cluster, tempfile.TemporaryDirectory() as scratch:
        topics.create(cluster.bootstrap, [TOPIC])
        with ClusterView(cluster.bootstrap) as view:
            view.wait_until_settled(TOPIC.name, within_s=30)
        measured = send_throughput(
            cluster.bootstrap,
            TOPIC.name,
            TOPIC.partitions,
            lambda arguments: run_kafka(cluster, arguments),
            Path(scratch),
        )
    return [asdict(each) for each in measured]


def run_kafka(cluster: DockerCluster, arguments: Sequence[str]) -> str:
    """Run a main class of the cluster's release on the host's network, with a whole JVM; its output."""
    spec = ContainerSpec(
        name=f"hw-{cluster.run_id}-tool-{time.monotonic_ns()}",
        image=kafka_image(cluster.release_of(cluster.brokers[0])),
        command=("java", "-Xmx1g", "-cp", CLASSPATH, *arguments),
        labels=owner_of(cluster.run_id, os.getpid()).labels(),
        network="host",
    )
    container = containers.start(spec)
    try:
        wait_until(
            f"{spec.name} has ended",
            lambda: containers.inspect(container.id)["State"]["Status"],
            lambda status: status == "exited",
            within_s=TOOL_S,
        )
        return containers.logs(container.id)
    finally:
        containers.remove(container.id, name=spec.name)
