"""What the leader of a partition does: append, serve fetches, move the high watermark, keep the ISR.

Sources: kafka.cluster.Partition (maybeIncrementLeaderHW, checkEnoughReplicasReachOffset, maybeExpandIsr,
maybeShrinkIsr), DelayedProduce, DelayedFetch, ProducerStateManager; KIP-497, KIP-841, KIP-903, KIP-966.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from checkers.history.tables import NONE
from checkers.model.bugs import Bug
from checkers.model.kafka.controller import AlterPartition
from checkers.model.kafka.damage import append_wrongly
from checkers.model.kafka.log import Batch, Sent
from checkers.model.kafka.partition_change import PartitionState

if TYPE_CHECKING:
    from checkers.model.kafka.replica import Replica

FETCH_WAIT_S = 0.5
"""replica.fetch.wait.max.ms: how long a fetch waits for records."""
PRODUCE_TIMEOUT_S = 30.0
"""request.timeout.ms of the producers: how long an append waits for its followers."""
RETRY_S = 0.3
VISIBLE_S = 1.5
"""What lasts that long shows in samples and in the metadata log, whatever the clocks."""
UNANSWERED_S = 0.8
"""How long the planted leader that acknowledges by itself has had no word from its followers."""
LONG_AGO_S = -1e9


@dataclass(frozen=True, slots=True, eq=False)
class ProduceRequest:
    """A batch on its way to a leader."""

    partition: int
    records: tuple[Sent, ...]
    acks: str
    producer_id: int
    producer_epoch: int
    base_sequence: int


class Fetched(NamedTuple):
    """What a leader answers to a follower. `diverging`: the epoch, and its end, to be truncated to.
    `retained_from`: what is before it the leader has deleted. `begins`: the same, where that was asked for
    (OFFSET_OUT_OF_RANGE)."""

    batches: Sequence[Batch] = ()
    high_watermark: int = 0
    retained_from: int = 0
    diverging: tuple[int, int] | None = None
    begins: int = NONE
    error: str = ""


Reply = Callable[[str, int], None]
"""Called with an error ("": none) and the offset of the first record (-1: none)."""
FetchReply = Callable[[Fetched], None]


class Remote:
    """A follower as its leader knows it."""

    __slots__ = ("broker_epoch", "caught_up_s", "end", "fetched_s", "leader_end")

    def __init__(self, caught_up_s: float) -> None:
        self.end, self.broker_epoch, self.caught_up_s = NONE, NONE, caught_up_s
        self.fetched_s, self.leader_end = 0.0, 0


class Leader:
    """The role of a replica that leads, in one leader epoch."""

    def __init__(self, replica: "Replica", state: PartitionState) -> None:
        self.replica, self.epoch, self.start_offset = replica, replica.leader_epoch, replica.log.end
        self._cluster = replica.broker.cluster
        now_s = self._cluster.loop.now_s
        self._remotes: dict[int, Remote] = {}
        self.serve(state.replicas)
        for node in state.isr:
            if node in self._remotes:
                self._remotes[node].caught_up_s = now_s
        self._pending: tuple[int, ...] | None = None
        self._waiting: list[tuple[int, int, Reply]] = []
        self._parked: dict[int, tuple[int, FetchReply]] = {}
        self._stopped = False
        self.heard_s = self._short_since_s = now_s

    def start(self) -> None:
        """Begin to lead."""
        self._advance()
        self._cluster.loop.after(self._cluster.case.settings.lag_max_s / 2, self._check_isr)

    def serve(self, replicas: Sequence[int]) -> None:
        """Brokers that have become replicas may fetch from now on; they have caught up with nothing yet."""
        for node in replicas:
            if node != self.replica.broker.number and node not in self._remotes:
                self._remotes[node] = Remote(LONG_AGO_S)

    def stop(self, error: str) -> None:
        """Lead no more; `error` is the answer to whoever waits ("": the process has ended)."""
        self._stopped = True
        waiting, self._waiting = self._waiting, []
        for _, _, reply in waiting if error else ():
            reply(error, NONE)
        for _, fetch_reply in list(self._parked.values()) if error else ():
            fetch_reply(Fetched(error=error))
        self._parked.clear()

    @property
    def min_isr(self) -> int:
        """How many must be in sync, by what this broker knows: at most the number of replicas."""
        broker, partition = self.replica.broker, self.replica.partition
        return min(broker.min_isr, len(broker.view[partition].replicas))

    # Producers

    def produce(self, request: ProduceRequest, reply: Reply) -> None:
        """Append a batch, unless it is refused; `reply` is called when acks are fulfilled."""
        bugs = self._cluster.bugs
        short = len(self.replica.isr) < self.min_isr
        if request.acks == "all" and short:
            if Bug.ACK_BEFORE_MIN_ISR not in bugs:
                reply("NOT_ENOUGH_REPLICAS", NONE)
                return
            self._cluster.act(Bug.ACK_BEFORE_MIN_ISR)
            # One that has not learnt of a larger value yet, as a correct one may, acknowledges it as well.
            by_all = len(self.replica.isr) < self._cluster.controller.least_min_isr
            if by_all and self._cluster.loop.now_s - self._short_since_s > VISIBLE_S:
                self._cluster.manifest(Bug.ACK_BEFORE_MIN_ISR)
        known, error = self._in_sequence(request)
        if error:
            reply(error, NONE)
            return
        batch = known or self._append(request)
        if request.acks != "all":
            reply("", batch.base_offset)
        else:
            self._wait(batch, reply)
        if known is None:
            self._advance()
            self._wake()

    def _append(self, request: ProduceRequest) -> Batch:
        replica, now_s = self.replica, self._cluster.loop.now_s
        batch = Batch(
            base_offset=replica.log.end,
            leader_epoch=self.epoch,
            records=request.records,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            base_sequence=request.base_sequence,
            appended_s=now_s,
            crc=self._cluster.rng.getrandbits(32),
        )
        for place, record in enumerate(request.records):
            record.written.append((batch.base_offset + place, self.epoch, replica.broker.number, now_s))
        replica.append(batch)
        self._cluster.appended(replica, batch)
        if self._cluster.bugs:
            append_wrongly(self._cluster, replica, batch)
        return batch

    def _in_sequence(self, request: ProduceRequest) -> tuple[Batch | None, str]:
        """The batch that the request repeats, if it does; and the error if it is out of order."""
        entry = self.replica.log.producers.get(request.producer_id) if request.producer_id != NONE else None
        if entry is None:
            return None, ""
        if request.producer_epoch < entry.epoch:
            return None, "INVALID_PRODUCER_EPOCH"
        if request.producer_epoch > entry.epoch:
            return None, "" if request.base_sequence == 0 else "OUT_OF_ORDER_SEQUENCE_NUMBER"
        batch = entry.batch(request.base_sequence, len(request.records))
        if batch is not None:
            if Bug.RETRY_APPENDED_TWICE not in self._cluster.bugs or batch.leader_epoch == self.epoch:
                return batch, ""
            self._cluster.act(Bug.RETRY_APPENDED_TWICE)
            return None, ""
        if request.base_sequence != entry.last_sequence + 1:
            return None, "OUT_OF_ORDER_SEQUENCE_NUMBER"
        return None, ""

    def _wait(self, batch: Batch, reply: Reply) -> None:
        self._waiting.append((batch.end_offset, batch.base_offset, reply))
        self._cluster.loop.after(PRODUCE_TIMEOUT_S, self._time_out, batch.end_offset, reply)
        if Bug.DEPOSED_LEADER_ACKS_ALL in self._cluster.bugs:
            self._cluster.loop.after(UNANSWERED_S, self._acknowledge_alone, reply)
        self._complete()

    def _time_out(self, required: int, reply: Reply) -> None:
        self._drop(reply, "REQUEST_TIMED_OUT")

    def _drop(self, reply: Reply, error: str) -> None:
        for entry in self._waiting:
            if entry[2] is reply:
                self._waiting.remove(entry)
                reply(error, NONE if error else entry[1])
                return

    def _acknowledge_alone(self, reply: Reply) -> None:
        broker = self.replica.broker
        if broker.node.paused or not broker.node.up:
            return
        if self._cluster.loop.now_s - self.heard_s >= UNANSWERED_S and not self._stopped:
            self._cluster.act(Bug.DEPOSED_LEADER_ACKS_ALL)
            self._drop(reply, "")

    def _complete(self) -> None:
        """Answer those whose records are below the high watermark."""
        high_watermark = self.replica.high_watermark
        if not self._waiting or self._waiting[0][0] > high_watermark:
            return
        enough = len(self._maximal_isr()) >= self.min_isr or Bug.ACK_BEFORE_MIN_ISR in self._cluster.bugs
        done = [entry for entry in self._waiting if entry[0] <= high_watermark]
        self._waiting = [entry for entry in self._waiting if entry[0] > high_watermark]
        for _, offset, reply in done:
            if enough:
                reply("", offset)
            else:
                reply("NOT_ENOUGH_REPLICAS_AFTER_APPEND", NONE)

    # The high watermark

    def _maximal_isr(self) -> tuple[int, ...]:
        if self._pending is None or len(self._pending) < len(self.replica.isr):
            return self.replica.isr
        return self._pending

    def _advance(self) -> None:
        """Move the high watermark to what every replica has that is in the ISR, or is about to be."""
        replica, bugs, settings = self.replica, self._cluster.bugs, self._cluster.case.settings
        short = settings.hides_below_min_isr and len(replica.isr) < self.min_isr
        if short and Bug.ACK_BEFORE_MIN_ISR not in bugs:
            return
        isr, now_s = self._maximal_isr(), self._cluster.loop.now_s
        if self._pending is not None and Bug.HIGH_WATERMARK_BEFORE_ISR_COMMIT in bugs:
            isr = self._pending
        to = replica.log.end
        for node, remote in self._remotes.items():
            if remote.end < to and (node in isr or self._may_join_soon(node, remote, now_s)):
                to = remote.end
        if self._pending is not None and isr is self._pending and len(isr) < len(replica.isr):
            committed = [self._remotes[node].end for node in replica.isr if node in self._remotes]
            if to > max(replica.high_watermark, min(committed, default=to)):
                self._cluster.act(Bug.HIGH_WATERMARK_BEFORE_ISR_COMMIT)
        if to > replica.high_watermark:
            if short:
                self._cluster.act(Bug.ACK_BEFORE_MIN_ISR)
            self._cluster.covered(replica, replica.high_watermark, to)
            replica.high_watermark = to
            self._complete()

    def _may_join_soon(self, node: int, remote: Remote, now_s: float) -> bool:
        caught_up = (
            remote.end == self.replica.log.end
            or now_s - remote.caught_up_s <= self._cluster.case.settings.lag_max_s
        )
        return caught_up and self._eligible(node, remote)

    # Followers

    def fetch(self, node: int, broker_epoch: int, offset: int, last_epoch: int, reply: FetchReply) -> None:
        """Serve a follower's fetch from `offset`; its log ends in leader epoch `last_epoch`."""
        log, remote, now_s = self.replica.log, self._remotes.get(node), self._cluster.loop.now_s
        if remote is None:
            reply(Fetched(error="UNKNOWN_TOPIC_OR_PARTITION"))
            return
        if offset < self.replica.retained_from:
            reply(Fetched(begins=self.replica.retained_from))
            return
        diverging = self._diverging(offset, last_epoch)
        if diverging is not None:
            reply(Fetched(diverging=diverging, high_watermark=self.replica.high_watermark))
            return
        self.heard_s = now_s
        if offset >= log.end:
            remote.caught_up_s = max(remote.caught_up_s, now_s)
        elif offset >= remote.leader_end:
            remote.caught_up_s = max(remote.caught_up_s, remote.fetched_s)
        moved = remote.end != offset
        remote.end, remote.fetched_s, remote.leader_end = offset, now_s, log.end
        remote.broker_epoch = broker_epoch
        self._expand(node, remote)
        if moved:
            self._advance()
        if offset < log.end:
            reply(self._fetched(log.from_offset(offset)))
        else:
            self._parked[node] = (offset, reply)
            self._cluster.loop.after(FETCH_WAIT_S, self._unpark, node, reply)

    def _diverging(self, offset: int, last_epoch: int) -> tuple[int, int] | None:
        log = self.replica.log
        if last_epoch == NONE:
            return None if offset <= log.end else (NONE, log.end)
        epoch, end = log.end_of_epoch(last_epoch)
        return (epoch, end) if epoch < last_epoch or end < offset else None

    def _unpark(self, node: int, reply: FetchReply) -> None:
        parked = self._parked.get(node)
        if parked is not None and parked[1] is reply and not self._stopped:
            del self._parked[node]
            reply(self._fetched(()))

    def _wake(self) -> None:
        """There are new records: answer the fetches that wait for them."""
        parked, self._parked = self._parked, {}
        for offset, reply in parked.values():
            reply(self._fetched(self.replica.log.from_offset(offset)))

    def _fetched(self, batches: Sequence[Batch]) -> Fetched:
        high_watermark, retained_from = self.replica.high_watermark, self.replica.retained_from
        return Fetched(batches=batches, high_watermark=high_watermark, retained_from=retained_from)

    # The ISR

    def _eligible(self, node: int, remote: Remote) -> bool:
        """Whether the broker may join the ISR, by the metadata that this leader knows."""
        known = self.replica.broker.registrations.get(node)
        if known is None or known.fenced or known.stopping:
            return False
        if Bug.ISR_JOIN_STALE_BROKER_EPOCH in self._cluster.bugs:
            return True
        return remote.broker_epoch in (NONE, known.broker_epoch)

    def _expand(self, node: int, remote: Remote) -> None:
        replica = self.replica
        if self._pending is not None or node in replica.isr or not self._eligible(node, remote):
            return
        in_sync = remote.end >= replica.high_watermark and remote.end >= self.start_offset
        if not in_sync and Bug.ISR_JOIN_TOO_EARLY in self._cluster.bugs:
            self._cluster.act(Bug.ISR_JOIN_TOO_EARLY)
            in_sync = True
        if in_sync:
            self._alter((*replica.isr, node))

    def join_by_old_fetch(self, node: int) -> None:
        """The planted leader: a broker that is back is in sync as it was before it went."""
        remote, replica = self._remotes.get(node), self.replica
        if remote is None or self._pending is not None or node in replica.isr:
            return
        if remote.end >= max(replica.high_watermark, self.start_offset, 1):
            self._cluster.act(Bug.ISR_JOIN_STALE_BROKER_EPOCH)
            self._alter((*replica.isr, node))

    def _check_isr(self) -> None:
        """Every half lag limit: who has not caught up for too long leaves the ISR."""
        if self._stopped:
            return
        settings, broker = self._cluster.case.settings, self.replica.broker
        self._cluster.loop.after(settings.lag_max_s / 2, self._check_isr)
        if broker.node.paused or self._pending is not None:
            return
        now_s, end = self._cluster.loop.now_s, self.replica.log.end
        out = {
            node
            for node, remote in self._remotes.items()
            if node in self.replica.isr
            and remote.end != end
            and now_s - remote.caught_up_s > settings.lag_max_s
        }
        if out:
            self._alter(tuple(node for node in self.replica.isr if node not in out))
            self._advance()

    def _alter(self, isr: tuple[int, ...]) -> None:
        self._pending = isr
        self._ask(isr)

    def _ask(self, isr: tuple[int, ...]) -> None:
        """Ask the controller for another ISR, again and again until it answers or this leader is no more."""
        if self._stopped or self._pending is not isr:
            return
        replica = self.replica
        epochs = {node: remote.broker_epoch for node, remote in self._remotes.items()}
        request = AlterPartition(
            broker=replica.broker.number,
            broker_epoch=replica.broker.broker_epoch,
            partition=replica.partition,
            leader_epoch=self.epoch,
            partition_epoch=replica.partition_epoch,
            isr=tuple((node, epochs.get(node, replica.broker.broker_epoch)) for node in isr),
        )
        replica.broker.ask_controller_for_isr(request, lambda answer: self._answered(isr, answer))
        self._cluster.loop.after(RETRY_S, self._ask, isr)

    def _answered(self, isr: tuple[int, ...], answer: PartitionState | str) -> None:
        if self._stopped or self._pending is not isr:
            return
        if answer == "ineligible":
            self._pending = None
        elif isinstance(answer, PartitionState) and answer.leader_epoch == self.epoch:
            self.replica.isr, self.replica.partition_epoch = answer.isr, answer.partition_epoch
            self.committed()

    def committed(self) -> None:
        """The ISR of the replica is the one that the controller has committed."""
        self._pending = None
        self._short_since_s = self._cluster.loop.now_s
        self._advance()
        self._complete()
