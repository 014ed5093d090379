"""Every rule over a whole history, with the count of what was examined: the reference judgement."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from checkers.history.rows import History
from checkers.history.tables import NONE, Outcome
from checkers.judgement import Anomaly, Judgement, PartitionUndecided, Property, Totals
from checkers.reference import durability, high_watermark, order, presence, reads
from checkers.reference.facts import Facts

RULES: Mapping[Property, Callable[[Facts], Iterator[Anomaly]]] = MappingProxyType(
    {
        Property.ACKED_LOSS: durability.acked_loss,
        Property.HW_LOSS: high_watermark.hw_loss,
        Property.ACK_OFFSET: durability.ack_offset,
        Property.CONTENT: durability.content,
        Property.UNKNOWN_OFFSET_ACK: durability.unknown_offset_ack,
        Property.DUPLICATE: order.duplicate,
        Property.PRODUCER_ORDER: order.producer_order,
        Property.REAL_TIME_ORDER: order.real_time_order,
        Property.RESURRECTED: durability.resurrected,
        Property.PHANTOM: presence.phantom,
        Property.OFFSET_GAP: presence.offset_gap,
        Property.READ_UNCOMMITTED: high_watermark.read_uncommitted,
        Property.MONOTONE_READ: reads.monotone_read,
        Property.SAME_FOR_ALL: reads.same_for_all,
    }
)


def check(history: History) -> Judgement:
    """Judge a history by the definitions, at the cost of some Python objects for each row."""
    facts = Facts(
        sends=history.sends,
        final_log=history.final_log,
        reads=history.reads,
        watermarks=history.watermarks,
        proofs=history.proofs,
    )
    anomalies = [anomaly for rule in RULES.values() for anomaly in rule(facts)]
    undecided_partitions = _undecided_partitions(history, facts)
    examined, undecided = _counts(history, facts, len(undecided_partitions))
    return Judgement(
        examined=examined,
        undecided=undecided,
        anomalies=tuple(anomalies),
        undecided_partitions=undecided_partitions,
        totals=totals(history),
    )


def totals(history: History) -> Totals:
    """How much there was, over decided and undecided partitions."""
    outcomes = Counter(send.outcome for send in history.sends)
    acks = [send.completed_ns for send in history.sends if send.acked]
    return Totals(
        sends=len(history.sends),
        ok=outcomes[Outcome.OK],
        fail=outcomes[Outcome.FAIL],
        info=outcomes[Outcome.INFO],
        ok_without_offset=sum(send.acked and send.offset == NONE for send in history.sends),
        log_records=len(history.final_log),
        reads=len(history.reads),
        first_ack_ns=min(acks, default=NONE),
        last_ack_ns=max(acks, default=NONE),
    )


def _undecided_partitions(history: History, facts: Facts) -> tuple[PartitionUndecided, ...]:
    reasons = {proof.tp: proof.reason or "the final read is not proven complete" for proof in history.proofs}
    return tuple(
        PartitionUndecided(topic=tp.topic, partition=tp.partition, reason=reasons.get(tp, "no final read"))
        for tp in history.partitions
        if tp not in facts.proof
    )


def _counts(
    history: History, facts: Facts, undecided_partitions: int
) -> tuple[dict[Property, int], dict[Property, int]]:
    """What was examined and what is undecided, in the units that Judgement defines."""
    acks = [s for s in history.sends if s.acked]
    placed = [s for s in acks if s.offset != NONE]
    decided_acks = list(facts.acked())
    decided_placed = [s for s in decided_acks if s.offset != NONE]
    settled_reads = [r for r in facts.reads if not facts.undecided(r.tp, r.offset)]
    offsets = sum(max(0, p.high_watermark - p.log_start) for p in facts.proof.values())
    every = dict.fromkeys(Property, len(history.final_log)) | {
        Property.ACKED_LOSS: len(acks),
        Property.ACK_OFFSET: len(placed),
        Property.UNKNOWN_OFFSET_ACK: len(acks) - len(placed),
        Property.HW_LOSS: len(history.reads) + len(placed),
        Property.READ_UNCOMMITTED: len(history.reads),
        Property.MONOTONE_READ: len(history.reads),
        Property.SAME_FOR_ALL: len(history.reads),
        Property.OFFSET_GAP: offsets + undecided_partitions,
    }
    examined = dict.fromkeys(Property, len(facts.log)) | {
        Property.ACKED_LOSS: len(decided_acks),
        Property.ACK_OFFSET: len(decided_placed),
        Property.UNKNOWN_OFFSET_ACK: len(decided_acks) - len(decided_placed),
        Property.HW_LOSS: len(settled_reads) + len(decided_placed),
        Property.READ_UNCOMMITTED: len(settled_reads),
        Property.MONOTONE_READ: len(facts.reads),
        Property.SAME_FOR_ALL: len(facts.reads),
        Property.OFFSET_GAP: offsets,
    }
    return examined, {p: every[p] - examined[p] for p in Property}
