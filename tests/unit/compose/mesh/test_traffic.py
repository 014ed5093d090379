"""Bytes by edge from the kernel's counters."""

from compose.mesh.traffic import Traffic, sockets
from compose.protocols import Edge

# As `ss` of iproute2 6.1 prints them, shortened in the middle.
ONE_TO_TWO = (
    "ESTAB 0 0 172.20.0.2:10002 172.20.0.3:45120 cubic wscale:7,7 rto:201 mss:1448 bytes_sent:{sent} "
    "bytes_retrans:{again} bytes_acked:900 bytes_received:700 segs_out:10 send 1Gbps"
)
TO_THE_NODE = "ESTAB 0 0 172.21.0.2:33862 172.21.0.3:10002 cubic bytes_sent:5000 bytes_acked:5001 send 1Gbps"
UNUSED = "SYN-SENT 0 1 172.21.0.2:33870 172.21.0.3:10002 cubic rto:1000 mss:524"
PLACES = {"172.20.0.2:10002": Edge.parse("1->2"), "172.20.0.2:10003": Edge.parse("1->3")}


def socket(sent: int, again: int = 0) -> str:
    """A connection of edge 1->2 over which this many bytes of answers went."""
    return ONE_TO_TWO.format(sent=sent, again=again)


def test_parsing() -> None:
    """Repeated bytes count once; a socket that has sent nothing counts as 0."""
    text = "\n".join([socket(1000, 100), UNUSED])
    assert sockets(text) == {
        ("172.20.0.2:10002", "172.20.0.3:45120"): 900,
        ("172.21.0.2:33870", "172.21.0.3:10002"): 0,
    }


def test_dual_stack() -> None:
    """A dual-stack listener shows IPv4 addresses in IPv6 dress."""
    line = "ESTAB 0 0 [::ffff:172.20.0.2]:10002 [::ffff:172.20.0.3]:45120 cubic bytes_sent:7"
    assert sockets(line) == {("172.20.0.2:10002", "172.20.0.3:45120"): 7}


def test_edges() -> None:
    """Sockets that listen for an edge count for it; the proxy's own connections to nodes for none."""
    traffic = Traffic(PLACES, lambda: "\n".join([socket(1000), TO_THE_NODE]))
    assert traffic.bytes() == {Edge.parse("1->2"): 1000, Edge.parse("1->3"): 0}


def test_never_falls() -> None:
    """A connection that has ended keeps what it had; a new one adds to it."""
    readings = [
        socket(1000),
        "",
        socket(50).replace("45120", "45999"),
        socket(70).replace("45120", "45999"),
    ]
    traffic = Traffic(PLACES, lambda: readings.pop(0))
    assert [traffic.bytes()[Edge.parse("1->2")] for _ in range(4)] == [1000, 1000, 1050, 1070]


def test_a_socket_that_one_reading_has_missed_counts_once() -> None:
    """The kernel's list is made while sockets come and go."""
    readings = [socket(1000), "", socket(1200), "", socket(1300)]
    times = iter([0.0, 1.0, 59.0, 60.0, 100.0])
    traffic = Traffic(PLACES, lambda: readings.pop(0), lambda: next(times))
    counted = [traffic.bytes()[Edge.parse("1->2")] for _ in range(5)]
    assert counted == [1000, 1000, 1200, 1200, 1300]


def test_of_sockets_that_have_ended_nothing_is_kept_but_their_bytes() -> None:
    """Ten thousand of them, each there for one reading, a second after the other."""
    number = iter(range(10_000, 30_000))
    time_s = iter(range(30_000))
    traffic = Traffic(
        PLACES, lambda: socket(100).replace("45120", str(next(number))), lambda: float(next(time_s))
    )
    for count in range(1, 10_001):
        assert traffic.bytes()[Edge.parse("1->2")] == 100 * count
    assert len(traffic._sent) + len(traffic._missing_since_s) < 200
