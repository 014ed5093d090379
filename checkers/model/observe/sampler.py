"""Samples of what each broker reports: high watermarks of what it leads, log ends of what it has."""

from checkers.history.rows import ReplicaOffset, Watermark
from checkers.model.case import BROKERS, TOPIC
from checkers.model.kafka.cluster import Cluster
from checkers.model.kafka.leader import Leader
from checkers.model.observe.clock import nanoseconds

EVERY_S, ANSWER_S = 0.25, 0.03
HEARTBEAT_S = 5.0
Key = tuple[int, int]
State = tuple[int, int, int]
"""Leader epoch, log start, log end."""


class Sampler:
    """Asks each broker by itself, all the time; of equal log ends the first and the last are kept."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.watermarks: list[Watermark] = []
        self.replica_offsets: list[ReplicaOffset] = []
        self._written: dict[Key, tuple[float, State]] = {}
        self._newest: dict[Key, tuple[float, State]] = {}
        self.stopped = False
        for number in BROKERS:
            cluster.loop.after(cluster.between(0.0, EVERY_S), self._sample, number)

    def _sample(self, number: int) -> None:
        cluster = self._cluster
        if self.stopped:
            self._interrupted(number)
            return
        cluster.loop.after(EVERY_S + ANSWER_S * (0.1 + cluster.rng.random()), self._sample, number)
        if not cluster.network.answers(("client", str(number))):
            self._interrupted(number)
            return
        now_s, broker = cluster.loop.now_s, cluster.brokers[number]
        at_ns = nanoseconds(now_s)
        for partition, view in broker.view.items():
            replica = broker.replicas.get(partition)
            if replica is None or replica.leader_epoch != view.leader_epoch:
                continue
            self._take(now_s, (partition, number), (view.leader_epoch, replica.log.start, replica.log.end))
            role = replica.role
            if isinstance(role, Leader) and replica.high_watermark >= role.start_offset:
                self.watermarks.append(
                    Watermark(
                        at_ns=at_ns,
                        topic=TOPIC,
                        partition=partition,
                        leader=number,
                        leader_epoch=view.leader_epoch,
                        isr=view.isr,
                        log_start=replica.log.start,
                        high_watermark=replica.high_watermark,
                        last_stable=replica.high_watermark,
                    )
                )

    def _take(self, now_s: float, key: Key, state: State) -> None:
        newest, written = self._newest.get(key), self._written.get(key)
        self._newest[key] = (now_s, state)
        if newest is None or written is None:
            self._write(key, now_s, state)
        elif newest[1] != state:
            if newest != written:
                self._write(key, *newest)
            self._write(key, now_s, state)
        elif now_s - written[0] >= HEARTBEAT_S:
            self._write(key, now_s, state)

    def _interrupted(self, number: int) -> None:
        for key in [key for key in self._newest if key[1] == number]:
            newest = self._newest.pop(key)
            if newest != self._written.pop(key):
                self._write(key, *newest)

    def _write(self, key: Key, at_s: float, state: State) -> None:
        self._written[key] = (at_s, state)
        self.note(at_s, key[0], key[1], state, "live")

    def note(self, at_s: float, partition: int, broker: int, state: State, source: str) -> None:
        """Write down how far a replica reaches."""
        self.replica_offsets.append(
            ReplicaOffset(
                at_ns=nanoseconds(at_s),
                topic=TOPIC,
                partition=partition,
                broker=broker,
                leader_epoch=state[0],
                log_start=state[1],
                log_end=state[2],
                source=source,
            )
        )
