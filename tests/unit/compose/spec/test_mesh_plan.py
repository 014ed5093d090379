"""Which proxy carries which edge."""

from compose.spec.mesh_plan import proxies, proxy_aliases, sources
from compose.spec.topology import Topology, edges


def test_every_edge_has_a_proxy() -> None:
    """No connection of the topology is without a proxy, and no proxy without a connection."""
    for topology in (Topology(), Topology(combined=True), Topology(brokers=5, controllers=1, combined=True)):
        assert {proxy.edge for proxy in proxies(topology)} == set(edges(topology))


def test_no_two_share_a_place() -> None:
    """The pair of network and port is unique to each proxy."""
    for topology in (Topology(), Topology(combined=True, brokers=9, controllers=9)):
        places = [(proxy.edge.source, proxy.listen_port) for proxy in proxies(topology)]
        assert len(places) == len(set(places))


def test_default() -> None:
    """Clients reach a broker's client listener; nodes reach the listener of the target's role."""
    names = [proxy.name for proxy in proxies(Topology())]
    assert len(names) == 24
    assert {"client->1:9092", "1->2:10002", "1->101:20101", "101->102:20102"} <= set(names)


def test_combined() -> None:
    """An edge between combined nodes is two proxies: one for replication and one for the quorum."""
    names = [proxy.name for proxy in proxies(Topology(combined=True)) if str(proxy.edge) == "1->2"]
    assert names == ["1->2:10002", "1->2:20002"]


def test_aliases() -> None:
    """In a node's network the proxy has everybody's name but that node's."""
    topology = Topology(brokers=2, controllers=1)
    assert sources(topology) == ("client", "1", "2", "101")
    assert proxy_aliases(topology, "1") == ("kafka-2", "kafka-101")
    assert proxy_aliases(topology, "client") == ()
