"""Which proxy carries which edge: a pure function of the topology, for the live mesh and the Compose file.

Each node has a network of its own whose only other member is the proxy, which carries there the names of all
other nodes. Edge source→target listens on the proxy's address in the *source's* network, on a port that
belongs to
the *target*; so the pair of address and port identifies the edge. Clients have a network too.
"""

from dataclasses import dataclass

from compose.protocols import CLIENT, Edge
from compose.spec.server_properties import CLIENT_PORT, broker_port, controller_port, host_name
from compose.spec.topology import Topology, edges

CLIENT_EDGE_PORTS = 30000


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """One proxy: it listens in the network of `source`, and forwards to the node `target`.

    A combined node has two listeners that others connect to, so two proxies may carry one edge.
    """

    edge: Edge
    listen_port: int
    upstream_port: int

    @property
    def name(self) -> str:
        """The name of this proxy in Toxiproxy."""
        return f"{self.edge}:{self.upstream_port}"


def proxies(topology: Topology) -> tuple[Proxy, ...]:
    """All proxies of `topology`, in the order of its edges."""
    return tuple(proxy for edge in edges(topology) for proxy in _of_edge(topology, edge))


def client_edge_port(node: int) -> int:
    """The proxy's port on which clients reach broker `node`."""
    return CLIENT_EDGE_PORTS + node


def sources(topology: Topology) -> tuple[str, ...]:
    """Everything that opens connections, and so has a network: the clients and each node."""
    return (CLIENT, *(str(node) for node in topology.nodes))


def proxy_aliases(topology: Topology, source: str) -> tuple[str, ...]:
    """The names of the proxy in the network of `source`: those of all nodes but the one that lives there."""
    if source == CLIENT:
        return ()
    return tuple(host_name(node) for node in topology.nodes if str(node) != source)


def _of_edge(topology: Topology, edge: Edge) -> list[Proxy]:
    node = edge.target
    if edge.source == CLIENT:
        return [Proxy(edge=edge, listen_port=client_edge_port(node), upstream_port=CLIENT_PORT)]
    ports = []
    if node in topology.broker_ids and int(edge.source) in topology.broker_ids:
        ports.append(broker_port(node))
    if node in topology.controller_ids:
        ports.append(controller_port(node))
    return [Proxy(edge=edge, listen_port=port, upstream_port=port) for port in ports]
