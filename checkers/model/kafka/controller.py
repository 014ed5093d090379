"""The KRaft controller: registrations, sessions, elections, ISR changes, and the metadata log.

Its quorum keeps what is committed. The active controller's node may stand still or be cut off; after some
seconds another one is active, with the same metadata, and waits a whole session for every broker.
Sources: QuorumController, ReplicationControlManager, BrokerHeartbeatManager, ClusterControlManager in Kafka;
KIP-631, KIP-841, KIP-858, KIP-903, KIP-966.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from checkers.model.bugs import Bug
from checkers.model.kafka.changed_settings import ElrCleared, ElrSet, MinIsrSet, SettingSet, cleared
from checkers.model.kafka.partition_change import (
    NO_LEADER,
    Change,
    ElectionRules,
    PartitionState,
    change,
    preferred,
)

if TYPE_CHECKING:
    from checkers.model.kafka.cluster import Cluster

SESSION_CHECK_S = 0.25
FAIL_OVER_S = 2.5
"""How long the quorum needs to have another active controller."""
TOPIC_RECORDS = 4
"""How many records of a topic come before its partitions, at most."""
NO_OP_S = 0.5
"""The active controller appends a NO_OP record that often, while it has a majority."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A broker as it is registered; `log_dirs`: how many of its log directories are online."""

    node: int
    broker_epoch: int
    fenced: bool = True
    stopping: bool = False
    log_dirs: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of the metadata log: a partition, a registration or a setting, after it. `election`: see
    `Change`. A record that changes several partitions stands here once for each, at one offset.

    `controller` wrote it, whose clock was `ahead_s` ahead then.
    """

    offset: int
    at_s: float
    controller: int
    ahead_s: float
    state: PartitionState | Registration | SettingSet
    election: str = ""
    before: PartitionState | None = None


Committed: TypeAlias = PartitionState | Registration | Change | SettingSet | ElrCleared


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One append to the metadata log, of records that a controller dated alike: its first one."""

    offset: int
    at_s: float
    controller: int
    ahead_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartition:
    """A leader's request for another ISR; `isr` has the broker epoch by which each member last fetched."""

    broker: int
    broker_epoch: int
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]


class Controller:
    """The quorum's state machine."""

    def __init__(self, cluster: "Cluster", nodes: Sequence[int], active: int) -> None:
        self._cluster, self._nodes, self.active = cluster, nodes, active
        self.records: list[Record] = []
        self.appends: list[Append] = []
        self.partitions: dict[int, PartitionState] = {}
        self.registrations: dict[int, Registration] = {}
        self._offset, self._last_s = 9, cluster.loop.now_s
        self._contact_s: dict[int, float] = {}
        self._stopping_offset: dict[int, int] = {}
        self._older_isr: dict[int, tuple[int, ...]] = {}
        self._offline: set[tuple[int, int]] = set()
        """Replicas in log directories that have failed: broker and partition."""
        self.forgotten: list[tuple[int, int, int]] = []
        """Whom a planted bug has taken out of the ELR: since which offset, of which partition."""
        self._lost_s = -1.0
        self._known_available: tuple[tuple[int, int], bool] = (-1, -1), False
        settings = cluster.case.settings
        self.rules = ElectionRules(
            elr=settings.elr, unclean=settings.unclean_election, min_isr=settings.min_isr
        )

    # The metadata log

    def commit(self, states: Sequence[Committed], *, leading: int = 0) -> None:
        """Append one batch of records, behind so many of it that have no state; let the brokers know."""
        now_s = self._cluster.loop.now_s
        self._append_no_ops()
        if states:
            self._note_append(now_s)
        self._offset += leading
        for one in states:
            if isinstance(one, ElrCleared):
                for state in one.states:
                    self._replay(state, "", now_s)
            elif isinstance(one, Change):
                self._replay(one.state, one.election, now_s)
            else:
                self._replay(one, "", now_s)
            self._offset += 1
        self._cluster.metadata_grew()

    def _replay(self, state: PartitionState | Registration | SettingSet, election: str, now_s: float) -> None:
        """Take over what a record says, as the one at the end of the log."""
        before = None
        match state:
            case PartitionState():
                before = self.partitions.get(state.partition)
                if before is not None and before.isr != state.isr:
                    self._older_isr[state.partition] = before.isr
                self.partitions[state.partition] = state
            case MinIsrSet(value=value):
                self.rules = replace(self.rules, min_isr=value)
            case ElrSet(on=on):
                self.rules = replace(self.rules, elr=on)
            case _:
                self.registrations[state.node] = state
        record = Record(
            offset=self._offset,
            at_s=now_s,
            controller=self.active,
            ahead_s=self._cluster.ahead_s(self.active),
            state=state,
            election=election,
            before=before,
        )
        self.records.append(record)
        if before is not None:
            self._cluster.partition_changed(record)

    def commit_topic(self, states: Sequence[PartitionState]) -> None:
        """Append what makes a topic: before its partitions come its own record and its settings."""
        self.commit(states, leading=TOPIC_RECORDS)

    @property
    def next_offset(self) -> int:
        """The offset of the record that would be appended now."""
        return self._offset + (self._due_no_ops() if self._lost_s < 0 else 0)

    def _due_no_ops(self) -> int:
        return int((self._cluster.loop.now_s - self._last_s) / NO_OP_S)

    def _append_no_ops(self) -> None:
        """Those that are due by now; without an active controller they are not appended later either."""
        for _ in range(self._due_no_ops()):
            self._last_s += NO_OP_S
            if self._lost_s < 0:
                self._note_append(self._last_s)
                self._offset += 1

    def _note_append(self, at_s: float) -> None:
        ahead_s = self._cluster.ahead_s(self.active)
        self.appends.append(Append(offset=self._offset, at_s=at_s, controller=self.active, ahead_s=ahead_s))

    # Who is active

    @property
    def available(self) -> bool:
        """Whether there is an active controller that can commit."""
        known = (self.active, self._cluster.network.changes)
        if self._known_available[0] != known:
            self._known_available = known, self._majority(self.active)
        return self._known_available[1]

    def _majority(self, node: int) -> bool:
        network = self._cluster.network
        if not network.nodes[str(node)].running:
            return False
        reached = [
            other
            for other in self._nodes
            if other == node
            or (network.answers((str(node), str(other))) and network.answers((str(other), str(node))))
        ]
        return len(reached) * 2 > len(self._nodes)

    def tick(self) -> None:
        """Check the quorum and the sessions, all the time."""
        loop = self._cluster.loop
        loop.after(SESSION_CHECK_S, self.tick)
        self._append_no_ops()
        if not self.available:
            self._lost_s = loop.now_s if self._lost_s < 0 else self._lost_s
            if loop.now_s - self._lost_s >= FAIL_OVER_S:
                self._fail_over()
            return
        self._lost_s = -1.0
        self._expire()

    def _fail_over(self) -> None:
        for node in self._nodes:
            if node != self.active and self._majority(node):
                self.active, self._lost_s = node, -1.0
                self._contact_s = dict.fromkeys(self._contact_s, self._cluster.loop.now_s)
                self._cluster.controller_moved()
                return

    # Sessions

    def _expire(self) -> None:
        now_s, session_s = self._cluster.loop.now_s, self._cluster.case.settings.session_s
        for node, contact_s in sorted(self._contact_s.items()):
            known = self.registrations[node]
            if not known.fenced and now_s - contact_s >= session_s:
                self._fence(node)

    def _fence(self, node: int) -> None:
        fenced = replace(self.registrations[node], fenced=True)
        if Bug.FENCED_BROKER_STAYS_IN_ISR in self._cluster.bugs:
            led = [state for state in self.partitions.values() if state.leader == node]
            changes = self._remove(node, led)
            if any(node in state.isr and state.leader != node for state in self.partitions.values()):
                self._cluster.manifest(Bug.FENCED_BROKER_STAYS_IN_ISR)
        else:
            changes = self._remove(node, self.partitions.values())
        self.commit([*changes, fenced])
        if Bug.TWO_LEADERS_IN_ONE_EPOCH in self._cluster.bugs:
            self._elect_second_leaders(changes)

    def _elect_second_leaders(self, changes: Sequence[Change]) -> None:
        """The planted quorum: another controller elects, too, and lets the broker know that it elects."""
        for one in changes:
            state = one.state
            others = [node for node in state.isr if node != state.leader and self.is_active(node)]
            if one.election and others:
                self._cluster.act(Bug.TWO_LEADERS_IN_ONE_EPOCH)
                self._cluster.brokers[others[0]].apply_alone(replace(state, leader=others[0]))

    def _remove(self, node: int, states: Iterable[PartitionState]) -> list[Change]:
        """Take a broker out of the ISR of partitions, and off their lead."""
        found = []
        for state in list(states):
            if node not in state.isr and state.leader != node:
                continue
            isr = [one for one in state.isr if one != node]
            found.append(self._change(state, isr, lambda one: one != node and self.is_active(one)))
            if Bug.ELECTION_FROM_OLD_ISR in self._cluster.bugs and state.leader == node:
                found[-1] = self._elect_from_old_isr(state, found[-1], node)
        return [one for one in found if one is not None]

    def _elect_from_old_isr(self, state: PartitionState, elected: Change | None, node: int) -> Change | None:
        """The planted controller: where the ISR before the present one gives another leader, it is taken."""
        older = [one for one in self._older_isr.get(state.partition, ()) if one != node]
        other = self._change(state, older, lambda one: one != node and self.is_active(one))
        leader = other.state.leader if other is not None else NO_LEADER
        if leader in (NO_LEADER, *state.isr, *state.elr):
            return elected
        self._cluster.manifest(Bug.ELECTION_FROM_OLD_ISR)
        return other

    def _change(
        self,
        state: PartitionState,
        isr: Sequence[int],
        acceptable: Callable[[int], bool],
        unclean_shutdown: Sequence[int] = (),
    ) -> Change | None:
        def may_lead(node: int) -> bool:
            return acceptable(node) and (node, state.partition) not in self._offline

        found = change(state, isr, self.rules, may_lead, unclean_shutdown)
        too_early = Bug.UNCLEAN_ELECTION_TOO_EARLY in self._cluster.bugs
        if too_early and found is not None and found.election in ("isr", "elr"):
            return self._elect_too_early(state, found, may_lead)
        bug = Bug.UNCLEAN_ELECTION_FORBIDDEN
        if bug in self._cluster.bugs and (found.state if found else state).leader == NO_LEADER:
            unclean = replace(self.rules, unclean=True)
            forbidden = change(state, isr, unclean, may_lead, unclean_shutdown)
            if forbidden is not None and forbidden.election == "unclean":
                self._cluster.act(bug)
                # One of an ELR that is off Kafka's own may elect as well: see `cleared`.
                if forbidden.state.leader not in state.elr:
                    self._cluster.manifest(bug)
                return forbidden
        return found

    def _elect_too_early(
        self, state: PartitionState, elected: Change, may_lead: Callable[[int], bool]
    ) -> Change:
        """The planted controller: where unclean election is on, it takes any replica before it has looked."""

        def is_outside(node: int) -> bool:
            return node not in (*state.isr, *state.elr) and may_lead(node)

        other = change(replace(state, last_known_elr=()), (), self.rules, is_outside)
        if other is None or other.election != "unclean":
            return elected
        self._cluster.manifest(Bug.UNCLEAN_ELECTION_TOO_EARLY)
        return other

    def is_active(self, node: int) -> bool:
        """Whether a broker may lead: registered, not fenced, not shutting down."""
        known = self.registrations.get(node)
        return known is not None and not known.fenced and not known.stopping

    # What an administrator asks

    def reassign(self, replicas: Mapping[int, tuple[int, ...]]) -> None:
        """Begin to move partitions to these replicas, the preferred leader first."""
        moved = [
            change(self.partitions[number], self.partitions[number].isr, self.rules, self.is_active, to=to)
            for number, to in replicas.items()
        ]
        self.commit([one for one in moved if one is not None])

    def elect_preferred(self) -> bool:
        """Let the first replica of each partition lead; whether that is another one anywhere."""
        found = [preferred(state, self.is_active) for state in self.partitions.values()]
        elected = [one for one in found if one is not None]
        self.commit(elected)
        return bool(elected)

    def set_min_isr(self, value: int) -> None:
        """Set the topic's min.insync.replicas."""
        forgotten = [cleared(self.partitions.values())] if self.rules.elr else []
        self.commit([MinIsrSet(value=value), *forgotten])

    @property
    def least_min_isr(self) -> int:
        """The smallest min.insync.replicas that the topic has had so far."""
        later = (one.state.value for one in self.records if isinstance(one.state, MinIsrSet))
        return min([self._cluster.case.settings.min_isr, *later])

    def set_elr(self, on: bool) -> None:
        """Turn ELR on or off. Where it was never on, the default of min.insync.replicas comes before it."""
        known = self._cluster.case.settings.elr or any(isinstance(one.state, ElrSet) for one in self.records)
        self.commit([ElrSet(on=on)], leading=0 if known else 1)

    # What brokers ask

    def register(self, node: int, *, previous_epoch: int) -> int:
        """Register a new process of a broker; its broker epoch, or -1 while the one before has a session.

        `previous_epoch`: the broker epoch of its clean shutdown, -1 if it was none.
        """
        loop, known = self._cluster.loop, self.registrations.get(node)
        if known is not None and not known.fenced:
            return -1
        epoch = self.next_offset
        changes: list[Change] = []
        if known is not None and previous_epoch != known.broker_epoch:
            changes = self._unclean_shutdown(node)
        elif Bug.ELIGIBLE_REPLICA_FORGOTTEN in self._cluster.bugs:
            changes = self._forget(node)
        self._contact_s[node] = loop.now_s
        self._stopping_offset.pop(node, None)
        self._offline = {each for each in self._offline if each[0] != node}
        log_dirs = self._cluster.case.settings.log_dirs
        self.commit([*changes, Registration(node=node, broker_epoch=epoch, log_dirs=log_dirs)])
        return epoch

    def lose_directories(self, node: int, broker_epoch: int, partitions: Iterable[int], left: int) -> None:
        """A broker has lost log directories with these partitions, and has `left` ones: it leaves their ISR
        and their lead, as if it were fenced (ReplicationControlManager.handleDirectoriesOffline)."""
        known, lost = self.registrations[node], {(node, each) for each in partitions} - self._offline
        if known.broker_epoch != broker_epoch or known.log_dirs == left:
            return
        self._offline |= lost
        changes = self._remove(node, [self.partitions[partition] for _, partition in sorted(lost)])
        self.commit([*changes, replace(known, log_dirs=left)])

    def _unclean_shutdown(self, node: int) -> list[Change]:
        """A broker that may have lost its log is neither in sync nor eligible."""
        if not self.rules.elr:
            return []
        states = [state for state in self.partitions.values() if node in state.isr or node in state.elr]
        if Bug.ELR_KEPT_AFTER_UNCLEAN_SHUTDOWN in self._cluster.bugs:
            if states:
                self._cluster.act(Bug.ELR_KEPT_AFTER_UNCLEAN_SHUTDOWN)
            return []
        found = [
            self._change(
                state,
                [one for one in state.isr if one != node],
                lambda one: one != node and self.is_active(one),
                (node,),
            )
            for state in states
        ]
        return [one for one in found if one is not None]

    def _forget(self, node: int) -> list[Change]:
        """The planted controller: whatever its last process left behind, a new one is not eligible."""
        changes = self._unclean_shutdown(node)
        for one in changes:
            if node in self.partitions[one.state.partition].elr and node not in one.state.elr:
                self._cluster.manifest(Bug.ELIGIBLE_REPLICA_FORGOTTEN)
                self.forgotten.append((self._offset, one.state.partition, node))
        return changes

    def heartbeat(
        self, node: int, broker_epoch: int, metadata_offset: int, *, wants_fence: bool, wants_stop: bool
    ) -> bool:
        """A broker is alive, and reads the metadata up to an offset. True: it may end now."""
        known = self.registrations[node]
        if known.broker_epoch != broker_epoch:
            return False
        self._contact_s[node] = self._cluster.loop.now_s
        if known.fenced:
            if wants_stop:
                return True
            if not wants_fence and metadata_offset > known.broker_epoch:
                self._unfence(known)
            return False
        return wants_stop and self._stop(known)

    def _unfence(self, known: Registration) -> None:
        node = known.node
        waiting = [state for state in self.partitions.values() if state.leader == NO_LEADER]
        found = [
            self._change(state, state.isr, lambda one: one == node or self.is_active(one))
            for state in waiting
        ]
        self.commit([replace(known, fenced=False, stopping=False), *(one for one in found if one)])

    def _stop(self, known: Registration) -> bool:
        """Controlled shutdown: first off the lead of everything, then, once the others know, the end."""
        node = known.node
        leads = any(state.leader == node for state in self.partitions.values())
        if known.stopping:
            if leads or self._cluster.lowest_metadata_offset() < self._stopping_offset[node]:
                return False
        elif leads:
            changes = self._remove(node, self.partitions.values())
            self.commit([replace(known, stopping=True), *changes])
            self._stopping_offset[node] = self._offset
            return False
        changes = self._remove(node, self.partitions.values())
        self.commit([*changes, replace(self.registrations[node], fenced=True)])
        return True

    def alter_partition(self, request: AlterPartition) -> PartitionState | str:
        """Grant a leader another ISR; "ineligible" if a member may not join, "stale" if it is no leader."""
        state, sender = self.partitions[request.partition], self.registrations[request.broker]
        if (
            sender.broker_epoch != request.broker_epoch
            or state.leader != request.broker
            or state.leader_epoch != request.leader_epoch
            or state.partition_epoch != request.partition_epoch
        ):
            return "stale"
        if not all(self._may_join(node, epoch) for node, epoch in request.isr):
            return "ineligible"
        isr = tuple(sorted(node for node, _ in request.isr))
        granted = change(state, isr, self.rules, self.is_active, recovered=True)
        if granted is not None:
            self.commit([granted])
        return self.partitions[request.partition]

    def _may_join(self, node: int, broker_epoch: int) -> bool:
        if not self.is_active(node):
            return False
        if Bug.ISR_JOIN_STALE_BROKER_EPOCH in self._cluster.bugs:
            return True
        return broker_epoch in (-1, self.registrations[node].broker_epoch)
