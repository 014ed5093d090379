"""How the controller changes a partition: who leads it, and the ISR, the ELR and the last known leader then.

Source: PartitionChangeBuilder and ReplicationControlManager.generateLeaderAndIsrUpdates in Kafka 4; KIP-966.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

NO_LEADER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """A partition as the controller has registered it."""

    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    recovering: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionRules:
    """What an election depends on beside the partition."""

    elr: bool
    unclean: bool
    min_isr: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A changed partition. `election` is "" if the leader stays: else isr, elr, last-known-elr or unclean."""

    state: PartitionState
    election: str = ""


def change(
    before: PartitionState,
    target_isr: Sequence[int],
    rules: ElectionRules,
    acceptable: Callable[[int], bool],
    unclean_shutdown: Sequence[int] = (),
    *,
    recovered: bool = False,
) -> Change | None:
    """The partition with another ISR and, if its leader is not acceptable any more, another leader.

    `unclean_shutdown` are brokers that may not stay in the ELR. None: nothing changes.
    """
    isr = tuple(target_isr)
    elr = _target_elr(before, isr, rules, unclean_shutdown)
    leader, election = _elect(before, isr, elr, rules, acceptable)
    changed = leader != before.leader
    if election in ("unclean", "last-known-elr"):
        isr, elr = (leader,), ()
    elif election == "elr":
        isr, elr = (leader,), tuple(one for one in elr if one != leader)
    if not isr and not rules.elr:
        isr = before.isr
    after = replace(
        before,
        isr=isr,
        elr=elr,
        leader=leader,
        leader_epoch=before.leader_epoch + changed,
        last_known_elr=_last_known(before, isr, leader, rules),
        recovering=election in ("unclean", "last-known-elr") or (before.recovering and not recovered),
    )
    if after == before:
        return None
    after = replace(after, partition_epoch=before.partition_epoch + 1)
    return Change(state=after, election=election if leader != NO_LEADER else "")


def _target_elr(
    before: PartitionState, isr: tuple[int, ...], rules: ElectionRules, unclean_shutdown: Sequence[int]
) -> tuple[int, ...]:
    """Who has left the ISR since it was below min.insync.replicas, without those that shut down uncleanly."""
    if not rules.elr or len(isr) >= min(rules.min_isr, len(before.replicas)):
        return ()
    candidates = {*before.elr, *before.isr} - set(isr) - set(unclean_shutdown)
    return tuple(sorted(candidates))


def _elect(
    before: PartitionState,
    isr: tuple[int, ...],
    elr: tuple[int, ...],
    rules: ElectionRules,
    acceptable: Callable[[int], bool],
) -> tuple[int, str]:
    """The leader, and how it was elected; "" if it stays, or if there is none."""
    valid = isr or elr
    if before.leader in valid and acceptable(before.leader):
        return before.leader, ""
    for replica in before.replicas:
        if replica in valid and acceptable(replica):
            return replica, "isr" if isr else "elr"
    known = before.last_known_elr
    if rules.elr and not isr and not elr and len(known) == 1 and acceptable(known[0]):
        return known[0], "last-known-elr"
    if rules.unclean:
        for replica in before.replicas:
            if acceptable(replica):
                return replica, "unclean"
    return NO_LEADER, ""


def _last_known(
    before: PartitionState, isr: tuple[int, ...], leader: int, rules: ElectionRules
) -> tuple[int, ...]:
    """The last leader of a partition whose ISR has become empty; none once it has a leader again."""
    if not rules.elr:
        return ()
    if not isr and before.isr:
        return (before.leader,) if before.leader != NO_LEADER else before.last_known_elr
    return () if leader != NO_LEADER else before.last_known_elr
