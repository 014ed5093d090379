"""Which broker a client takes for the leader of each partition: by the word of any broker that it reaches."""

from collections.abc import Mapping
from types import MappingProxyType

from checkers.model.case import BROKERS
from checkers.model.kafka.cluster import Cluster
from checkers.model.kafka.network import Edge

EDGES: Mapping[int, Edge] = MappingProxyType({number: ("client", str(number)) for number in BROKERS})
"""The connection of clients to each broker."""


class ClientMetadata:
    """What one client knows; an answer with an older leader epoch than known is not taken (KIP-320)."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.leaders: dict[int, int] = {}
        self._epochs: dict[int, int] = {}

    def refresh(self) -> frozenset[int]:
        """Ask one broker that answers, whichever; returns the brokers that the answer does not name, as they
        are fenced."""
        cluster = self._cluster
        answering = [one for one in BROKERS if cluster.network.answers(EDGES[one])]
        if not answering:
            return frozenset()
        broker = cluster.brokers[answering[int(cluster.rng.random() * len(answering))]]
        for partition, state in broker.view.items():
            if state.leader_epoch >= self._epochs.get(partition, -1):
                self._epochs[partition] = state.leader_epoch
                self.leaders[partition] = state.leader
        known = broker.registrations
        return frozenset(one for one in BROKERS if one in known and known[one].fenced)

    def reachable_leader(self, partition: int) -> int:
        """The leader, if a connection to it can be opened; -1 if not, or if none is known."""
        leader = self.leaders.get(partition, -1)
        return leader if leader >= 0 and self._cluster.network.usable(EDGES[leader]) else -1
