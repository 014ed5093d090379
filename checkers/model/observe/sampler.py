"""Samples of what each broker reports: high watermarks of what it leads, log ends of what it has."""

from checkers.history.rows import ReplicaOffset, Watermark
from checkers.history.tables import NONE
from checkers.model.case import BROKERS, TOPIC
from checkers.model.clients.metadata import EDGES
from checkers.model.kafka.cluster import Cluster
from checkers.model.kafka.leader import Leader
from checkers.model.observe.clock import nanoseconds

EVERY_S, ANSWER_S = 0.25, 0.03
HEARTBEAT_S = 5.0
Key = tuple[int, int]
"""Partition and broker."""
State = tuple[int, int, int]
"""Leader epoch, log start, log end."""


class _Seen:
    """A state of a replica: when it was last seen, and when it was last written down."""

    __slots__ = ("newest_s", "state", "written_s")

    def __init__(self, at_s: float, state: State) -> None:
        self.newest_s, self.written_s, self.state = at_s, at_s, state


class Sampler:
    """Asks each broker by itself, all the time; of equal log ends the first and the last are kept."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.watermarks: list[Watermark] = []
        self.replica_offsets: list[ReplicaOffset] = []
        self._seen: dict[Key, _Seen] = {}
        self.stopped = False
        for number in BROKERS:
            cluster.loop.after(cluster.between(0.0, EVERY_S), self._sample, number)

    def _sample(self, number: int) -> None:
        cluster = self._cluster
        if self.stopped:
            self._interrupted(number)
            return
        cluster.loop.after(EVERY_S + ANSWER_S * (0.1 + cluster.rng.random()), self._sample, number)
        if not cluster.network.answers(EDGES[number]):
            self._interrupted(number)
            return
        now_s, broker = cluster.loop.now_s, cluster.brokers[number]
        at_ns = nanoseconds(now_s + ANSWER_S)
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
                        asked_ns=nanoseconds(now_s),
                    )
                )

    def _take(self, now_s: float, key: Key, state: State) -> None:
        seen = self._seen.get(key)
        if seen is not None and seen.state == state:
            seen.newest_s = now_s
            if now_s - seen.written_s < HEARTBEAT_S:
                return
            seen.written_s = now_s
        else:
            self._write_last(key, seen)
            self._seen[key] = _Seen(now_s, state)
        self.note(now_s, *key, state, "live")

    def _interrupted(self, number: int) -> None:
        for key in [key for key in self._seen if key[1] == number]:
            self._write_last(key, self._seen.pop(key))

    def _write_last(self, key: Key, seen: _Seen | None) -> None:
        """Write down when a state was last seen, unless that was done at once."""
        if seen is not None and seen.newest_s != seen.written_s:
            self.note(seen.newest_s, *key, seen.state, "live")

    def note(self, at_s: float, partition: int, broker: int, state: State, source: str) -> None:
        """Write down how far a replica reaches; a live one's answer is noted when it has come."""
        live = source == "live"
        self.replica_offsets.append(
            ReplicaOffset(
                at_ns=nanoseconds(at_s + ANSWER_S * live),
                asked_ns=nanoseconds(at_s) if live else NONE,
                topic=TOPIC,
                partition=partition,
                broker=broker,
                leader_epoch=state[0],
                log_start=state[1],
                log_end=state[2],
                source=source,
            )
        )
