"""The peer of a cluster's start: the same nodes in plain containers.

Each formats its storage and starts as Kafka's own scripts have it (bin/kafka-storage.sh,
bin/kafka-server-start.sh): with their flags for the JVM, and no archive of classes. There are no proxies, no
disks and no networks of their own; all are on the host's, on loopback.
"""

import os
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from compose.docker import containers
from compose.docker.containers import ContainerSpec
from compose.docker.labels import owner_of
from compose.host.waiting import wait_until
from compose.kafka import broker_api
from compose.kafka.brokers import Brokers
from compose.spec.images import CLASSPATH, kafka_image
from compose.spec.server_properties import render
from compose.spec.topology import Topology

READY_S = 180.0
CLUSTER_ID = "highwaterPlainNodes0000"
PROPERTIES, DATA = "/tmp/server.properties", "/tmp/kafka-logs"  # of a container
_FLAGS = (
    *("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"),
    *("-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true"),
)
_FORMAT, _SERVER = ("-Xmx256M", *_FLAGS), ("-Xmx1G", "-Xms1G", *_FLAGS)


def ready_s(topology: Topology, run_id: str) -> float:
    """Seconds from nothing until each broker knows all brokers. Raises NodeNotReady, ComposeError."""
    ports = _free_ports(topology)
    bootstrap = ",".join(f"127.0.0.1:{ports[node]}" for node in topology.broker_ids)
    begin = time.monotonic()
    with _started(topology, ports, run_id), Brokers(bootstrap, within_s=2.0) as brokers:
        every = set(topology.broker_ids)
        wait_until(
            "brokers that know all brokers",
            lambda: brokers.ask_all(lambda _, broker: broker_api.metadata(broker, []).brokers).given,
            lambda given: all(set(given.get(each, ())) == every for each in brokers.numbers),
            within_s=READY_S,
            every_s=0.2,
        )
        return time.monotonic() - begin


@contextmanager
def _started(topology: Topology, ports: Mapping[int, int], run_id: str) -> Iterator[None]:
    """All nodes, started at once."""

    def start(node: int) -> None:
        container = containers.start(_spec(topology, node, ports, run_id))
        started.callback(containers.remove, container.id, name=container.name)

    with ExitStack() as started, ThreadPoolExecutor(len(topology.nodes)) as pool:
        list(pool.map(start, topology.nodes))
        yield


def _spec(topology: Topology, node: int, ports: Mapping[int, int], run_id: str) -> ContainerSpec:
    format_storage = _java(_FORMAT, f"kafka.tools.StorageTool format -t {CLUSTER_ID} -c {PROPERTIES}")
    serve = _java(_SERVER, f"kafka.Kafka {PROPERTIES}")
    return ContainerSpec(
        name=f"hw-{run_id}-plain-{node}",
        image=kafka_image(topology.release_of(node)),
        command=("sh", "-c", f"{format_storage} && exec {serve}"),
        labels=owner_of(run_id, os.getpid()).labels(),
        network="host",
        files={PROPERTIES: render(_properties(topology, node, ports))},
    )


def _java(flags: tuple[str, ...], words: str) -> str:
    return f"java {' '.join(flags)} -cp '{CLASSPATH}' {words}"


def _properties(topology: Topology, node: int, ports: Mapping[int, int]) -> dict[str, str]:
    """Those of the server.properties in Kafka's config folder that a node needs."""
    broker = node in topology.broker_ids
    listener = f"{'PLAINTEXT' if broker else 'CONTROLLER'}://127.0.0.1:{ports[node]}"
    return {
        "node.id": str(node),
        "process.roles": "broker" if broker else "controller",
        "controller.quorum.voters": ",".join(f"{n}@127.0.0.1:{ports[n]}" for n in topology.controller_ids),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listeners": listener,
        **({"advertised.listeners": listener} if broker else {}),
        "log.dirs": DATA,
    }


def _free_ports(topology: Topology) -> dict[int, int]:
    """A port of loopback for each node that nobody listens on just now."""
    with ExitStack() as stack:
        sockets = {node: stack.enter_context(socket.socket()) for node in topology.nodes}
        for each in sockets.values():
            each.bind(("127.0.0.1", 0))
        return {node: each.getsockname()[1] for node, each in sockets.items()}
