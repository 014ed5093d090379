"""What the configuration promised, and so whether each anomaly is a violation or permitted, by which clause.

The promise, from what was realised:
    acks=0        nothing to the producer
    acks=1        kept, unless the leader changed before the record was replicated
    acks=all      kept, and so is everything below the high watermark, whoever wrote it,
                  unless a clause of checkers/contract/clauses.py permits a truncation
    idempotence   once and in order; without it, a retry may double and reorder
What follows from a permitted truncation (a reader was given the record) is permitted only with it.

Invariant: each anomaly gets one label, and a violation unless a clause permits it.
Evidence: the manifest (settings), the faults table (who shut down uncleanly, when) and the metadata log (who
was in sync, who was elected).
Counterexample to "permitted because there was a fault":
    acks=all, min.insync.replicas=2; broker 1 is killed; broker 2 is elected from the in-sync replicas
    an acknowledged record is gone: a violation, for one unclean shutdown is fewer than two

Kafka counts an unclean *shutdown*, even where the disk kept everything; so does the contract.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from checkers.anomalies import Anomaly
from checkers.contract.clauses import deposed_leader, truncation, unreplicated
from checkers.contract.settings import Realised
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from checkers.properties import Property

CLIENT = "acknowledged without being written (client)"
NEVER = 1 << 62
"""An offset behind all others."""


@dataclass(frozen=True, slots=True)
class Label:
    """Whether the contract permits an anomaly, and the clause that does, or the promise that was broken."""

    kind: Literal["violation", "permitted"]
    clause: str

    @property
    def permitted(self) -> bool:
        """Whether the configuration's contract allows it."""
        return self.kind == "permitted"


def judge_contract(anomalies: Sequence[Anomaly], realised: Realised) -> tuple[Label, ...]:
    """One label for each anomaly, in their order. Give it all of them: some are effects of others."""
    contract = _Contract(anomalies, realised)
    return tuple(contract.label(anomaly) for anomaly in anomalies)


def _permitted(clause: str) -> Label:
    return Label("permitted", clause)


def _violation(promise: str) -> Label:
    return Label("violation", promise)


class _Contract:
    def __init__(self, anomalies: Sequence[Anomaly], realised: Realised) -> None:
        self._realised = realised
        self._delivered = {a.key()[1:] for a in anomalies if a.property is Property.READ_UNCOMMITTED}
        self._doubled = {(a.tp, a.offset) for a in anomalies if a.property is Property.DUPLICATE}
        self._losses: dict[tuple[TopicPartition, int], list[Label]] = defaultdict(list)
        self._lowest: dict[tuple[TopicPartition, str], tuple[int, Label]] = {}
        for anomaly in anomalies:
            if anomaly.property is Property.HW_LOSS:
                self._note_loss(anomaly, self._hw_loss(anomaly))

    def _note_loss(self, anomaly: Anomaly, label: Label) -> None:
        self._losses[anomaly.tp, anomaly.offset].append(label)
        key = (anomaly.tp, label.kind)
        if key not in self._lowest or anomaly.offset < self._lowest[key][0]:
            self._lowest[key] = (anomaly.offset, label)

    def label(self, anomaly: Anomaly) -> Label:
        match anomaly.property:
            case Property.ACKED_LOSS | Property.UNKNOWN_OFFSET_ACK:
                return self._acked_loss(anomaly)
            case Property.ACK_OFFSET:
                return self._ack_offset(anomaly)
            case Property.HW_LOSS | Property.READ_UNCOMMITTED:
                return self._hw_loss(anomaly)
            case Property.SAME_FOR_ALL:
                return self._same_for_all(anomaly)
            case Property.MONOTONE_READ:
                return self._monotone_read(anomaly)
            case Property.DUPLICATE | Property.PRODUCER_ORDER:
                return self._retry(anomaly)
            case Property.REAL_TIME_ORDER if (anomaly.tp, anomaly.offset) in self._doubled:
                return self._retry(anomaly)
            case _:
                return _violation(f"no configuration permits {anomaly.property.value}")

    def _acked_loss(self, anomaly: Anomaly) -> Label:
        acks = self._realised.producer(anomaly.producer).acks
        if acks == "0":
            return _permitted("acks=0: nothing was promised")
        if anomaly.offset == NONE:
            return _violation(CLIENT)
        if acks == "1" and (clause := unreplicated(self._realised, anomaly)):
            return _permitted(clause)
        if clause := truncation(self._realised, anomaly):
            return _permitted(clause)
        return _violation(f"acks={acks}: no fault or election permits it")

    def _ack_offset(self, anomaly: Anomaly) -> Label:
        """An earlier attempt's copy stayed, the acknowledged one was truncated: it takes retries for that."""
        if self._realised.producer(anomaly.producer).idempotence:
            return _violation("idempotence: a record has one place")
        loss = self._acked_loss(anomaly)
        return loss if loss.permitted else _violation("no truncation explains another place")

    def _hw_loss(self, anomaly: Anomaly) -> Label:
        clause = truncation(self._realised, anomaly) or self._never_exposed(anomaly)
        if clause:
            return _permitted(clause)
        return _violation("it was below the high watermark, and no fault or election permits its loss")

    def _never_exposed(self, anomaly: Anomaly) -> str | None:
        """Only an ack and samples witness the loss, and a deposed leader may have given the ack."""
        if anomaly.producer == NONE or anomaly.key()[1:] in self._delivered:
            return None
        if self._realised.producer(anomaly.producer).acks == "all":
            return None
        zombie = deposed_leader(self._realised, anomaly)
        if zombie is None:
            return None
        return (
            f"acks=1: broker {zombie.deposed}, deposed by then, may have acknowledged it, "
            "so it need not have been below the high watermark"
        )

    def _same_for_all(self, anomaly: Anomaly) -> Label:
        """Readers disagree at an offset whose every loss is permitted."""
        losses = self._losses.get((anomaly.tp, anomaly.offset), [])
        if losses and all(loss.permitted for loss in losses):
            return _permitted(f"it follows from the loss at that offset: {losses[0].clause}")
        return _violation("no permitted loss at that offset explains it")

    def _monotone_read(self, anomaly: Anomaly) -> Label:
        """A reader steps back or skips at or behind the lowest loss; none up to there is a violation."""
        lost_at, cause = self._lowest.get((anomaly.tp, "permitted"), (NEVER, None))
        broken_at, _ = self._lowest.get((anomaly.tp, "violation"), (NEVER, None))
        if cause and lost_at <= anomaly.offset < broken_at:
            return _permitted(f"it follows from a truncation at offset {lost_at}: {cause.clause}")
        return _violation("no permitted truncation explains it")

    def _retry(self, anomaly: Anomaly) -> Label:
        if anomaly.producer == NONE or self._realised.producer(anomaly.producer).idempotence:
            return _violation("idempotence: each record once, in order")
        return _permitted("idempotence off: a retry may write a record again, or behind a later one")
