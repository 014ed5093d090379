"""Edges of a real cluster that pass bytes badly, one way, or not at all: what a Kafka request meets there."""

import socket
from contextlib import suppress
from math import ceil

import pytest

from compose.cluster.start import DockerCluster
from compose.impairments import Delayed, Direction, Impairment, Reset, Sliced, Swallowed, Throttled
from compose.protocols import Edge, Reached

TO_A_BROKER, TO_A_CONTROLLER = Edge.parse("2->1"), Edge.parse("1->102")
EDGES = [TO_A_BROKER, TO_A_CONTROLLER, Edge.parse("client->3"), Edge.parse("103->101")]
SIZE_BYTES, WITHIN_S = 20_000, 20.0


@pytest.mark.parametrize(
    ("impairment", "end"),
    [
        (Swallowed(), "proxy"),
        (Swallowed(directions=("to",)), "proxy"),
        (Swallowed(directions=("from",)), "target"),
        (Reset(direction="from"), "reset"),
        (Reset(direction="to"), "reset"),
        (Delayed(delay_s=0.1), "source"),
        (Throttled(bytes_per_s=20_000), "source"),
        (Sliced(size_bytes=100, delay_s=0.002), "source"),
    ],
    ids=str,
)
def test_how_far_a_request_comes(cluster: DockerCluster, impairment: Impairment, end: Reached) -> None:
    """To brokers and controllers alike, and all the way before and after."""
    mesh = cluster.mesh
    assert set(mesh.reached(EDGES, within_s=2).values()) == {"source"}
    mesh.impair(EDGES, impairment, owner="test")
    assert mesh.reached(EDGES, within_s=1) == dict.fromkeys(EDGES, end)
    mesh.mend(EDGES, owner="test")
    assert mesh.probe(EDGES, within_s=5) == frozenset(EDGES)
    assert mesh.disturbed() == {}


@pytest.mark.parametrize("direction", ["to", "from"])
def test_a_throttled_edge_takes_the_time_of_its_bytes(cluster: DockerCluster, direction: Direction) -> None:
    """At 20 KB/s 20,000 bytes and some more take a second, whether they ask or answer."""
    mesh = cluster.mesh
    before = mesh.transfers(EDGES, SIZE_BYTES, within_s=WITHIN_S)
    mesh.impair(EDGES, Throttled(bytes_per_s=20_000, direction=direction), owner="test")
    during = mesh.transfers(EDGES, SIZE_BYTES, within_s=WITHIN_S)
    for edge in EDGES:
        bytes_passed = during[edge].request_bytes if direction == "to" else during[edge].answer_bytes
        assert 20_000 <= during[edge].request_bytes <= 24_000
        assert 20_000 <= during[edge].answer_bytes == before[edge].answer_bytes <= 24_000
        assert 0.9 * bytes_passed / 20_000 <= during[edge].took_s <= bytes_passed / 20_000 + 1.0
        assert before[edge].took_s < during[edge].took_s / 2
        assert during[edge].direct_s < during[edge].took_s / 2


@pytest.mark.parametrize("direction", ["to", "from"])
def test_a_slicing_edge_takes_the_time_of_its_slices(cluster: DockerCluster, direction: Direction) -> None:
    """At least a delay between two slices of full size."""
    mesh = cluster.mesh
    mesh.impair(EDGES, Sliced(size_bytes=100, delay_s=0.005, direction=direction), owner="test")
    for transfer in mesh.transfers(EDGES, SIZE_BYTES, within_s=WITHIN_S).values():
        bytes_passed = transfer.request_bytes if direction == "to" else transfer.answer_bytes
        assert transfer.took_s >= 0.9 * (ceil(bytes_passed / 100) - 1) * 0.005


def test_impairments_of_several_owners_compose(cluster: DockerCluster) -> None:
    """Late and narrow at once; cut with both; narrow alone; open."""
    mesh, edge = cluster.mesh, TO_A_BROKER
    mesh.impair([edge], Delayed(delay_s=0.3), owner="late")
    mesh.impair([edge], Throttled(bytes_per_s=20_000), owner="narrow")
    both = mesh.transfers([edge], SIZE_BYTES, within_s=WITHIN_S)[edge]
    assert both.took_s >= 0.9 * both.answer_bytes / 20_000 > 0.3
    assert both.small.took_s >= 0.3
    assert mesh.round_trips([edge], within_s=5)[edge].took_s >= 0.3
    mesh.cut([edge], mode="blackhole", owner="cut", directions=("from",))
    assert mesh.reached([edge], within_s=1) == {edge: "target"}
    mesh.mend([edge], owner="cut")
    mesh.mend([edge], owner="late")
    trip = mesh.round_trips([edge], within_s=5)[edge]
    assert trip.took_s < 0.3
    assert trip.added_s < 0.1
    narrow = mesh.transfers([edge], SIZE_BYTES, within_s=WITHIN_S)[edge]
    assert narrow.took_s >= 0.9 * narrow.answer_bytes / 20_000
    mesh.mend([edge], owner="narrow")
    assert mesh.disturbed() == {}


def test_a_connection_outlives_a_throttle(cluster: DockerCluster) -> None:
    """What it passes arrives whole, and the connection is not closed by the healing."""
    edge, (host, port) = Edge.parse("client->3"), cluster.clients[3]
    request = b"\0\0\0\x0f\0\x12\0\0\0\0\0\1\0\5probe"
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.sendall(request)
        size = answer_bytes(connection)
        cluster.mesh.impair([edge], Throttled(bytes_per_s=10_000), owner="test")
        connection.sendall(request * 20)
        assert answer_bytes(connection) == size
        cluster.mesh.mend([edge], owner="test")
        assert [answer_bytes(connection) for _ in range(19)] == [size] * 19


def answer_bytes(connection: socket.socket) -> int:
    """The size of the next answer, which is read."""
    return len(exactly(connection, int.from_bytes(exactly(connection, 4), "big")))


def exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes, which come."""
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        assert part, "the connection was closed"
        received += part
    return received


def test_a_client_gets_the_reset(cluster: DockerCluster) -> None:
    """RST, not FIN, on a connection that was opened since; one from before ends too."""
    edge, (host, port) = Edge.parse("client->3"), cluster.clients[3]
    request = b"\0\0\0\x0f\0\x12\0\0\0\0\0\1\0\5probe"
    with socket.create_connection((host, port), timeout=5) as before:
        cluster.mesh.impair([edge], Reset(), owner="test")
        before.sendall(request)
        with suppress(ConnectionResetError):
            assert before.recv(1) == b""
    with socket.create_connection((host, port), timeout=5) as since:
        since.sendall(request)
        with pytest.raises(ConnectionResetError):
            since.recv(1)
