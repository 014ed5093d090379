"""How the controller changes a partition: its replicas, who leads it, and the ISR, the ELR and the last known
leader then.

Replicas that are added are replicas at once, and those that they replace stay until all new ones are in sync.
Source: PartitionChangeBuilder, PartitionReassignmentReplicas and
ReplicationControlManager.generateLeaderAndIsrUpdates in Kafka 4; KIP-455, KIP-966.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

NO_LEADER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """A partition as the controller has registered it. `adding` and `removing` are among its replicas, while
    they are moved."""

    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    recovering: bool = False
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


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
    to: tuple[int, ...] | None = None,
) -> Change | None:
    """The partition with another ISR and, if its leader is not acceptable any more, another leader.

    `unclean_shutdown` are brokers that may not stay in the ELR; `to` are the replicas that it is to have from
    now on. None: nothing changes.
    """
    placed, isr = _moved(before if to is None else _on_the_way(before, to), tuple(target_isr))
    elr = _target_elr(before, placed.replicas, isr, rules, unclean_shutdown)
    leader, election = _elect(placed, isr, elr, rules, acceptable)
    changed = leader != before.leader or not set(before.replicas) <= set(placed.replicas)
    if election in ("unclean", "last-known-elr"):
        isr, elr = (leader,), ()
    elif election == "elr":
        isr, elr = (leader,), tuple(one for one in elr if one != leader)
    if not isr and not rules.elr:
        isr = before.isr
    after = replace(
        placed,
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


def preferred(before: PartitionState, acceptable: Callable[[int], bool]) -> Change | None:
    """The partition led by its first replica; None if that leads, is not in sync, or is not acceptable."""
    first = before.replicas[0]
    if first == before.leader or first not in before.isr or not acceptable(first):
        return None
    after = replace(
        before,
        leader=first,
        leader_epoch=before.leader_epoch + 1,
        partition_epoch=before.partition_epoch + 1,
    )
    return Change(state=after, election="isr")


def _on_the_way(before: PartitionState, to: tuple[int, ...]) -> PartitionState:
    """The partition with the replicas that it is to have and those that it has, until it has moved."""
    gone = tuple(one for one in before.replicas if one not in to)
    new = tuple(one for one in to if one not in before.replicas)
    # A move that another one takes the place of has not finished: what it was to add is new still.
    new += tuple(one for one in before.adding if one in to)
    return replace(before, replicas=(*to, *gone), adding=new, removing=gone)


def _moved(state: PartitionState, isr: tuple[int, ...]) -> tuple[PartitionState, tuple[int, ...]]:
    """The partition once all new replicas are in sync, and one of those that stay is; else as it is."""
    left = tuple(one for one in isr if one not in state.removing)
    if not (state.adding or state.removing) or not set(state.adding) <= set(isr) or not left:
        return state, isr
    stay = tuple(one for one in state.replicas if one not in state.removing)
    return replace(state, replicas=stay, adding=(), removing=()), left


def _target_elr(
    before: PartitionState,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    rules: ElectionRules,
    unclean_shutdown: Sequence[int],
) -> tuple[int, ...]:
    """Who has left the ISR since it was below min.insync.replicas, without those that shut down uncleanly,
    and those that are no replicas any more."""
    if not rules.elr or len(isr) >= min(rules.min_isr, len(replicas)):
        return ()
    candidates = {*before.elr, *before.isr} & set(replicas)
    return tuple(sorted(candidates - set(isr) - set(unclean_shutdown)))


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
