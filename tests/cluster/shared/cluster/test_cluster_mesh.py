"""Every connection of a real cluster crosses its own proxy, and none can go around it."""

import socket
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_network

import pytest
from confluent_kafka import Producer

from compose.cluster.start import DockerCluster
from compose.docker.api import client
from compose.impairments import Delayed
from compose.kafka.view import ClusterView
from compose.protocols import CLIENT, CutMode, Edge
from compose.spec.server_properties import BROKER_PORTS, CLIENT_PORT, CONTROLLER_PORTS, host_name

QUIET_S = 3.0
# bash opens TCP connections by itself. Prints each "HOST PORT" that opens.
CONNECT = """
while [ $# -gt 0 ]; do
    timeout 1 bash -c 'exec 3<>"/dev/tcp/$0/$1" && echo "$0 $1"' "$1" "$2" 2>/dev/null &
    shift 2
done
wait
"""


@pytest.fixture
def traffic(cluster: DockerCluster, make_topic: Callable[..., str]) -> Iterator[Callable[[], None]]:
    """Sends a record to each broker's partition of a topic; waits for no acknowledgement."""
    topic = make_topic(partitions=3)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "message.timeout.ms": 5000, "linger.ms": 0})

    def send() -> None:
        for partition in range(3):
            producer.produce(topic, b"x" * 100, partition=partition)
        producer.poll(0)

    yield send
    producer.purge()
    producer.flush(5)


def moved(cluster: DockerCluster, send: Callable[[], None], seconds: float) -> dict[str, int]:
    """Bytes by edge that came back during the next `seconds` of sending."""
    before = cluster.mesh.bytes()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        send()
        time.sleep(0.05)
    after = cluster.mesh.bytes()
    return {str(edge): after[edge] - before[edge] for edge in cluster.mesh.edges}


def of_node(cluster: DockerCluster, node: int) -> list[Edge]:
    """All edges from and to `node`."""
    return [edge for edge in cluster.mesh.edges if edge.target == node or edge.source == str(node)]


@pytest.mark.parametrize("mode", ["refuse", "blackhole"])
def test_isolated_node(cluster: DockerCluster, traffic: Callable[[], None], mode: CutMode) -> None:
    """Cut off from everybody, a broker that was in the middle of everything gets no byte through."""
    leader = cluster.active_controller()
    busy = moved(cluster, traffic, QUIET_S)
    for edge in ("client->2", "1->2", "3->2", "2->1", "2->3", f"2->{leader}"):
        assert busy[edge] > 0, f"{edge} was silent before the cut: {busy}"

    mine = of_node(cluster, 2)
    assert len(mine) == 8
    cluster.mesh.cut(mine, mode=mode, owner="test")
    assert cluster.mesh.probe(mine, within_s=1) == frozenset()
    silent = moved(cluster, traffic, QUIET_S)
    assert {edge: passed for edge, passed in silent.items() if Edge.parse(edge) in mine and passed} == {}
    assert silent["1->3"] > 0, "the others must go on"

    cluster.mesh.mend(mine, owner="test")
    assert cluster.mesh.probe(mine, within_s=5) == frozenset(mine)


def test_no_way_around(cluster: DockerCluster) -> None:
    """With its edges cut a node reaches no other node, neither by name nor by address."""
    others = [node for node in (*cluster.brokers, *cluster.controllers) if node != 1]
    by_name = [(host_name(node), BROKER_PORTS + node) for node in cluster.brokers if node != 1]
    by_address = [
        (cluster.address(node), port)
        for node in others
        for port in (CLIENT_PORT, BROKER_PORTS + node, CONTROLLER_PORTS + node)
    ]
    assert reached(cluster, by_name) == by_name
    cluster.mesh.cut(of_node(cluster, 1), mode="refuse", owner="test")
    assert reached(cluster, by_name + by_address) == []


def reached(cluster: DockerCluster, places: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those of `places` to which node 1 can open a connection within a second, sorted."""
    words = [str(word) for place in places for word in place]
    container = client().containers.get(f"hw-{cluster.run_id}-1")
    lines = (
        container.exec_run(["timeout", "30", "bash", "-c", CONNECT, "_", *words]).output.decode().splitlines()
    )
    return sorted((line.split()[0], int(line.split()[1])) for line in lines if line)


def test_client_edge(cluster: DockerCluster) -> None:
    """A client's connection crosses its edge: refused, or in a black hole accepted and never answered."""
    edge = Edge(source=CLIENT, target=3)
    host, port = cluster.clients[3]
    cluster.mesh.cut([edge], mode="blackhole", owner="test")
    with socket.create_connection((host, port), timeout=1) as connection:
        connection.sendall(b"\0\0\0\x12\0\x12\0\0\0\0\0\1\0\5probe")
        with pytest.raises(TimeoutError):
            connection.recv(1)
    cluster.mesh.cut([edge], mode="refuse", owner="test")
    assert answered(host, port) == b""
    cluster.mesh.mend([edge], owner="test")
    assert answered(host, port) != b""


def answered(host: str, port: int) -> bytes:
    """The first byte of the answer to a request for API versions, b"" if refused or closed."""
    try:
        with socket.create_connection((host, port), timeout=3) as connection:
            connection.sendall(b"\0\0\0\x0f\0\x12\0\0\0\0\0\1\0\5probe")
            return connection.recv(1)
    except ConnectionError:
        return b""


def test_two_owners(cluster: DockerCluster, view: ClusterView) -> None:
    """An edge that a kill and a partition hold opens when both have let go, in whatever order and mode."""
    edge = Edge.parse("1->2")
    cluster.mesh.cut([edge], mode="blackhole", owner="partition#2")
    cluster.mesh.cut([edge], mode="refuse", owner="kill#3")
    cluster.mesh.mend([edge], owner="kill#3")
    assert cluster.mesh.is_cut(edge)
    assert cluster.mesh.probe([edge], within_s=1) == frozenset()
    cluster.mesh.mend([edge], owner="partition#2")
    assert cluster.mesh.probe([edge], within_s=5) == {edge}


def test_mesh_survives_a_dead_node(cluster: DockerCluster) -> None:
    """Edges to a killed node can be cut and mended within seconds, and lead to it when it is back."""
    mine = [edge for edge in of_node(cluster, 3) if edge.target == 3]
    cluster.kill(3)
    began = time.monotonic()
    cluster.mesh.cut(mine, mode="refuse", owner="kill#1")
    cluster.mesh.mend(mine, owner="kill#1")
    assert time.monotonic() - began < 15
    cluster.start(3)
    deadline = time.monotonic() + 30
    while cluster.mesh.probe(mine, within_s=1) != frozenset(mine):
        assert time.monotonic() < deadline


@pytest.mark.parametrize("mode", ["refuse", "blackhole"])
def test_an_edge_that_is_slow_is_cut_as_any_other_and_is_slow_again_afterwards(
    cluster: DockerCluster, mode: CutMode
) -> None:
    mine = of_node(cluster, 2)
    cluster.mesh.impair(mine, Delayed(delay_s=0.2), owner="slow")
    cluster.mesh.cut(mine, mode=mode, owner="cut")
    assert cluster.mesh.probe(mine, within_s=1) == frozenset()

    cluster.mesh.mend(mine, owner="cut")
    trips = cluster.mesh.round_trips(mine, within_s=5)
    assert trips.keys() == set(mine)
    assert min(trip.took_s for trip in trips.values()) >= 0.2

    cluster.mesh.mend(mine, owner="slow")
    assert min(trip.took_s for trip in cluster.mesh.round_trips(mine, within_s=5).values()) < 0.2


def test_nothing_is_reached_from_another_machine(cluster: DockerCluster) -> None:
    """Brokers and the proxy have no port of this machine, or one of loopback."""
    proxy = client().api.inspect_container(f"hw-{cluster.run_id}-proxy")
    published = [each for bound in proxy["NetworkSettings"]["Ports"].values() for each in bound or ()]
    assert {each["HostIp"] for each in published} <= {"127.0.0.1"}
    (bridge,) = client().api.inspect_network("bridge")["IPAM"]["Config"]
    gateway = str(next(ip_network(bridge["Subnet"]).hosts()))
    for address in cluster.bootstrap.split(","):
        host, _, port = address.rpartition(":")
        socket.create_connection((host, int(port)), timeout=5).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((gateway, int(port)), timeout=5).close()
