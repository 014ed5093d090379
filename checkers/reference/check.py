"""Every rule over a whole history, with the count of what was examined: the reference judgement.

Invariant: each decided property is either broken by an anomaly or holds for all that was examined of it; what
is undecided is counted and never reported as holding.
Evidence: the history alone.
Counterexample to "no anomaly, so it holds":
    three acks to orders-0, whose final read timed out;  no rule reports anything
    examined of acked-loss: 0, undecided: 3
    the property does not hold: it is undecided
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from checkers.anomalies import Anomalies
from checkers.history.records.markers import empty_offsets
from checkers.history.records.transactions import FINAL_READER
from checkers.history.rows import History, Proof, Read, Send
from checkers.history.tables import NONE, Outcome
from checkers.judgement import Attempts, Judgement, PartitionUndecided, Totals
from checkers.properties import DECIDED, Property, by_property
from checkers.property_terms import ExaminedUnit
from checkers.reference import durability, high_watermark, hw_monotone, order, presence, reads
from checkers.reference.control_plane import rules as control_plane
from checkers.reference.control_plane.ack_contract import ack_contract
from checkers.reference.control_plane.early_read import early_read
from checkers.reference.control_plane.rule_result import RuleResult
from checkers.reference.facts import Facts, Rule
from checkers.reference.replicas import between, checkpoints, within
from checkers.reference.replicas.units import are_collected, replica_units
from checkers.reference.transactions import rules as transactions
from checkers.reference.transactions.shown import shown_by

_MODULES = (durability, high_watermark, hw_monotone, order, presence, reads, between, within, checkpoints)
_EVERY_RULE = {each: rule for module in _MODULES for each, rule in module.RULES.items()}
RULES: Mapping[Property, Rule] = MappingProxyType(
    {each: _EVERY_RULE[each] for each in DECIDED if each in _EVERY_RULE}
)
"""The rule of each decided property that is counted by its unit, in the order of reports. The rules of the
control plane and of transactions count for themselves."""


def check(history: History) -> Judgement:
    """Judge a history by the definitions, at the cost of some Python objects for each row."""
    facts = Facts(
        sends=history.sends,
        final_log=history.final_log,
        reads=history.reads,
        committed_reads=history.transaction_reads,
        watermarks=history.watermarks,
        proofs=history.proofs,
        replicas=history.replicas if are_collected(history) else (),
        replica_batches=history.replica_batches,
        producer_states=history.producer_states,
        configs=history.configs,
        producers=history.producers,
        empty=empty_offsets(history),
    )
    results = _control_plane(history, facts) | transactions.results(history, shown_by(history, facts))
    found = {each: rule(facts) for each, rule in RULES.items()}
    found |= {each: iter(result.anomalies) for each, result in results.items()}
    undecided_partitions = _undecided_partitions(history, facts)
    examined, undecided = _counts(history, facts, len(undecided_partitions))
    examined |= {each: result.examined for each, result in results.items()}
    undecided |= {each: result.undecided for each, result in results.items()}
    return Judgement(
        examined=examined,
        undecided=undecided,
        anomalies=Anomalies.of(anomaly for each in DECIDED for anomaly in found[each]),
        undecided_partitions=undecided_partitions,
        totals=totals(history),
        attempts=attempts(history),
        doubtful_acks=results[Property.ACK_CONTRACT].doubtful,
    )


def _control_plane(history: History, facts: Facts) -> dict[Property, RuleResult]:
    """The rules that count for themselves."""
    results = {each: rule(history) for each, rule in control_plane.RULES.items()}
    results[Property.ACK_CONTRACT] = ack_contract(history, history.sends)
    return results | {Property.EARLY_READ: early_read(history, facts.reads, facts.proof)}


def attempts(history: History) -> dict[int, Attempts]:
    """How many sends each producer made, and the first and the last of their sequences."""
    sequences: dict[int, list[int]] = defaultdict(list)
    for send in history.sends:
        sequences[send.producer].append(send.sequence)
    return {
        producer: Attempts(count=len(its), first=min(its), last=max(its))
        for producer, its in sequences.items()
    }


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
    """How many units of each property were examined, and how many are undecided."""
    every_replica, examined_replica = replica_units(history, facts)
    proofs = facts.proof.values()
    offsets = sum(max(0, proof.high_watermark - proof.log_start) for proof in proofs)
    unknown = sum(_unknown(facts, proof, proof.high_watermark) for proof in proofs)
    tailing = [read for read in history.transaction_reads if read.reader != FINAL_READER]
    every_read, reads = [*history.reads, *tailing], [read for _, read in facts.given()]
    every = by_property(
        _units(
            acks=[send for send in history.sends if send.acked],
            log_records=len(history.final_log),
            offsets=offsets + undecided_partitions,
            sampled=sum(_sampled(facts, proof) for proof in proofs),
            reads=every_read,
            decided_reads=every_read,
            samples=len(history.watermarks),
        )
        | every_replica
    )
    examined = by_property(
        _units(
            acks=facts.acked(),
            log_records=len(facts.log),
            offsets=offsets - unknown,
            sampled=sum(_sampled(facts, proof) - _sampled_unread(facts, proof) for proof in proofs),
            reads=reads,
            decided_reads=[read for read in reads if not facts.undecided(read.tp, read.offset)],
            samples=sum(map(hw_monotone.is_comparable, history.watermarks)),
        )
        | examined_replica
    )
    return examined, {each: every[each] - examined[each] for each in examined}


def _units(
    *,
    acks: Sequence[Send],
    log_records: int,
    offsets: int,
    sampled: int,
    reads: Sequence[Read],
    decided_reads: Sequence[Read],
    samples: int,
) -> dict[ExaminedUnit, int]:
    placed = sum(send.offset != NONE for send in acks)
    return {
        ExaminedUnit.ACK: len(acks),
        ExaminedUnit.ACK_WITH_OFFSET: placed,
        ExaminedUnit.ACK_WITHOUT_OFFSET: len(acks) - placed,
        ExaminedUnit.LOG_RECORD: log_records,
        ExaminedUnit.OFFSET_BELOW_HW: offsets,
        ExaminedUnit.READ: len(reads),
        ExaminedUnit.READ_OF_DECIDED_OFFSET: len(decided_reads),
        ExaminedUnit.WATERMARK_SAMPLE: samples,
        ExaminedUnit.READ_OR_SAMPLED_OFFSET: len(decided_reads) + sampled,
    }


def _highest(facts: Facts, proof: Proof) -> int:
    return max((sample.high_watermark for sample in facts.watermarks[proof.tp]), default=NONE)


def _unknown(facts: Facts, proof: Proof, end: int) -> int:
    """Of how many offsets of a decided partition, up to one, nobody knows whether an empty one is a hole."""
    return facts.empty_offsets(proof.tp).unknown(proof.log_start, end)


def _sampled(facts: Facts, proof: Proof) -> int:
    """How many offsets of a decided partition a sample shows to have been below the high watermark."""
    return max(0, _highest(facts, proof) - proof.log_start)


def _sampled_unread(facts: Facts, proof: Proof) -> int:
    """Those of them that are on disk above the proven high watermark; and those below it of which nobody
    knows whether an empty one is a hole."""
    begin, highest = max(proof.high_watermark, proof.log_start), _highest(facts, proof)
    unknown = _unknown(facts, proof, min(highest, proof.high_watermark))
    return max(0, min(highest, proof.log_end) - begin) + unknown
