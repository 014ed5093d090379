"""A small model of the controllers: brokers stop, die and come back, and each change is a record of their
log.

It is written from Kafka's protocol, not from the rules that judge it: who leaves or joins an ISR, who is
elected (ISR, then ELR, then the last known leader, then anybody if that is allowed), and in which order the
records of one append come. It knows nothing of records and offsets of partitions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from checkers.history.rows import BrokerState, MetadataChange, TopicPartition
from checkers.history.tables import NONE

NODES = (1, 2, 3)
MIN_ISR = 2
MS_NS = 1_000_000
WALL_NS = 1_700_000_000_000_000_000
"""What the wall clock reads when the history's clock reads 0."""


@dataclass(slots=True, kw_only=True)
class Controllers:
    """The rows of the metadata log so far, and the state that they lead to."""

    elr: bool
    unclean: bool
    metadata: list[MetadataChange] = field(default_factory=list)
    brokers: list[BrokerState] = field(default_factory=list)
    partitions: dict[TopicPartition, MetadataChange] = field(default_factory=dict)
    nodes: dict[int, BrokerState] = field(default_factory=dict)
    at_ms: int = 0
    next_offset: int = 10

    def begin(self, at_ns: int) -> None:
        """The records that follow are one append, made at this time."""
        self.at_ms = (WALL_NS + at_ns) // MS_NS
        self.next_offset += 1  # an append of others, or a NO_OP

    def create(self, tps: Iterable[TopicPartition], rng: Random) -> None:
        """All brokers register and are unfenced; then the partitions are made."""
        for node in NODES:
            self.register(node)
            self.unfence(node)
        for tp in tps:
            replicas = tuple(rng.sample(NODES, 3))
            created = MetadataChange(
                at_ms=self.at_ms,
                log_offset=self._offset(),
                topic=tp.topic,
                partition=tp.partition,
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                replicas=replicas,
                isr=replicas,
            )
            self._write(tp, created)

    def register(self, node: int, *, clean: bool = True) -> None:
        """A new incarnation, fenced; after an unclean shutdown it is in no ISR and no ELR any more."""
        if not clean and self.elr:
            self._leave(node, unclean=True)
        offset = self._offset()
        self._put(
            BrokerState(at_ms=self.at_ms, log_offset=offset, node=node, broker_epoch=offset, fenced=True)
        )

    def unfence(self, node: int) -> None:
        """The broker may lead; partitions without a leader may elect it."""
        self._put(self._changed(node, fenced=False))
        for tp, state in self.partitions.items():
            if state.leader == NONE:
                self._change(tp, state.isr)

    def fence(self, node: int) -> None:
        """The broker is silent: it leaves every ISR, and then is fenced."""
        self._leave(node)
        self._put(self._changed(node, fenced=True))

    def shut_down(self, node: int) -> None:
        """The broker asks to stop: it is marked, and then leaves every ISR."""
        self._put(self._changed(node, in_controlled_shutdown=True))
        self._leave(node)

    def join(self, tp: TopicPartition, node: int) -> None:
        """The leader has a follower in its ISR that has caught up."""
        state = self.partitions[tp]
        if state.leader != NONE and self._active(node) and node not in state.isr:
            self._change(tp, (*state.isr, node), recovered=True)

    def drop(self, tp: TopicPartition, node: int) -> None:
        """The leader takes a follower that lags out of its ISR."""
        state = self.partitions[tp]
        if state.leader not in (NONE, node) and node in state.isr:
            self._change(tp, _without(state.isr, node), recovered=True)

    def prefer(self, tp: TopicPartition) -> None:
        """The first replica is elected, if it is in sync."""
        state = self.partitions[tp]
        first = state.replicas[0]
        if first in state.isr and first != state.leader and self._active(first):
            elected = replace(state, leader=first, leader_epoch=state.leader_epoch + 1, last_known_elr=())
            self._write(tp, self._next(elected))

    def _leave(self, node: int, *, unclean: bool = False) -> None:
        for tp, state in self.partitions.items():
            if node in state.isr or (unclean and node in state.elr):
                self._change(tp, _without(state.isr, node), barred=node, lost=node if unclean else NONE)

    def _change(
        self,
        tp: TopicPartition,
        isr: Sequence[int],
        *,
        barred: int = NONE,
        lost: int = NONE,
        recovered: bool = False,
    ) -> None:
        """Give a partition another ISR, and a leader if it needs one. Without ELR the ISR never gets
        empty."""
        before = self.partitions[tp]
        elr = self._elr(before, isr, lost)
        kept = tuple(isr) if isr or self.elr else before.isr
        after = replace(before, isr=kept, elr=elr, recovering=before.recovering and not recovered)
        after = self._elected(before, after, tuple(isr), barred)
        if after != before:
            self._write(tp, self._next(after))

    def _elr(self, before: MetadataChange, isr: Sequence[int], lost: int) -> tuple[int, ...]:
        if not self.elr or len(isr) >= MIN_ISR:
            return ()
        return tuple(sorted({*before.elr, *before.isr} - {*isr, lost}))

    def _elected(
        self, before: MetadataChange, after: MetadataChange, isr: tuple[int, ...], barred: int
    ) -> MetadataChange:
        able = [node for node in after.replicas if node != barred and self._active(node)]
        if before.leader in able and before.leader in isr:
            return replace(after, last_known_elr=())
        from_isr = [node for node in able if node in isr]
        from_elr = [node for node in able if not isr and node in after.elr]
        last_known = [node for node in able if not isr and not after.elr and before.last_known_elr == (node,)]
        epoch = before.leader_epoch + 1
        if from_isr:
            return replace(after, leader=from_isr[0], leader_epoch=epoch, last_known_elr=())
        if from_elr:
            (node, *_), rest = from_elr, _without(after.elr, from_elr[0])
            return replace(after, leader=node, leader_epoch=epoch, isr=(node,), elr=rest, last_known_elr=())
        if last_known or (self.unclean and able):
            node = (last_known or able)[0]
            return replace(
                after,
                leader=node,
                leader_epoch=epoch,
                isr=(node,),
                elr=(),
                last_known_elr=(),
                recovering=True,
            )
        if before.leader == NONE:
            return after
        last = (before.leader,) if self.elr else ()
        return replace(after, leader=NONE, leader_epoch=epoch, last_known_elr=last)

    def _active(self, node: int) -> bool:
        state = self.nodes[node]
        return not state.fenced and not state.in_controlled_shutdown

    def _next(self, state: MetadataChange) -> MetadataChange:
        return replace(
            state,
            at_ms=self.at_ms,
            log_offset=self._offset(),
            partition_epoch=state.partition_epoch + 1,
        )

    def _write(self, tp: TopicPartition, state: MetadataChange) -> None:
        self.partitions[tp] = state
        self.metadata.append(state)

    def _changed(self, node: int, **flags: bool) -> BrokerState:
        return replace(self.nodes[node], at_ms=self.at_ms, log_offset=self._offset(), **flags)

    def _put(self, state: BrokerState) -> None:
        self.nodes[state.node] = state
        self.brokers.append(state)

    def _offset(self) -> int:
        self.next_offset += 1
        return self.next_offset


def _without(nodes: Iterable[int], node: int) -> tuple[int, ...]:
    return tuple(each for each in nodes if each != node)
