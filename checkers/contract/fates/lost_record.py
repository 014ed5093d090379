"""A lost record, and whether every replica that was in sync had it before it was lost.

Invariant: "not replicated" says that nobody saw it replicated though somebody looked; where nobody looked, or
the followers' logs had reached it, nothing is said.
Evidence: acknowledgements of acks=all, reads, samples of the high watermark, the followers' own log ends.
Counterexample to "no sample of the high watermark is above it":
    an acks=1 record is acknowledged at offset 7, 0.1 s after the last sample; all brokers lose their power
    each log was measured to end at 9: they all had it, and the high watermark may have been above it
Counterexample to "its epoch was sampled":
    an acks=1 record is acknowledged at offset 7 at 9 s; the sampler is cut off from 8 s on, its leader is
    killed at 12 s: for three seconds nobody looked, and the high watermark may have been above it
"""

from dataclasses import dataclass

from checkers.contract.evidence.partition_evidence import HighWatermark, PartitionEvidence
from checkers.contract.realised.downtimes import SECOND_NS
from checkers.contract.realised.settings import Realised
from checkers.contract.realised.timeline import Election, Leadership
from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE

PAUSE = "pause"
"""The kind of fault under which a process stands still."""
LOOKED_NS = SECOND_NS
"""Of samples four times a second the last one before an end is no older than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRecord:
    """A record that is gone from `offset`.

    It was appended in [invoked_ns, written_ns]: between the call of its send (-1: not known) and the first
    sign that it was there. `acks` is what its producer waited for ("": nobody knows who wrote it, or it does
    not matter), `seen` whether a reader was given it.
    """

    tp: TopicPartition
    offset: int
    invoked_ns: int
    written_ns: int
    acks: str
    seen: bool
    shown_ns: int = NONE
    """When a client was first shown that it was below a high watermark, perhaps of a later leader than that
    which had appended it: a reader was given it, or an idempotent producer got its acknowledgement, which any
    leader gives that finds in its log what is sent again; -1: never, or it is known under which leader."""
    under_epoch: int = NONE
    """A leader epoch under which it was there: no election up to that epoch removed it; -1: none is known."""
    missed_ns: int = NONE
    """When a leader was seen not to have it; -1: it is not in the final log. In between the two another
    unclean election may have brought it back."""

    @property
    def since_ns(self) -> int:
        """The earliest time at which it may have been appended."""
        return self.written_ns if self.invoked_ns == NONE else self.invoked_ns


def replicated_of(
    record: LostRecord,
    appended: Leadership,
    removed_by: Election,
    evidence: PartitionEvidence,
    realised: Realised,
) -> bool | None:
    """Whether every replica that was in sync had it before this election: it was below the high watermark of
    its epoch, or of a later one whose leader had it. An acks=all acknowledgement is the promise of that. No
    sample above it shows that nobody saw it so, but for two cases, None: nobody looked when it could have
    been for the last time, or the logs of all of them are known to have reached it."""
    if record.acks in ("", "all") or record.seen:
        return True
    sampled = evidence.high_watermarks.get(appended.epoch)
    if sampled is not None and sampled.highest > record.offset:
        return True
    if _replicated_later(record, appended, removed_by, evidence, realised):
        return True
    followers = _followers(record, appended, realised)
    if sampled is None or not _looked(sampled, appended, evidence, realised):
        short = any(_lags(node, record, appended, evidence) for node in followers)
        return False if short else None
    reached = [_reached(node, record, appended, evidence, realised) for node in followers]
    return None if reached and min(reached) > record.offset else False


def was_given(
    node: int,
    record: LostRecord,
    appended: Leadership,
    evidence: PartitionEvidence,
    realised: Realised,
) -> bool:
    """Whether a broker certainly had it once it was below the high watermark: one leader led all that time,
    and the broker was in sync with it."""
    timeline = realised.timeline
    committed_ns = record.written_ns
    if record.acks not in ("", "all"):  # replicated at some later time, if ever
        sampled = evidence.high_watermarks.get(appended.epoch)
        committed_ns = NONE if sampled is None else sampled.first_above(record.offset)
        if committed_ns == NONE:
            return False
    begin_ns, end_ns = record.since_ns - timeline.slack_ns, committed_ns + timeline.slack_ns
    first, last = timeline.at(record.tp, begin_ns), timeline.at(record.tp, end_ns)
    epochs = {state.leader_epoch for state in (first, last) if state is not None and state.exact}
    led = epochs == {appended.epoch} and not appended.usurped
    return led and not timeline.out_of_sync(record.tp, node, begin_ns, end_ns)


def _replicated_later(
    record: LostRecord,
    appended: Leadership,
    removed_by: Election,
    evidence: PartitionEvidence,
    realised: Realised,
) -> bool:
    """Whether a sample under a later epoch was above it, of leaders that had it all: none of them was elected
    from outside, their logs begin behind it, and who had led before followed its leader: else it may have a
    tail of its own there."""
    for election in () if appended.usurped else realised.timeline.elections(record.tp):
        if election.leader_epoch <= appended.epoch:
            continue
        if election.leader_epoch >= removed_by.leader_epoch:
            return False
        if election.leader_epoch in evidence.in_vain:
            continue
        led_before = any(
            (state.leader, state.leader_epoch < appended.epoch) == (election.leader, True)
            for state in realised.timeline.states(record.tp)
        )
        if led_before and evidence.log_ends.last(election.leader, appended.epoch) is None:
            return False
        start = evidence.start_of(election.leader_epoch)
        if election.kind not in ("clean", "ELR") or start.low <= record.offset:
            return False
        sampled = evidence.high_watermarks.get(election.leader_epoch)
        if sampled is not None and sampled.highest > record.offset:
            return True
    return False


def _looked(
    sampled: HighWatermark, appended: Leadership, evidence: PartitionEvidence, realised: Realised
) -> bool:
    """Whether the high watermark was asked for shortly before its leader could commit nothing more: before
    its epoch was over, its process had ended, or stood still until then. A deposed leader commits nothing."""
    if appended.deposed_by is not None or sampled.asked_ns == NONE:
        return True
    leader, slack_ns = appended.leader, realised.timeline.slack_ns
    began_ns = realised.timeline.began_ns(evidence.tp, appended.epoch)
    over_ns = realised.timeline.ended_ns(evidence.tp, appended.epoch)
    ends_ns = [over_ns]
    ends_ns += [
        max(outage.since_ns, outage.last_write_ns)
        for outage in evidence.outages
        if outage.node == leader and began_ns <= outage.since_ns
    ]
    ends_ns += [
        max(fault.inject_ns, fault.begin_ns)
        for fault in realised.context.faults
        if fault.kind == PAUSE and leader in fault.nodes and began_ns <= fault.inject_ns
        if fault.end_ns == NONE or over_ns <= fault.end_ns
    ]
    return min(ends_ns) - slack_ns <= sampled.asked_ns + LOOKED_NS


def _followers(record: LostRecord, appended: Leadership, realised: Realised) -> frozenset[int]:
    """Who was in sync with the leader when it was acknowledged; nobody if its epoch was over."""
    state = realised.timeline.at(record.tp, record.written_ns)
    its_own = state is not None and state.leader_epoch == appended.epoch
    return state.isr - {appended.leader} if state is not None and its_own else frozenset()


def _lags(node: int, record: LostRecord, appended: Leadership, evidence: PartitionEvidence) -> bool:
    """Whether a follower's log did not reach it under its epoch, by a report of after its
    acknowledgement."""
    last = evidence.log_ends.last(node, appended.epoch)
    return last is not None and record.written_ns <= last[0] and last[1] <= record.offset


def _reached(
    node: int,
    record: LostRecord,
    appended: Leadership,
    evidence: PartitionEvidence,
    realised: Realised,
) -> int:
    """How far a follower's log is known to have reached under an epoch; -1 if nobody measured it."""
    ended_ns = realised.timeline.ended_ns(record.tp, appended.epoch)
    at_its_end = [
        outage.reached or NONE
        for outage in evidence.outages
        if outage.node == node and record.since_ns <= outage.last_write_ns and outage.since_ns < ended_ns
    ]
    last = evidence.log_ends.last(node, appended.epoch)
    return max([*at_its_end, last[1] if last else NONE])
