"""A tailing reader: reads every partition from its begin, below the high watermark, from its leader.

A new generation begins when it is placed: at the start, when the log that it was reading has been truncated
(KIP-320) or begins later by now, and when it is replaced since it stands still although the high watermark is
ahead.
"""

from typing import NamedTuple

from checkers.history.tables import NONE
from checkers.model.bugs import Bug
from checkers.model.clients.metadata import EDGES, ClientMetadata
from checkers.model.kafka.cluster import Cluster
from checkers.model.kafka.follower import Follower
from checkers.model.kafka.leader import Leader
from checkers.model.kafka.log import Batch, Sent
from checkers.model.kafka.replica import Replica

POLL_S = 0.25
STALL_S = 5.0


class Delivered(NamedTuple):
    """A record that a reader was given."""

    generation: int
    offset: int
    leader_epoch: int
    record: Sent
    checksum: int
    at_s: float


class Reader:
    """One reader instance; `delivered` by partition, in order of delivery."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.number = number
        count = cluster.case.settings.partitions
        self.delivered: list[list[Delivered]] = [[] for _ in range(count)]
        self._cluster, self._metadata = cluster, ClientMetadata(cluster)
        self._generation = 1
        self._next = [0] * count
        self._epochs, self._checked = [NONE] * count, [NONE] * count
        self._moved_s = [cluster.loop.now_s] * count
        self.stopped = False
        self._poll()

    def _poll(self) -> None:
        if self.stopped:
            return
        cluster = self._cluster
        cluster.loop.after(POLL_S * (0.7 + 0.6 * cluster.rng.random()), self._poll)
        for partition in range(len(self._next)):
            replica = self._leading(partition)
            if replica is not None:
                self._read(partition, replica)

    def _leading(self, partition: int) -> Replica | None:
        """The replica that this reader takes for the leader, if that answers as a leader."""
        leader = self._metadata.leaders.get(partition, NONE)
        network = self._cluster.network
        if leader == NONE or not network.answers(EDGES[leader]):
            if leader == NONE or not network.usable(EDGES[leader]):
                self._metadata.refresh()
            return None
        replica = self._cluster.brokers[leader].replicas.get(partition)
        if replica is not None and isinstance(replica.role, Follower) and replica.role.exposes:
            return replica  # a planted bug: it serves readers as a follower, too
        if replica is None or not isinstance(replica.role, Leader):
            self._metadata.refresh()
            return None
        return replica

    def _read(self, partition: int, replica: Replica) -> None:
        if replica.leader_epoch != self._checked[partition] and isinstance(replica.role, Leader):
            if replica.leader_epoch < self._checked[partition]:
                self._metadata.refresh()
                return
            self._checked[partition] = replica.leader_epoch
            self._validate(partition, replica)
        now_s, end = self._cluster.loop.now_s, replica.high_watermark
        if Bug.READS_ABOVE_HIGH_WATERMARK in self._cluster.bugs and replica.log.end > end:
            self._cluster.act(Bug.READS_ABOVE_HIGH_WATERMARK)
            end = replica.log.end
        if end <= self._next[partition]:
            self._check_stall(partition, now_s)
            return
        if self._next[partition] < replica.log.start:
            self._next[partition], self._epochs[partition] = replica.log.start, NONE
            self._place()
        for batch in replica.log.from_offset(self._next[partition]):
            if batch.base_offset >= end:
                break
            self._take(partition, batch, end, now_s)
        self._moved_s[partition] = now_s

    def _take(self, partition: int, batch: Batch, end: int, now_s: float) -> None:
        for place, record in enumerate(batch.records):
            offset = batch.base_offset + place
            checksum = record.checksum ^ (batch.bytes_of is not None)
            if self._next[partition] <= offset < end:
                self.delivered[partition].append(
                    Delivered(self._generation, offset, batch.leader_epoch, record, checksum, now_s)
                )
                self._next[partition] = offset + 1
                self._epochs[partition] = batch.leader_epoch

    def _validate(self, partition: int, replica: Replica) -> None:
        """Under a new leader: whether what was read last is in its log; else read again from the begin."""
        epoch = self._epochs[partition]
        if epoch == NONE:
            return
        known, end = replica.log.end_of_epoch(epoch)
        if known != epoch or end < self._next[partition]:
            self._next[partition], self._epochs[partition] = 0, NONE
            self._place()

    def _place(self) -> None:
        self._generation += 1
        self._moved_s = [self._cluster.loop.now_s] * len(self._moved_s)

    def _check_stall(self, partition: int, now_s: float) -> None:
        if now_s - self._moved_s[partition] > STALL_S:
            self._moved_s[partition] = now_s
            newest = self._cluster.controller.partitions[partition]
            leading = self._cluster.brokers.get(newest.leader)
            replica = leading.replicas.get(partition) if leading is not None else None
            if replica is not None and replica.high_watermark > self._next[partition]:
                self._metadata.refresh()
                self._place()
