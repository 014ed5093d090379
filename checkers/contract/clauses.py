"""Which fates of a record the contract permits: one ruling for each, with the clause and its numbers.

    acks=0               nothing was promised to the producer
    acks=1               kept once it is replicated: a deposed leader, an unreplicated tail, a leader
                         that lost its own pages may take it before
    min.insync.replicas  unsynced pages may go where so many of those who held the record shut down uncleanly
                         before they were in sync again (KIP-966); never where the elected leader had flushed
                         the record (flush.messages=1), unless it had lost its disk. With ELR those count who
                         were in sync when the high watermark could pass it last: not while fewer than so many
                         were. A leader that does not know that its epoch is over commits with those who were
                         in sync in it
    last standing        without ELR, the only in-sync replica may come back emptier
    forgotten            with ELR, another min.insync.replicas leaves nobody eligible but those in sync
    removed              a reassignment takes replicas away that are in sync (KIP-455), and leaves too few
    unclean election     where the topic allows it, by a controller that reads this (Kafka 3.9 and newer), or
                         a person asked for it; never past one who was in sync or eligible, and could lead
    retention            where the leader's clock was so far ahead that the record was too old by it

Invariant: what no clause permits is a violation; what lacks evidence is undecided.
Evidence: the fate (fate.py), the unclean shutdowns of those who were in sync, the realised settings.
Counterexample to "two unclean shutdowns permit it":
    min.insync.replicas=2, ISR {1, 2, 3}; brokers 1 and 2 are killed, broker 3 stays, in sync throughout
    broker 3 is elected without an acknowledged record: it had not shut down, so its loss is a violation
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from checkers.contract.evidence.outages import Outage
from checkers.contract.evidence.partition_evidence import PartitionEvidence
from checkers.contract.fates.changed_eligibility import (
    forgotten_by_change,
    left_by_reassignment,
    may_be_by_older_value,
    unkept_without_elr,
)
from checkers.contract.fates.fate import Fate, Reason
from checkers.contract.fates.lost_record import LostRecord
from checkers.contract.fates.retention import deleted
from checkers.contract.realised.settings import Realised
from checkers.contract.realised.terms import Terms
from checkers.contract.realised.timeline import Election
from checkers.history.operations.forced_elections import was_forced
from checkers.history.tables import NONE

Kind = Literal["violation", "permitted", "undecided"]

# The causes that a label can have, in the order of their sections in docs/properties.md.
NOTHING_PROMISED = "acks=0"
UNREPLICATED_TAIL = "acks=1 unreplicated tail"
DEPOSED_LEADER = "deposed leader"
POWER_LOSS = "power loss of all in-sync replicas"
DISK_LOSS = "disk loss among all in-sync replicas"
UNCLEAN_SHUTDOWNS = "min.isr replicas shut down uncleanly"
ISR_OF_ONE = "ISR of one with min.isr 1"
LAST_STANDING = "last replica standing"
FORGOTTEN = "eligible replicas forgotten"
REMOVED = "replica removed by a reassignment"
LAST_KNOWN_ELR = "last known ELR elected without the data"
UNCLEAN_ELECTION = "unclean election"
RETENTION = "deleted by retention"
IN_SYNC_WITHOUT = "in-sync replica elected without the data"
LOST_BY_LEADER = "elected leader lost what it had"
HOLE = "hole"
MOVED = "moved"
CLIENT = "acknowledged without being written (client)"
RESENT = "re-sent under a new producer epoch (client)"
RETRY = "retry"
MISSING_EVIDENCE = "missing evidence"

_LAST_IN_SYNC = slice(-1, None)
_EVER_IN_SYNC = slice(None)
"""By which ISRs of its epoch a leader may have gone that did not know that the epoch was over. By the last
one at least: who is in it had all that the leader committed. Or by one before, whose end it had not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """Whether the contract permits a fate. A cause is a label of a few words: several, where the evidence
    allows each of them and the contract treats them alike. `clause` is the sentence."""

    kind: Kind
    causes: tuple[str, ...]
    clause: str


def rule(
    record: LostRecord, fate: Fate, evidence: PartitionEvidence, realised: Realised, terms: Terms | None
) -> Ruling:
    """Rule on one fate of a record by terms that may have been in force; None: they are not known."""
    match fate.reason:
        case Reason.DELETED:
            return _deleted(record, evidence, realised)
        case Reason.NO_ELECTION:
            return Ruling(kind="violation", causes=(HOLE,), clause=_no_election(record, evidence, realised))
        case Reason.UNKNOWN:
            removal = f"{_removal(fate, realised)}; " if fate.removed_by else ""
            clause = f"{removal}not measured: {fate.missing}"
            return Ruling(kind="undecided", causes=(MISSING_EVIDENCE,), clause=clause)
        case Reason.IN_SYNC if _may_be_by_older_value(record, fate, realised):
            clause = (
                f"{_removal(fate, realised)}; not measured: whether broker {fate.appended.leader} had learnt "
                "yet how many min.insync.replicas wanted"
            )
            return Ruling(kind="undecided", causes=(MISSING_EVIDENCE,), clause=clause)
        case Reason.IN_SYNC:
            return Ruling(kind="violation", causes=(IN_SYNC_WITHOUT,), clause=_in_sync(fate, realised))
        case Reason.HAD_IT:
            clause = (
                f"{_removal(fate, realised)} without it, though it had been in sync when it was written, and "
                "nothing that was done to it took it"
            )
            return Ruling(kind="violation", causes=(LOST_BY_LEADER,), clause=clause)
        case Reason.DROPPED:
            assert fate.outage is not None
            after, loaded = fate.outage.after, fate.outage.loaded
            clause = (
                f"{_removal(fate, realised)} without it: its disk held the log up to offset {after} when it "
                f"was down, and its process loaded it up to {loaded}"
            )
            return Ruling(kind="violation", causes=(LOST_BY_LEADER,), clause=clause)
        case Reason.DEPOSED:
            return Ruling(kind="permitted", causes=(DEPOSED_LEADER,), clause=_deposed(fate, realised))
        case Reason.UNREPLICATED:
            clause = f"acks={record.acks}: {_removal(fate, realised)}, before it was replicated"
            return Ruling(kind="permitted", causes=(UNREPLICATED_TAIL,), clause=clause)
        case Reason.UNCLEAN_ELECTION | Reason.PAGES_LOST | Reason.LAST_KNOWN_ELR if terms is None:
            clause = f"{_removal(fate, realised)}; not measured: what a setting of the topic was changed to"
            return Ruling(kind="undecided", causes=(MISSING_EVIDENCE,), clause=clause)
        case Reason.UNCLEAN_ELECTION:
            return _unclean_election(record, fate, realised, terms)
        case Reason.PAGES_LOST | Reason.LAST_KNOWN_ELR:
            return _unsynced(record, fate, evidence, realised, terms)


def _removal(fate: Fate, realised: Realised) -> str:
    """ "broker 2 was elected at 7.00 s (epoch 6), whose log begins at offset 120"."""
    election = fate.removed_by
    assert election is not None, "a fate without an election has a sentence of its own"
    how = "" if election.kind in ("clean", "not known") else f", {_elected_as(election.kind)},"
    begins = f", its log begins at offset {fate.start}" if fate.start >= 0 else ""
    at = realised.clock.seconds(election.at_ns)
    return f"broker {election.leader}{how} was elected at {at} (epoch {election.leader_epoch}{begins})"


def _elected_as(kind: str) -> str:
    return {"ELR": "of the ELR", "last known ELR": "last known of the ELR"}.get(kind, "not in sync")


def _deleted(record: LostRecord, evidence: PartitionEvidence, realised: Realised) -> Ruling:
    topic = realised.topic(record.tp.topic)
    assert topic is not None, "what is not known of a topic is decided before"
    found = deleted(record, evidence, realised, topic.retention_ms)
    match found.kind:
        case "permitted":
            clause = f"{RETENTION}: {found.sentence}"
            return Ruling(kind="permitted", causes=(RETENTION,), clause=clause)
        case "undecided":
            return Ruling(kind="undecided", causes=(MISSING_EVIDENCE,), clause=found.sentence)
    cause = RETENTION if realised.clocks_ahead else HOLE
    return Ruling(kind="violation", causes=(cause,), clause=found.sentence)


def _no_election(record: LostRecord, evidence: PartitionEvidence, realised: Realised) -> str:
    if record.missed_ns != NONE:
        missed = realised.clock.seconds(record.missed_ns)
        return f"no election between its write and {missed}, when it was not there, begins at or below it"
    if any(True for _ in evidence.survivors_from(record.offset)):
        return (
            "it was taken from the middle of the log: records behind it survive, and no election since then "
            "begins at or below its offset"
        )
    return "no election since it was written begins at or below its offset"


def _may_be_by_older_value(record: LostRecord, fate: Fate, realised: Realised) -> bool:
    topic, election = realised.topic(record.tp.topic), fate.removed_by
    assert topic is not None, "what is not known of a topic is decided before"
    return election is not None and may_be_by_older_value(record, election, topic, realised)


def _in_sync(fate: Fate, realised: Realised) -> str:
    election = fate.removed_by
    assert election is not None
    had = (
        "it had written it itself"
        if election.leader == fate.appended.leader
        else "it was in sync, and had it"
    )
    if election.kind == "last known ELR":
        had = "it was the last in sync, and had it"
    return f"{_removal(fate, realised)} without it, though {had}"


def _deposed(fate: Fate, realised: Realised) -> str:
    deposing = fate.appended.deposed_by
    assert deposing is not None
    return (
        f"acks=1: broker {fate.appended.leader}, deposed at {realised.clock.seconds(deposing.at_ns)} "
        f"(epoch {fate.appended.epoch}), acknowledged without knowing; {_removal(fate, realised)}"
    )


def _unclean_election(record: LostRecord, fate: Fate, realised: Realised, terms: Terms) -> Ruling:
    clause = f"unclean election: {_removal(fate, realised)}"
    assert fate.removed_by is not None
    if others := realised.passed_over.at(record.tp, fate.removed_by.log_offset):
        last = f"{clause}, past {_several(others)}: in sync or eligible, and neither fenced nor stopping"
        return Ruling(kind="violation", causes=(UNCLEAN_ELECTION,), clause=last)
    if terms.unclean:
        return Ruling(kind="permitted", causes=(UNCLEAN_ELECTION,), clause=clause)
    at_ns, slack_ns = fate.removed_by.at_ns, realised.timeline.slack_ns
    match was_forced(realised.context.faults, record.tp.topic, at_ns, slack_ns):
        case True:
            asked = f"{clause}, as it was asked for"
            return Ruling(kind="permitted", causes=(UNCLEAN_ELECTION,), clause=asked)
        case None:
            unknown = f"{clause}, and nothing shows whether that had been asked for"
            return Ruling(kind="undecided", causes=(MISSING_EVIDENCE,), clause=unknown)
    why = (
        "unclean.leader.election.enable is false"
        if realised.terms.reads_unclean(fate.removed_by)
        else "before Kafka 3.9 controllers do that only when asked"
    )
    forbidden = f"{clause}, and {why}"
    return Ruling(kind="violation", causes=(UNCLEAN_ELECTION,), clause=forbidden)


def _unsynced(
    record: LostRecord, fate: Fate, evidence: PartitionEvidence, realised: Realised, terms: Terms
) -> Ruling:
    """The elected leader lost it with its process: how many others who held it did so before it recovered?"""
    outage = fate.outage
    assert outage is not None
    removal = _removal(fate, realised)
    had_flushed = fate.replicated or outage.node == fate.appended.leader
    if terms.flush_messages == 1 and had_flushed and not outage.wiped:
        clause = f"flush.messages=1: broker {outage.node} had flushed it; {removal} without it"
        return Ruling(kind="violation", causes=(IN_SYNC_WITHOUT,), clause=clause)
    if not fate.replicated:
        clause = f"acks={record.acks}: broker {outage.node} lost it with its process; {removal}"
        return Ruling(kind="permitted", causes=(UNREPLICATED_TAIL,), clause=clause)
    committed_ns = _committed_ns(record, realised, terms)
    counted = _not_back(record, fate, evidence, realised, committed_ns)
    unclean = [outage for outage in counted if _held(record, outage)]
    if len(unclean) >= terms.min_isr:
        if passed_over := _passed_over(record, fate, evidence, realised, terms):
            clause = (
                f"{removal} without it, past {_several(passed_over)}: eligible, and not shut down uncleanly"
            )
            return Ruling(kind="violation", causes=(IN_SYNC_WITHOUT,), clause=clause)
        return Ruling(
            kind="permitted",
            causes=_causes(record, fate, evidence, realised, counted, committed_ns),
            clause=f"{_counted(unclean, terms.min_isr)}; {removal}",
        )
    election = fate.removed_by
    assert election is not None
    if not terms.elr and election.isr == {election.leader}:
        clause = f"ELR off: the last in-sync replica, broker {outage.node}, shut down uncleanly; {removal}"
        return Ruling(kind="permitted", causes=(LAST_STANDING,), clause=clause)
    gone = {outage.node for outage in unclean}
    if outage.node in gone and forgotten_by_change(record.tp, election, gone, realised):
        clause = f"another min.insync.replicas left nobody eligible but {_several(gone)}; {removal}"
        return Ruling(kind="permitted", causes=(FORGOTTEN,), clause=clause)
    if outage.node in gone and left_by_reassignment(record.tp, election, gone, realised):
        clause = f"a reassignment left nobody in sync or eligible but {_several(gone)}; {removal}"
        return Ruling(kind="permitted", causes=(REMOVED,), clause=clause)
    if outage.node in gone and unkept_without_elr(record.tp, election, gone, realised):
        clause = f"ELR was off until nobody was in sync but {_several(gone)}; {removal}"
        return Ruling(kind="permitted", causes=(LAST_STANDING,), clause=clause)
    clause = f"{removal} without it, after {_counted(unclean, terms.min_isr)}"
    at_most = _not_back(record, fate, evidence, realised, committed_ns, taken_for=_EVER_IN_SYNC)
    if sum(_held(record, outage) for outage in at_most) >= terms.min_isr:
        unknown = f"whether broker {fate.appended.leader} had learnt yet who was in sync"
        missing = f"{clause}; not measured: {unknown}"
        return Ruling(kind="undecided", causes=(MISSING_EVIDENCE,), clause=missing)
    return Ruling(kind="violation", causes=(IN_SYNC_WITHOUT,), clause=clause)


def _committed_ns(record: LostRecord, realised: Realised, terms: Terms) -> int:
    """When it was below the high watermark at the latest. With ELR that does not advance while fewer than
    min.insync.replicas are in sync: what was seen below it then was so before."""
    if not terms.elr or record.acks not in ("", "all"):
        return record.written_ns
    enough_ns = realised.timeline.last_enough_ns(record.tp, record.written_ns, terms.min_isr)
    return enough_ns if record.since_ns <= enough_ns else record.written_ns


def _not_back(
    record: LostRecord,
    fate: Fate,
    evidence: PartitionEvidence,
    realised: Realised,
    since_ns: int,
    *,
    taken_for: slice = _LAST_IN_SYNC,
) -> tuple[Outage, ...]:
    """The unclean shutdowns of those who were in sync at `since_ns`, or came into the ISR later, and were not
    in sync again before the election: one for each node, that in which it held the record. In sync by the
    controllers, or by the leader that committed it without knowing of them; with ELR, who is eligible after
    that has it too."""
    election = fate.removed_by
    assert election is not None
    timeline, tp = realised.timeline, record.tp
    by_its_leader, known_ns = frozenset[int](), _known_ns(record, fate, evidence, since_ns)
    if timeline.ended_ns(tp, fate.appended.epoch) <= record.written_ns + timeline.slack_ns:
        by_its_leader = by_its_leader.union(*timeline.isrs(tp, fate.appended.epoch)[taken_for])
    found = {
        outage.node: outage
        for outage in sorted(evidence.outages, key=lambda outage: (_held(record, outage), outage.data_lost))
        if outage.unclean
        and record.since_ns <= outage.last_write_ns
        and outage.since_ns <= election.at_ns <= outage.until_ns
        and (
            outage.node in by_its_leader
            or timeline.in_sync(tp, outage.node, since_ns, outage.since_ns)
            or (known_ns != NONE and timeline.eligible(tp, outage.node, known_ns, outage.since_ns))
        )
    }
    return tuple(found[node] for node in sorted(found))


def _known_ns(record: LostRecord, fate: Fate, evidence: PartitionEvidence, since_ns: int) -> int:
    """Since when it is known to have been below the high watermark; an acknowledgement of acks=1 shows
    nothing of that; NONE: it is not known. `since_ns`: of any other acknowledgement."""
    if record.acks in ("", "all"):
        return since_ns
    sampled = evidence.high_watermarks.get(fate.appended.epoch)
    sampled_ns = NONE if sampled is None else sampled.first_above(record.offset)
    return min((each for each in (sampled_ns, record.shown_ns) if each != NONE), default=NONE)


def _passed_over(
    record: LostRecord, fate: Fate, evidence: PartitionEvidence, realised: Realised, terms: Terms
) -> frozenset[int]:
    """Who could have been elected instead, and had it all. Who registers after an unclean shutdown leaves the
    ISR and the ELR (KIP-966): one that has lost its pages is elected from there when nobody else is left. The
    last known leader is elected from neither: then those count whom nothing had taken out of them."""
    election = fate.removed_by
    assert election is not None
    struck_out = _struck_out(record, election, realised)
    if election.kind not in ("clean", "ELR"):
        return struck_out
    latest_ns = election.at_ns + realised.timeline.slack_ns
    gone = {
        outage.node
        for outage in evidence.outages
        if outage.unclean and outage.since_ns <= latest_ns and election.at_ns <= outage.until_ns
    }
    eligible = election.isr | election.elr if terms.elr else election.isr
    return (eligible - gone | struck_out) - {election.leader}


def _struck_out(record: LostRecord, election: Election, realised: Realised) -> frozenset[int]:
    """Who was taken out of the ISR and the ELR by no right, since the record may have been written."""
    timeline = realised.timeline
    first = timeline.at(record.tp, record.since_ns - timeline.slack_ns)
    if first is None or NONE in (first.log_offset, election.log_offset):
        return frozenset()
    return realised.eligible.struck_out_until(record.tp, first.log_offset, election.log_offset)


def _held(record: LostRecord, outage: Outage) -> bool:
    """Whether the node may have had the record when its process ended: its log was not measured to be
    shorter."""
    return outage.reached is None or outage.reached > record.offset


def _several(nodes: Collection[int]) -> str:
    return f"broker{'s' * (len(nodes) != 1)} {', '.join(map(str, sorted(nodes)))}"


def _counted(unclean: Sequence[Outage], min_isr: int) -> str:
    several = "s" * (len(unclean) != 1)
    relation = "≥" if len(unclean) >= min_isr else "<"
    nodes = f": {_several([outage.node for outage in unclean])}" if unclean else ""
    return (
        f"{len(unclean)} unclean shutdown{several} {relation} min.insync.replicas {min_isr} "
        f"before the ISR recovered{nodes}"
    )


def _stood_alone(fate: Fate, evidence: PartitionEvidence, realised: Realised) -> set[bool]:
    """Whether nobody else was in sync when its process ended; both, where that is not known well enough."""
    outage = fate.outage
    assert outage is not None
    ends_ns = (outage.since_ns, max(outage.since_ns, outage.last_write_ns))
    states = [realised.timeline.at(evidence.tp, at_ns) for at_ns in ends_ns]
    return {state is not None and state.isr == {outage.node} for state in states}


def _causes(
    record: LostRecord,
    fate: Fate,
    evidence: PartitionEvidence,
    realised: Realised,
    counted: Sequence[Outage],
    committed_ns: int,
) -> tuple[str, ...]:
    """What enough unclean shutdowns are called. It follows from who shut down after the record was appended,
    and from who was in sync when that was known; where either lies within what was measured, both names."""
    at_most = _not_back(record, fate, evidence, realised, record.since_ns)
    at_least = tuple(outage for outage in counted if record.since_ns <= outage.since_ns)
    slack_ns = realised.timeline.slack_ns
    latest_ns = committed_ns + slack_ns * (committed_ns == record.written_ns)  # later too few were in sync
    in_sync = [
        state.isr if state else frozenset[int]()
        for state in (
            realised.timeline.at(record.tp, at_ns)
            for at_ns in (committed_ns, committed_ns - slack_ns, latest_ns)
        )
    ]
    found = [
        ISR_OF_ONE
        if alone and sum(_held(record, outage) for outage in not_back) == 1
        else _cause(isr, fate, not_back)
        for alone in sorted(_stood_alone(fate, evidence, realised), reverse=True)
        for not_back in (counted, at_most, at_least)
        for isr in in_sync
    ]
    return tuple(dict.fromkeys(found))


def _cause(isr: frozenset[int], fate: Fate, not_back: Sequence[Outage]) -> str:
    """The first that applies. `isr` was in sync when it was committed at the latest."""
    lost = [outage for outage in not_back if outage.data_lost and outage.node in isr]
    if isr and isr <= {outage.node for outage in lost}:
        return DISK_LOSS if any(outage.wiped for outage in lost) else POWER_LOSS
    return LAST_KNOWN_ELR if fate.reason is Reason.LAST_KNOWN_ELR else UNCLEAN_SHUTDOWNS
