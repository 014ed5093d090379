"""The final read: two surveys that agree, and what the leader holds below its high watermark."""

from typing import NamedTuple

from checkers.history.rows import Proof
from checkers.model.case import BROKERS, TOPIC
from checkers.model.kafka.cluster import Cluster
from checkers.model.kafka.log import Sent
from checkers.model.kafka.replica import Replica
from checkers.model.observe.clock import nanoseconds
from checkers.model.observe.sampler import Sampler

ROUND_S = 0.15
WITHIN_S = 60.0


class Found(NamedTuple):
    """A record of the final log, and the send that it is."""

    offset: int
    leader_epoch: int
    record: Sent
    checksum: int


class FinalRead:
    """Reads all partitions; `finished` when each has its proof, or the time is up."""

    def __init__(self, cluster: Cluster, sampler: Sampler) -> None:
        self._cluster, self._sampler = cluster, sampler
        count = cluster.case.settings.partitions
        self.proofs: dict[int, Proof] = {}
        self.found: dict[int, list[Found]] = {number: [] for number in range(count)}
        self._begin_s = cluster.loop.now_s
        self._seen: dict[int, tuple[int, ...]] = {}
        self._round()

    @property
    def finished(self) -> bool:
        """Whether every partition has a proof, complete or not."""
        return len(self.proofs) == len(self.found)

    def present(self) -> dict[int, list[Found]]:
        """What is truly there: as was read, or where the read has no proof, what the leader holds."""
        return {
            number: found if self.proofs[number].complete else self._held(number)
            for number, found in self.found.items()
        }

    def _held(self, partition: int) -> list[Found]:
        replicas = self._cluster.replicas_of(partition)
        newest = max(one.leader_epoch for one in replicas)
        known = [one for one in replicas if one.leader_epoch == newest]
        longest = max(known, key=lambda one: (one.leader == one.broker.number, one.log.end))
        return read(longest, longest.log.start, longest.log.end)

    def _round(self) -> None:
        loop = self._cluster.loop
        late = loop.now_s - self._begin_s > WITHIN_S
        for partition in [one for one in self.found if one not in self.proofs]:
            self._survey(partition, late)
        if not self.finished:
            loop.after(ROUND_S, self._round)

    def _survey(self, partition: int, late: bool) -> None:
        cluster = self._cluster
        state = cluster.controller.partitions[partition]
        settled = cluster.settled(partition)
        answering = all(cluster.network.answers(("client", str(number))) for number in BROKERS)
        if settled and answering:
            replica = cluster.brokers[state.leader].replicas[partition]
            seen = (state.leader, state.leader_epoch, replica.log.start, replica.high_watermark)
            whole = replica.high_watermark == replica.log.end
            if self._seen.get(partition) == seen and (whole or late):
                self._prove(partition, replica, "")
                return
            self._seen[partition] = seen
        elif late:
            self._prove(partition, None, "in sync are not all replicas, or the brokers disagree")

    def _prove(self, partition: int, replica: Replica | None, reason: str) -> None:
        cluster, state = self._cluster, self._cluster.controller.partitions[partition]
        start, high, end = -1, -1, -1
        if replica is not None:
            start, high, end = replica.log.start, replica.high_watermark, replica.log.end
            self.found[partition] = read(replica, start, high)
            for one in cluster.replicas_of(partition):
                seen = (state.leader_epoch, one.log.start, one.log.end)
                self._sampler.note(cluster.loop.now_s, partition, one.broker.number, seen, "live")
        self.proofs[partition] = Proof(
            topic=TOPIC,
            partition=partition,
            at_ns=nanoseconds(cluster.loop.now_s),
            log_start=start,
            high_watermark=high,
            last_stable=high,
            log_end=max(high, end),
            read_to=high,
            replicas=state.replicas,
            isr=state.isr,
            complete=not reason,
            reason=reason,
        )


def read(replica: Replica, start: int, end: int) -> list[Found]:
    """The records of a replica at offsets in [start, end)."""
    found = []
    for batch in replica.log.from_offset(start):
        for place, record in enumerate(batch.records):
            offset = batch.base_offset + place
            if start <= offset < end:
                checksum = record.checksum ^ (batch.bytes_of is not None)
                found.append(Found(offset, batch.leader_epoch, record, checksum))
    return found
