"""Elections: who became leader of a partition, and whether that broker was eligible.

Invariant: a leader is elected from the in-sync replicas; or, while no in-sync replica is left, from the
eligible ones (ELR), or else it is the last known leader (both KIP-966); or it is any replica, uncleanly, if
the topic allows that and the controller reads it (Kafka 3.9 and newer), or if a person asked for it
(KIP-460), and nobody who is in sync or eligible can lead. A reassignment that ends may elect a replica that
it has just added.
Evidence: consecutive states of a partition in the metadata log; registrations and settings there; the
table of faults, for what was asked for; the lines in which controllers name their release.
Counterexample:
    ISR [1, 2], leader 1; unclean.leader.election.enable=false
    the next record names leader 3, ISR [3], recovering
    3 was in neither ISR nor ELR, and nothing allows an unclean election: leader-legal, of broker 3

Kafka marks each unclean election, that of the last known leader too, as recovering (KIP-704). The new leader
is alone in its ISR then. Source: `PartitionChangeBuilder` in Kafka's metadata module.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from checkers.history.metadata_log.passed_over import PassedOver
from checkers.history.metadata_log.registered import registered_at
from checkers.history.metadata_log.settings import UNCLEAN, Settings
from checkers.history.operations.forced_elections import KIND, was_forced
from checkers.history.operations.node_releases import UncleanBySetting
from checkers.history.rows import BrokerState, Context, MetadataChange
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import (
    NOT_COLLECTED,
    RuleResult,
    brokers_in_words,
    collected,
    is_creation,
    of_state,
    states_of,
)
from checkers.reference.control_plane.wall_clock import wall_clock

LEGAL, UNKNOWN = "", "unknown"


def leader_legal(context: Context) -> RuleResult:
    """Each election of a broker that was not eligible. Undecided: the topic's settings are not known."""
    if not collected(context, "brokers", "configs"):
        return NOT_COLLECTED
    settings, reads = Settings(context.configs), UncleanBySetting(context.broker_lines)
    passed_over = PassedOver(context)
    judged = [
        (row, _objection(before, row, context, settings, reads, passed_over))
        for before, row in _elections(context)
    ]
    anomalies = [
        of_state(Property.LEADER_LEGAL, row, row.leader, objection)
        for row, objection in judged
        if objection not in (LEGAL, UNKNOWN)
    ]
    undecided = sum(objection == UNKNOWN for _, objection in judged)
    return RuleResult(anomalies=anomalies, examined=len(judged) - undecided, undecided=undecided)


def _elections(context: Context) -> Iterator[tuple[MetadataChange, MetadataChange]]:
    """The states before and after each record that names a leader."""
    for states in states_of(context).values():
        for before, row in pairwise(states):
            if row.leader >= 0 and row.leader_epoch != before.leader_epoch and not is_creation(row):
                yield before, row


def _objection(
    before: MetadataChange,
    row: MetadataChange,
    context: Context,
    settings: Settings,
    reads: UncleanBySetting,
    passed_over: PassedOver,
) -> str:
    """What is wrong with an election, LEGAL or UNKNOWN."""
    leader = row.leader
    was = f"broker {leader} was elected under ISR {brokers_in_words(before.isr)}"
    if leader not in row.isr:
        return f"{was}, and is not in the ISR {brokers_in_words(row.isr)} that came with it"
    if leader in before.isr or _completes_reassignment(before, row):
        return LEGAL
    if row.isr != (leader,):
        return f"{was} from outside of it, while {brokers_in_words(row.isr)} were in sync"
    if leader in before.elr:
        return LEGAL
    if not row.recovering:
        return f"{was} and ELR {brokers_in_words(before.elr)}, and not even as an unclean leader"
    if _is_last_known_leader(before, row, context.brokers):
        return LEGAL
    if others := passed_over.by(before, row):
        several = f"broker{'s' * (len(others) != 1)} {', '.join(map(str, sorted(others)))}"
        return f"{was}, ELR {brokers_in_words(before.elr)}, past {several}, who could have led"
    has_effect, forced = reads.when(row), _was_forced(row, context)
    allowed = settings.unclean(row.topic, row.log_offset) if has_effect else False
    if allowed or forced:
        return LEGAL
    if allowed is None or forced is None:
        return UNKNOWN
    last = f", last known {brokers_in_words(before.last_known_elr)}" if before.last_known_elr else ""
    forbidden = f"with {UNCLEAN}=false" if has_effect else f"by a controller that does not read {UNCLEAN}"
    return f"{was}, ELR {brokers_in_words(before.elr)}{last}, {forbidden}"


def _completes_reassignment(before: MetadataChange, row: MetadataChange) -> bool:
    """The record that ends a reassignment takes the former leader off the replicas, and may elect a replica
    that the former leader's own AlterPartition request has just brought into the ISR."""
    removed = set(before.replicas) - set(row.replicas)
    return bool(removed) and before.leader in removed and not row.recovering


def _was_forced(row: MetadataChange, context: Context) -> bool | None:
    """Whether a person asked for this unclean election; None: it may be, nobody can say when it was."""
    asking = [fault for fault in context.faults if fault.kind == KIND]
    clock = wall_clock(context.clocks)
    if not asking or clock is None or context.unplaced:
        return None if asking else False
    return was_forced(asking, row.topic, clock.at(row.at_ms), clock.slack_ns)


def _is_last_known_leader(
    before: MetadataChange, row: MetadataChange, brokers: Sequence[BrokerState]
) -> bool:
    """Nobody in sync or eligible is left. A broker that shut down uncleanly leaves the ELR by its new
    registration, in the same append as the election."""
    left = ({*before.isr, *before.elr}) - registered_at(row.at_ms, brokers).keys()
    return before.last_known_elr == (row.leader,) and not left
