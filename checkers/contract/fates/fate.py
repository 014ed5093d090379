"""The fate of a lost record: which election removed it, and why the elected leader did not have it.

A log is cut only at its end, and only to follow a leader (KIP-101): so a record at offset o of epoch e is
gone because a leader of a later epoch began its log at or below o, or had at o what an older epoch had
written. The first such leader removed it, and it lacked the record for one of few reasons. Which of them the
contract permits is decided in clauses.py. But a leader that nobody has followed cuts no log but its own: the
next one may have the record still, and what shows the record only then may be of that one.

Invariant: every surviving record at or behind o has an epoch not below the removing one. Where no election
fits, the record was taken from the middle of the log: no configuration permits it.
Evidence: where epochs start (leader-epoch checkpoints, the final log, leaders' own log ends), the elections
of the metadata log, sampled high watermarks by epoch, how far disks reached before and after a power cut or
a wipe; the log start of the final read, which retention moves (retention.py).
Counterexample to "there was an election, so it was truncated":
    record 1/7 is acknowledged at offset 5 under epoch 3; broker 2 is elected under epoch 4
    the log of epoch 4 begins at offset 9: broker 2 had 1/7, and somebody else lost it

Where a step has no evidence, the reason is UNKNOWN: neither permitted nor a violation.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import numpy as np

from checkers.contract.evidence.log_ends import FAR
from checkers.contract.evidence.outages import Outage
from checkers.contract.evidence.partition_evidence import PartitionEvidence
from checkers.contract.fates.lost_record import LostRecord, replicated_of, was_given
from checkers.contract.realised.downtimes import NEVER_NS
from checkers.contract.realised.settings import Realised
from checkers.contract.realised.timeline import Election, Leadership, was_moved
from checkers.history.tables import NONE

WITHOUT_IT = ("unclean", "not known")
"""The kinds of elections whose leader may have another log than those in sync."""


class Reason(Enum):
    """Why the elected leader did not have the record."""

    NO_ELECTION = "no election removed it"
    DELETED = "the log start moved over it"
    UNREPLICATED = "it was never replicated"
    DEPOSED = "a deposed leader had acknowledged it"
    PAGES_LOST = "the elected leader had lost it with its unsynced pages, or its disk"
    UNCLEAN_ELECTION = "the elected leader was neither in sync nor eligible"
    LAST_KNOWN_ELR = "the last known eligible replica was elected, and had not got it any more"
    IN_SYNC = "an in-sync replica was elected without it"
    HAD_IT = "the elected leader had it, and nothing that was done to it took it"
    DROPPED = "the elected leader's disk held it, and its process did not load it"
    UNKNOWN = "nothing shows why the elected leader did not have it"


BROKEN = (Reason.IN_SYNC, Reason.HAD_IT, Reason.DROPPED)
"""What no contract permits, of an election."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of a lost record.

    `appended` is the leader that wrote it, `removed_by` the election that removed it (None: none fits),
    `start` the first offset of that election's epoch, `outage` the elected leader's, where that is the
    reason. `replicated`: every in-sync replica had it, by the high watermark or an acknowledgement of
    acks=all. `missing` is the evidence that an UNKNOWN lacks, or that would decide whether it was replicated.
    """

    appended: Leadership
    reason: Reason
    removed_by: Election | None = None
    start: int = NONE
    outage: Outage | None = None
    replicated: bool = True
    missing: str = ""


def fates(record: LostRecord, evidence: PartitionEvidence, realised: Realised) -> tuple[Fate, ...]:
    """Every fate that the evidence allows; the rules of the contract must hold for all of them.

    Empty if nobody knows who led the partition.
    """
    leaders = _may_have_appended(record, evidence, realised)
    if any(run.epoch == NONE for run in evidence.survivors_from(record.offset)):
        missing = "the leader epochs of the records behind it"
        return tuple(Fate(appended=each, reason=Reason.UNKNOWN, missing=missing) for each in leaders[:1])
    found = [fate for each in leaders for fate in _under(each, record, evidence, realised)]
    if {fate.reason for fate in found} in ({Reason.NO_ELECTION}, {Reason.DELETED}):
        return tuple(found[:1])
    return tuple(dict.fromkeys(found))


def _under(
    appended: Leadership, record: LostRecord, evidence: PartitionEvidence, realised: Realised
) -> tuple[Fate, ...]:
    """The fates of a record that was appended by this leader."""
    its_own = tuple(_removals(record, appended.epoch, evidence, realised))
    if not its_own:
        below = record.missed_ns == NONE and record.offset < evidence.log_start and not appended.usurped
        return (Fate(appended=appended, reason=Reason.DELETED if below else Reason.NO_ELECTION),)
    its_fates = _fates_of(its_own, record, appended, evidence, realised)
    later = [*_shown_later(appended.epoch, record, evidence, realised)]
    # What the first one broke, no later leader has mended.
    if not all(fate.reason in BROKEN for fate in its_fates):
        later += _kept_later(appended.epoch, record, evidence, realised)
    by_epoch = (its_own, *(tuple(_removals(record, epoch, evidence, realised)) for epoch in later))
    others = (each for of_one in by_epoch for each in of_one if each not in its_own)
    by_elections = (*its_fates, *_fates_of(others, record, appended, evidence, realised))
    if any(_may_be_deleted(record, of_one, evidence, realised) for of_one in by_epoch):
        return (*by_elections, Fate(appended=appended, reason=Reason.DELETED))
    return by_elections


def _may_be_deleted(
    record: LostRecord, removals: Sequence[Election], evidence: PartitionEvidence, realised: Realised
) -> bool:
    """Whether it may have been there until retention deleted it: no election is known to begin at or below
    it, or an unclean one after that may have brought it back."""
    if not _is_deleted(record, evidence, realised):
        return False
    unclean = (each for each in realised.timeline.elections(record.tp) if each.kind in WITHOUT_IT)
    brought_back = max((each.leader_epoch for each in unclean), default=NONE)
    return all(
        evidence.start_of(each.leader_epoch).high > record.offset or each.leader_epoch < brought_back
        for each in removals
    )


def _is_deleted(record: LostRecord, evidence: PartitionEvidence, realised: Realised) -> bool:
    """Whether what was at its offset in the end retention may have deleted."""
    return bool(realised.clocks_ahead) and record.missed_ns == NONE and record.offset < evidence.log_start


def _may_have_appended(
    record: LostRecord, evidence: PartitionEvidence, realised: Realised
) -> tuple[Leadership, ...]:
    """Who led, or took itself for the leader, when it was appended; under an epoch that can have the
    offset, with a log that reached it, in a process that ran."""
    until_ns = max(record.written_ns, record.since_ns)
    leaders = realised.timeline.leaders(record.tp, record.since_ns, until_ns)
    now = evidence.epoch_at(record.offset) if record.missed_ns == NONE else NONE
    possible = [
        each
        for each in leaders
        # One leader has one record at an offset: another one is there now.
        if (each.epoch != now or each.usurped)
        and (record.under_epoch == NONE or each.epoch <= record.under_epoch)
        and evidence.start_of(each.epoch).low <= record.offset
        and not _fell_short(each, record, evidence, realised)
        and not _was_down(each, record, evidence, realised)
    ]
    return tuple(possible) or leaders


def _fell_short(
    leader: Leadership, record: LostRecord, evidence: PartitionEvidence, realised: Realised
) -> bool:
    """Whether the leader's own log shows that it had not appended the record when that was acknowledged: by
    what it reported next, or by how far its log reached when its process ended after that."""
    written_ns, offset = np.array([record.written_ns]), np.array([record.offset])
    if evidence.log_ends.leads_short(leader.leader, leader.epoch, written_ns, offset)[0]:
        return True
    ended_ns = realised.timeline.ended_ns(evidence.tp, leader.epoch)
    for outage in evidence.outages:
        reached = outage.reached
        its_own = outage.node == leader.leader and record.since_ns <= outage.last_write_ns
        its_own &= record.written_ns < outage.leads_ns  # not by a process that came after
        its_own &= outage.since_ns < ended_ns
        short = reached is not None and reached <= record.offset
        if its_own and short and not _may_have_followed(leader, outage, record, evidence, realised):
            return True
    return False


def _may_have_followed(
    leader: Leadership, outage: Outage, record: LostRecord, evidence: PartitionEvidence, realised: Realised
) -> bool:
    """Whether it may have cut its log at or below the record before its process ended: a broker that stops
    goes on as a follower. What it still had of its own epoch, or of one before, it has not cut."""
    followed = (
        evidence.start_of(each.leader_epoch)
        for each in realised.timeline.elections(record.tp)
        if each.leader_epoch > leader.epoch
        and each.leader != leader.leader
        and each.at_ns <= outage.last_write_ns
    )
    kept_to = _kept_to(leader, outage, evidence, realised)
    return any(start.low <= record.offset and kept_to <= start.high for start in followed)


def _kept_to(leader: Leadership, outage: Outage, evidence: PartitionEvidence, realised: Realised) -> int:
    """The end of its log when its process ended, if that is in the final log, for it led later from there
    on, and ends with its own epoch or one before; 0 if nothing shows that."""
    led = {
        each.leader_epoch
        for each in realised.timeline.elections(evidence.tp)
        if each.leader == leader.leader and each.at_ns > outage.last_write_ns
    }
    for run, after in pairwise(evidence.runs):
        if run.epoch <= leader.epoch and after.epoch in led and run.last + 1 == after.first == outage.reached:
            return after.first
    return 0


def _was_down(
    leader: Leadership, record: LostRecord, evidence: PartitionEvidence, realised: Realised
) -> bool:
    """Whether its process had ended before the send, or before its epoch, and could lead again only after the
    acknowledgement, or after its epoch."""
    ended_ns = realised.timeline.ended_ns(evidence.tp, leader.epoch)
    since_ns = max(record.since_ns, realised.timeline.began_ns(evidence.tp, leader.epoch))
    until_ns = min(record.written_ns, NEVER_NS if leader.deposed_by else ended_ns)
    return any(
        outage.node == leader.leader
        and outage.last_write_ns < since_ns
        and until_ns + realised.timeline.slack_ns < outage.leads_ns
        for outage in evidence.outages
    )


def _shown_later(
    epoch: int, record: LostRecord, evidence: PartitionEvidence, realised: Realised
) -> Iterator[int]:
    """The later epochs than its own under which a record may have been first shown to be there: they had
    begun by then, with a log that reached it, of a leader that had not cut its log before."""
    for election in realised.timeline.elections(record.tp) if record.shown_ns != NONE else ():
        if election.at_ns > record.shown_ns + realised.timeline.slack_ns:
            return
        if election.leader_epoch <= epoch or election.leader_epoch in evidence.in_vain:
            continue
        if _may_have_had(record, epoch, election, evidence):
            yield election.leader_epoch


def _kept_later(
    epoch: int, record: LostRecord, evidence: PartitionEvidence, realised: Realised
) -> Iterator[int]:
    """The later epochs whose leaders may have had the record still, though an election before theirs began at
    or below it: whoever has followed nobody since has cut no log. Not those of which there is something now:
    it shows what they had before it, unless that was deleted."""
    deleted = _is_deleted(record, evidence, realised)
    shown = set() if deleted else {run.epoch for run in evidence.survivors_from(record.offset)}
    without = set[int]()
    for election in realised.timeline.elections(record.tp):
        if election.leader_epoch <= epoch or election.leader_epoch in evidence.in_vain:
            continue
        if evidence.start_of(election.leader_epoch).high <= record.offset:
            without.add(election.leader)
            continue
        followed = not without or election.leader in without or election.leader_epoch in shown
        if not followed and _may_have_had(record, epoch, election, evidence):
            yield election.leader_epoch


def _may_have_had(record: LostRecord, epoch: int, election: Election, evidence: PartitionEvidence) -> bool:
    """Whether the elected leader's log reached the record when it began, and at each report since the epoch
    under which the record was written."""
    least = evidence.log_ends.least(election.leader, range(epoch + 1, election.leader_epoch))
    return record.offset < min(least, evidence.start_of(election.leader_epoch).high)


def _removals(
    record: LostRecord, epoch: int, evidence: PartitionEvidence, realised: Realised
) -> list[Election]:
    """The elections that may have removed it: not of a leader that had a log behind it, and had fetched what
    it had there under the record's epoch or a later one, if another one may have."""
    found = [*_may_have_removed(record, epoch, evidence, realised)]
    others = [
        each
        for each in found
        if evidence.start_of(each.leader_epoch).low <= record.offset
        or not evidence.fetched_since(each.leader, record.offset, range(epoch, each.leader_epoch))
    ]
    return others or found


def _may_have_removed(
    record: LostRecord, epoch: int, evidence: PartitionEvidence, realised: Realised
) -> Iterator[Election]:
    """The first whose log begins at or below its offset, or any before that, if what is there now is of an
    epoch before its own."""
    oldest = min((run.epoch for run in evidence.survivors_from(record.offset)), default=FAR)
    older_there = NONE < evidence.epoch_at(record.offset) < epoch
    if older_there:
        behind = (run.epoch for run in evidence.survivors_from(record.offset) if run.epoch >= epoch)
        oldest = min(behind, default=FAR)
    if record.missed_ns != NONE:
        oldest = FAR
    for election in realised.timeline.elections(record.tp):
        if record.missed_ns != NONE and election.at_ns > record.missed_ns + realised.timeline.slack_ns:
            return
        if election.leader_epoch <= max(epoch, record.under_epoch):
            continue
        if election.leader_epoch in evidence.in_vain:
            continue
        if oldest < election.leader_epoch:
            return
        start = evidence.start_of(election.leader_epoch)
        # Of what an older epoch had there, retention has taken the sign.
        deleted = _is_deleted(record, evidence, realised)
        unshown = deleted and _may_have_other(epoch, election, record, realised)
        if start.low <= record.offset or older_there or unshown:
            yield election
        if start.high <= record.offset:
            return


def _may_have_other(epoch: int, election: Election, record: LostRecord, realised: Realised) -> bool:
    """Whether the elected leader may have another record at that offset, of an epoch before this one: it was
    not in sync, or had led itself, and followed nobody since."""
    before = (each for each in realised.timeline.elections(record.tp) if each.deposed_epoch < epoch)
    return election.kind in WITHOUT_IT or election.leader in {each.deposed for each in before}


def _fates_of(
    removals: Iterable[Election],
    record: LostRecord,
    appended: Leadership,
    evidence: PartitionEvidence,
    realised: Realised,
) -> tuple[Fate, ...]:
    """The fates of a record that one of these elections removed."""
    found = (_fates_by(each, record, appended, evidence, realised) for each in dict.fromkeys(removals))
    return tuple(fate for each in found for fate in each)


def _fates_by(
    election: Election,
    record: LostRecord,
    appended: Leadership,
    evidence: PartitionEvidence,
    realised: Realised,
) -> Iterator[Fate]:
    """The fates of a record that this election removed: two, where nothing shows whether it was
    replicated."""
    start = evidence.start_of(election.leader_epoch)
    replicated = replicated_of(record, appended, election, evidence, realised)
    decided = _decision(election, evidence, realised)
    unsampled = f"samples of the high watermark under leader epoch {appended.epoch}"
    for either in (True, False) if replicated is None else (replicated,):
        how = replace(election, kind=decided.kind)
        reason, outage, missing = _reason(record, appended, how, evidence, realised, replicated=either)
        yield Fate(
            appended=appended,
            reason=reason,
            removed_by=decided,
            start=start.high if start.low == start.high else NONE,
            outage=outage,
            replicated=either,
            missing=missing or (unsampled if replicated is None else ""),
        )


def _decision(election: Election, evidence: PartitionEvidence, realised: Realised) -> Election:
    """The election that made it the leader. One that was elected from outside, dead, and has come back, is
    the only one in sync since then, and elected again from there."""
    before = [
        each for each in realised.timeline.elections(evidence.tp) if each.leader_epoch < election.leader_epoch
    ]
    for each in reversed(before) if election.kind != "unclean" else ():
        if each.leader != election.leader or each.leader_epoch not in evidence.in_vain:
            break
        if each.kind == "unclean":
            return each
    return election


_Why = tuple[Reason, Outage | None, str]


def _reason(
    record: LostRecord,
    appended: Leadership,
    election: Election,
    evidence: PartitionEvidence,
    realised: Realised,
    *,
    replicated: bool,
) -> _Why:
    """The first reason that the evidence shows."""
    another = election.leader != appended.leader or _taken_away(appended, election, evidence, realised)
    if appended.deposed_by and another and not replicated:
        return Reason.DEPOSED, None, ""
    its_own = not (another or appended.deposed_by)
    dropped = _dropped(record, election, evidence, realised) if replicated or its_own else None
    if dropped is not None:
        return Reason.DROPPED, dropped, ""
    if election.kind == "unclean" and replicated:
        given = was_given(election.leader, record, appended, evidence, realised)
        had_it = given and not _may_have_cut(record, appended, election, evidence, realised)
        return Reason.HAD_IT if had_it else Reason.UNCLEAN_ELECTION, None, ""
    lost = _lost_by_outage(record, election, evidence, realised, replicated=replicated)
    if lost is not None and (lost[0] is not Reason.UNKNOWN or replicated):
        return _last_known(lost, election)
    if another and not replicated:
        return Reason.UNREPLICATED, None, ""
    if election.kind == "not known":
        return Reason.UNKNOWN, None, "the metadata log: who was in sync at the election"
    return Reason.IN_SYNC, None, ""


def _taken_away(
    appended: Leadership, election: Election, evidence: PartitionEvidence, realised: Realised
) -> bool:
    """Whether a reassignment took the replica of the elected leader away since this epoch: the one that it
    was given later was empty."""
    since = (
        state
        for state in realised.timeline.states(evidence.tp)
        if state.exact and appended.epoch <= state.leader_epoch < election.leader_epoch
    )
    return any(election.leader not in state.replicas for state in since)


def _dropped(
    record: LostRecord, election: Election, evidence: PartitionEvidence, realised: Realised
) -> Outage | None:
    """The outage over which the elected leader's disk held it, and after which its process did not load it:
    the broker had been in sync when it was below the high watermark. After a power cut a batch that is whole
    by its header may be torn."""
    for outage in evidence.outages:
        if outage.node != election.leader or outage.data_lost:
            continue
        after, loaded = outage.after, outage.loaded
        if after is None or loaded is None or not loaded <= record.offset < after:
            continue
        ended = record.written_ns <= outage.since_ns and outage.up_ns <= election.at_ns
        if ended and realised.timeline.in_sync(record.tp, outage.node, record.written_ns, outage.since_ns):
            return outage
    return None


def _may_have_cut(
    record: LostRecord,
    appended: Leadership,
    election: Election,
    evidence: PartitionEvidence,
    realised: Realised,
) -> bool:
    """Whether anything may have taken it from the elected leader since it was written: a loss of its pages,
    disk or log directory, a move of the replica, or a leader in between that may not have had it."""
    node, slack_ns = election.leader, realised.timeline.slack_ns
    for outage in evidence.outages:
        takes = outage.data_lost or outage.offline
        since = record.since_ns <= outage.last_write_ns and outage.since_ns <= election.at_ns + slack_ns
        if outage.node == node and takes and since:
            return True
    if was_moved(realised.context, record.tp, node):
        return True
    return any(
        (each.kind not in ("clean", "ELR") or evidence.start_of(each.leader_epoch).low <= record.offset)
        for each in realised.timeline.elections(record.tp)
        if appended.epoch < each.leader_epoch < election.leader_epoch
        and each.leader != node
        and each.leader_epoch not in evidence.in_vain
    )


def _lost_by_outage(
    record: LostRecord,
    election: Election,
    evidence: PartitionEvidence,
    realised: Realised,
    *,
    replicated: bool,
) -> _Why | None:
    """The elected leader's own outage between the append and its election, if that took the record.

    Only a loss of power takes what was written, of the node or of one log directory: a process that is killed
    leaves its pages to the kernel, and what its log lacks afterwards it had not got when it died. Whom
    another leader has let into the ISR since then had what was replicated again.
    """
    unmeasured: _Why | None = None
    mine = (each for each in evidence.outages if each.node == election.leader and each.unclean)
    # The one from which it has come back to lead, before another that it had overcome by then.
    for outage in sorted(mine, key=lambda each: each.until_ns < election.at_ns):
        if not (record.since_ns <= outage.last_write_ns and outage.since_ns <= election.at_ns):
            continue
        reached = outage.before if outage.data_lost else outage.after
        if reached is not None and reached <= record.offset:
            continue  # it had not got it even then
        if replicated and _had_it_again(record, outage, election, realised):
            continue
        if outage.after is None:
            what = _what_happened(outage)
            missing = f"how far the log of broker {outage.node} reached {what}"
            unmeasured = unmeasured or (Reason.UNKNOWN, outage, missing)
        elif outage.after <= record.offset:
            return Reason.PAGES_LOST, outage, ""
    return unmeasured


def _had_it_again(record: LostRecord, outage: Outage, election: Election, realised: Realised) -> bool:
    timeline = realised.timeline
    back_ns = outage.leads_ns - timeline.slack_ns
    return timeline.let_in(record.tp, outage.node, outage.since_ns, election.at_ns, back_ns)


def _what_happened(outage: Outage) -> str:
    if outage.wiped:
        return "after its disk was replaced"
    if outage.offline:
        return "after its log directory was lost"
    return "after its power cut" if outage.data_lost else "after its unclean shutdown"


def _last_known(lost: _Why, election: Election) -> _Why:
    reason, outage, missing = lost
    if election.kind == "last known ELR" and reason is Reason.PAGES_LOST:
        return Reason.LAST_KNOWN_ELR, outage, missing
    return lost
