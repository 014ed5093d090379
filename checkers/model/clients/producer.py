"""A producer: batches, sequences, retries, time-outs, and what it reports of each record.

Idempotent, it numbers its batches in each partition (KIP-98). A batch that may have been written keeps its
number until that is known; if it never is, the producer lets all others come to an end, takes a new epoch and
begins at 0 again (KIP-360). While a partition is in trouble only its oldest batch is in flight.
"""

from collections import deque
from dataclasses import dataclass, field

from checkers.history.tables import NONE, Outcome
from checkers.model.bugs import Bug
from checkers.model.case import ProducerSettings
from checkers.model.clients.metadata import EDGES, ClientMetadata
from checkers.model.kafka.cluster import Cluster
from checkers.model.kafka.leader import ProduceRequest
from checkers.model.kafka.log import Sent

REFRESH_S = 5.0
"""topic.metadata.refresh.interval.ms of the harness's clients."""
BACKOFF_S = 0.15
LINGER_S = 0.02
MOST_RECORDS = 5
LONGEST_QUEUE = 40
SPREAD_S = 0.6
"""Within that time the planted client sends each refused batch again, in any order."""
GIVE_UP_S = 1.2
"""After how long the planted client takes a new epoch."""
REFUSALS = frozenset({"NOT_LEADER_FOR_PARTITION", "NOT_ENOUGH_REPLICAS", "OUT_OF_ORDER_SEQUENCE_NUMBER"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What went wrong on a connection, at a time."""

    at_s: float
    broker: int
    disconnects: int = 0
    retries: int = 0


@dataclass(slots=True, eq=False)
class Batched:
    """Records that are sent together, again and again until they are done."""

    partition: int
    records: tuple[Sent, ...]
    epoch: int
    base_sequence: int
    attempt: int = 0
    sent_s: float = -1.0
    edge: tuple[str, str] = ("", "")
    uncertain: bool = False
    """An attempt may have been written."""
    implied: bool = False
    """The planted client: it was refused, and is taken for written if a later one is accepted."""
    ready_s: float = 0.0
    """The planted client: it is sent again at that time, each batch by itself."""


@dataclass(slots=True, eq=False)
class Lane:
    """What a producer has of one partition."""

    queue: deque[Sent] = field(default_factory=deque)
    retries: list[Batched] = field(default_factory=list)
    in_flight: list[Batched] = field(default_factory=list)
    next_sequence: int = 0
    troubled: bool = True
    """Only one batch at a time, until one is acknowledged."""
    leader: int = -1
    """Whom the last batch was sent to."""
    due: bool = False


class Producer:
    """One producer instance."""

    def __init__(self, cluster: Cluster, number: int, settings: ProducerSettings, wall_ms: int) -> None:
        self.number, self.settings = number, settings
        self.sent: list[Sent] = []
        self.trouble: list[Trouble] = []
        self._cluster, self._wall_ms = cluster, wall_ms
        self._metadata = ClientMetadata(cluster)
        self._id, self._epoch, self._bumping = (number - 1) * 1000 if settings.idempotence else NONE, 0, False
        self._lanes = [Lane() for _ in range(cluster.case.settings.partitions)]
        self._refreshing = False
        cluster.network.listen(self._edge_changed)
        self._metadata.refresh()
        cluster.loop.after(REFRESH_S * cluster.rng.random(), self._refresh_again)

    @property
    def outstanding(self) -> bool:
        """Whether a record is neither acknowledged nor given up."""
        return any(lane.queue or lane.retries or lane.in_flight for lane in self._lanes)

    # Sending

    def send(self) -> None:
        """Send one record to some partition."""
        cluster = self._cluster
        partition = int(cluster.rng.random() * len(self._lanes))
        lane, now_s = self._lanes[partition], cluster.loop.now_s
        timestamp_ms = self._wall_ms + int(now_s * 1000)
        record = Sent(
            producer=self.number,
            sequence=len(self.sent),
            partition=partition,
            checksum=(timestamp_ms >> 32) << 32 | cluster.rng.getrandbits(32),
            timestamp_ms=timestamp_ms,
            invoked_s=now_s,
            acks=self.settings.acks,
            idempotent=self.settings.idempotence,
        )
        self.sent.append(record)
        if len(lane.queue) >= LONGEST_QUEUE:
            self._done(record, Outcome.FAIL, NONE, "_QUEUE_FULL")
            return
        lane.queue.append(record)
        cluster.loop.at(now_s + self.settings.delivery_timeout_s, self._expire, lane, record)
        self._soon(lane, partition, LINGER_S)

    def _soon(self, lane: Lane, partition: int, after_s: float) -> None:
        if not lane.due:
            lane.due = True
            self._cluster.loop.after(
                after_s * (0.5 + self._cluster.rng.random()), self._pump, lane, partition
            )

    def _most_in_flight(self, lane: Lane) -> int:
        if not (lane.troubled and self.settings.idempotence):
            return self.settings.max_in_flight
        if Bug.CLIENT_ACKS_REFUSED_BATCH not in self._cluster.bugs:
            return 1
        self._cluster.act(Bug.CLIENT_ACKS_REFUSED_BATCH)
        return self.settings.max_in_flight

    def _pump(self, lane: Lane, partition: int) -> None:
        lane.due = False
        while len(lane.in_flight) < self._most_in_flight(lane):
            leader = self._metadata.reachable_leader(partition)
            if leader >= 0 and leader != lane.leader and not lane.troubled:
                lane.troubled = True
                continue
            batch = self._next(lane, partition) if leader >= 0 else None
            if batch is None:
                break
            self._dispatch(lane, batch, leader)
        if (lane.queue or lane.retries) and self._metadata.reachable_leader(partition) < 0:
            self._refresh_soon()

    def _next(self, lane: Lane, partition: int) -> Batched | None:
        now_s = self._cluster.loop.now_s
        for batch in lane.retries:
            if batch.ready_s <= now_s:
                lane.retries.remove(batch)
                return batch
        if not lane.queue or (self._bumping and self.settings.idempotence):
            return None
        count = min(len(lane.queue), 1 + int(self._cluster.rng.random() * MOST_RECORDS))
        records = tuple(lane.queue.popleft() for _ in range(count))
        sequence = NONE
        if self.settings.idempotence:
            sequence, lane.next_sequence = lane.next_sequence, lane.next_sequence + count
        return Batched(partition, records, self._epoch if self.settings.idempotence else NONE, sequence)

    def _dispatch(self, lane: Lane, batch: Batched, leader: int) -> None:
        cluster, edge = self._cluster, EDGES[leader]
        lane.leader = leader
        batch.attempt += 1
        batch.edge, batch.sent_s = edge, cluster.loop.now_s
        if batch.attempt > 1:
            self.trouble.append(Trouble(at_s=cluster.loop.now_s, broker=leader, retries=len(batch.records)))
        attempt = batch.attempt
        request = ProduceRequest(
            batch.partition,
            batch.records,
            self.settings.acks,
            self._id,
            batch.epoch,
            batch.base_sequence,
        )
        lane.in_flight.append(batch)
        cluster.network.request(
            edge,
            cluster.brokers[leader].on_produce,
            edge,
            request,
            lambda error, offset: self._replied(lane, batch, attempt, error, offset),
        )
        if self.settings.acks == "0":
            lane.in_flight.remove(batch)
            self._all_done(batch, Outcome.OK, NONE, "")
        elif Bug.CLIENT_RESENDS_UNDER_NEW_EPOCH in cluster.bugs and self.settings.idempotence:
            cluster.loop.after(GIVE_UP_S, self._give_up, lane, batch, attempt)

    # Answers

    def _replied(self, lane: Lane, batch: Batched, attempt: int, error: str, offset: int) -> None:
        if attempt != batch.attempt or batch not in lane.in_flight:
            return
        lane.in_flight.remove(batch)
        if not error:
            lane.troubled = lane.troubled and bool(lane.in_flight)
            self._imply(lane, batch)
            self._all_done(batch, Outcome.OK, offset, "")
            self._after(lane, batch.partition, 0.001)
        else:
            self._failed(lane, batch, error)

    def _failed(self, lane: Lane, batch: Batched, error: str) -> None:
        lane.troubled = True
        batch.uncertain = batch.uncertain or error not in REFUSALS or self.settings.acks == "all"
        if error in ("NOT_LEADER_FOR_PARTITION", "_TRANSPORT"):
            self._refresh_soon()
        if batch.records[0].done:
            self._unresolved(lane, batch)
        elif error in ("OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH") and self._oldest(
            lane, batch
        ):
            lane.queue = deque(sorted((*batch.records, *lane.queue), key=lambda one: one.sequence))
            self._bumping = True
        elif self.settings.retries:
            if Bug.CLIENT_ACKS_REFUSED_BATCH in self._cluster.bugs:
                batch.implied = error in REFUSALS
                delay_s = SPREAD_S * self._cluster.rng.random()
                batch.ready_s = self._cluster.loop.now_s + delay_s
                self._cluster.loop.after(delay_s + 0.001, self._pump, lane, batch.partition)
            lane.retries.append(batch)
            lane.retries.sort(key=lambda one: (one.epoch, one.base_sequence))
        else:
            self._all_done(batch, Outcome.INFO, NONE, error)
        self._after(lane, batch.partition, BACKOFF_S)

    def _oldest(self, lane: Lane, batch: Batched) -> bool:
        others = (*lane.in_flight, *lane.retries)
        return all(one.base_sequence > batch.base_sequence for one in others if one.epoch == batch.epoch)

    def _after(self, lane: Lane, partition: int, delay_s: float) -> None:
        """Go on with a lane; and with all, once the last batch of an old epoch has come to its end."""
        if self._bumping and not any(one.in_flight or one.retries for one in self._lanes):
            self._bumping = False
            self._epoch += 1
            for number, one in enumerate(self._lanes):
                one.next_sequence, one.troubled = 0, True
                self._soon(one, number, BACKOFF_S)
        self._soon(lane, partition, delay_s)

    def _unresolved(self, lane: Lane, batch: Batched) -> None:
        """A batch was given up, and may be written: its sequence is never resolved."""
        if self.settings.idempotence:
            self._bumping = True

    def _imply(self, lane: Lane, accepted: Batched) -> None:
        """The planted client: what was refused before is taken for written, too."""
        if Bug.CLIENT_ACKS_REFUSED_BATCH not in self._cluster.bugs or not self.settings.idempotence:
            return
        for batch in [one for one in lane.retries if one.implied and one.epoch == accepted.epoch]:
            if batch.base_sequence < accepted.base_sequence:
                self._cluster.act(Bug.CLIENT_ACKS_REFUSED_BATCH)
                lane.retries.remove(batch)
                self._all_done(batch, Outcome.OK, NONE, "")

    def _give_up(self, lane: Lane, batch: Batched, attempt: int) -> None:
        """The planted client: no answer for a while, so a new epoch, and everything again."""
        if attempt != batch.attempt or batch not in lane.in_flight or batch.records[0].done:
            return
        self._cluster.act(Bug.CLIENT_RESENDS_UNDER_NEW_EPOCH)
        self._epoch += 1
        for number, one in enumerate(self._lanes):
            again = sorted([*one.in_flight, *one.retries], key=lambda each: (each.epoch, each.base_sequence))
            one.in_flight.clear()
            one.retries.clear()
            one.queue.extendleft(
                record for each in reversed(again) for record in reversed(each.records) if not record.done
            )
            one.next_sequence, one.troubled = 0, True
            self._soon(one, number, BACKOFF_S)

    # Time-outs

    def _expire(self, lane: Lane, record: Sent) -> None:
        if record.done:
            return
        for batch in (*lane.in_flight, *lane.retries):
            if record in batch.records:
                self._all_done(batch, Outcome.INFO, NONE, "_MSG_TIMED_OUT")
                if batch in lane.retries:
                    lane.retries.remove(batch)
                    self._unresolved(lane, batch)
                    self._after(lane, batch.partition, BACKOFF_S)
                return
        if record in lane.queue:
            lane.queue.remove(record)
            self._done(record, Outcome.INFO, NONE, "_MSG_TIMED_OUT")

    def _all_done(self, batch: Batched, outcome: Outcome, offset: int, error: str) -> None:
        for place, record in enumerate(batch.records):
            self._done(record, outcome, NONE if offset == NONE else offset + place, error)

    def _done(self, record: Sent, outcome: Outcome, offset: int, error: str) -> None:
        if not record.done:
            record.done, record.outcome, record.offset, record.error = True, outcome, offset, error
            record.completed_s = self._cluster.loop.now_s

    # Connections

    def _edge_changed(self, edge: tuple[str, str], usable: bool) -> None:
        if edge[0] != "client":
            return
        self._lost(int(edge[1]), is_trouble=not usable)
        for lane in self._lanes:
            lane.troubled = lane.troubled or lane.leader == int(edge[1])
        self._refresh_soon()

    def _lost(self, broker: int, *, is_trouble: bool = False) -> None:
        """A connection is gone, and what was in flight over it fails."""
        edge = EDGES[broker]
        lost = [(lane, one) for lane in self._lanes for one in lane.in_flight if one.edge == edge]
        if lost or is_trouble:
            self.trouble.append(Trouble(at_s=self._cluster.loop.now_s, broker=broker, disconnects=1))
        for lane, batch in lost:
            lane.in_flight.remove(batch)
            batch.attempt += 1
            self._failed(lane, batch, "_TRANSPORT")

    def _refresh_soon(self) -> None:
        if not self._refreshing:
            self._refreshing = True
            self._cluster.loop.after(BACKOFF_S * (0.5 + self._cluster.rng.random()), self._refresh)

    def _refresh_again(self) -> None:
        """As it is due, in trouble or not: who waits for an answer of a deposed leader learns of it so."""
        self._cluster.loop.after(REFRESH_S, self._refresh_again)
        self._refresh()

    def _refresh(self) -> None:
        """Learn the leaders. A connection to a broker that is not named any more is closed, and what was in
        flight over it is sent again (librdkafka 2.10)."""
        self._refreshing = False
        for broker in self._metadata.refresh():
            self._lost(broker)
        for partition, lane in enumerate(self._lanes):
            if lane.queue or lane.retries:
                self._soon(lane, partition, LINGER_S)
