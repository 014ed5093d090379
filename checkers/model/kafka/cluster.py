"""A whole simulated cluster, and what is truly known of it: elections, starts of leaders, truncations."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from checkers.model.bugs import Bug
from checkers.model.case import ACTIVE_CONTROLLER, BROKERS, CONTROLLERS, Case, ClockSkew, log_dir_of
from checkers.model.kafka.broker import Broker
from checkers.model.kafka.controller import Controller, Record
from checkers.model.kafka.damage import before_its_clock_changes
from checkers.model.kafka.event_loop import EventLoop
from checkers.model.kafka.leader import Leader
from checkers.model.kafka.log import Batch
from checkers.model.kafka.network import Edge, Network, Node
from checkers.model.kafka.partition_change import PartitionState
from checkers.model.kafka.replica import Replica

BOOT_AT_S = -3.5
TOPIC_AT_S = -1.0
"""The load begins at 0."""
LATE = 0.3
"""How often a broker that may be late with the metadata log is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A leader has started: what its log held, and the record of its election."""

    partition: int
    leader: int
    leader_epoch: int
    at_s: float
    log_start: int
    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a node writes into its own log; its clock was `ahead_s` ahead then."""

    at_s: float
    ahead_s: float
    node: int
    kind: str
    partition: int = -1
    leader_epoch: int = -1
    offset: int = -1
    high_watermark: int = -1
    leader: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """A broker's process ended uncleanly; `data_lost`: its unsynced pages went with it, and if it was `wiped`
    all the rest too. `partitions`: it went on without these alone, whose log directory failed; None: all."""

    node: int
    at_s: float
    data_lost: bool
    wiped: bool
    partitions: frozenset[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """A broker has deleted what was before offset `to`: too old by the clock of `whose`, which was `ahead_s`
    ahead.

    What a leader deletes its followers delete with it: then `whose` is another one. What a follower deletes
    is gone for all if it leads.
    """

    partition: int
    broker: int
    led: bool
    at_s: float
    to: int
    whose: int
    ahead_s: float


@dataclass(slots=True, eq=False)
class Known:
    """The truth as it happens."""

    started: list[Started] = field(default_factory=list)
    unclean: list[Shutdown] = field(default_factory=list)
    """By time."""
    deleted: list[Deleted] = field(default_factory=list)
    """By time."""
    lines: list[Line] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    broken: dict[tuple[int, int], Bug] = field(default_factory=dict)
    """By the identity of a batch and a broker: the planted bug by which the broker has lost it."""
    by_older_value: set[int] = field(default_factory=set)
    """By identity: batches below the high watermark of a leader with as many in sync as it wanted, and fewer
    than the controller did."""
    closed_s: float = 0.0
    """When the final read was over: what is later, the stopping of the brokers, decides nothing."""


class Cluster:
    """Nodes, network, controller and brokers of one case."""

    def __init__(self, case: Case) -> None:
        self.case, self.bugs = case, case.bugs
        self.rng, self._late = Random(case.seed), Random(f"metadata/{case.seed}")
        self.loop = EventLoop(BOOT_AT_S)
        self.network = Network(self.loop, self.rng)
        for name in ("client", *map(str, (*BROKERS, *CONTROLLERS))):
            self.network.nodes[name] = Node(name)
        self.brokers: dict[int, Broker] = {}
        self.controller = Controller(self, CONTROLLERS, ACTIVE_CONTROLLER)
        for number in BROKERS:
            node = self.network.nodes[str(number)]
            node.serving = False
            self.brokers[number] = Broker(self, number, node)
        self.network.listen(self._edge_changed)
        self.known = Known()
        self.sets_clocks = any(isinstance(action, ClockSkew) for action in case.schedule)
        """Whether a broker may ever find a record too old: no run takes days."""
        self._ahead_s: dict[int, float] = {}
        self.manifested: set[Bug] = set()
        self.acted: set[Bug] = set()
        self._boot()

    def _boot(self) -> None:
        for broker in self.brokers.values():
            self.loop.at(BOOT_AT_S, lambda one=broker: one.start(boot_s=self.between(0.2, 1.0)))
        self.loop.at(BOOT_AT_S + 0.1, self.controller.tick)
        self.loop.at(TOPIC_AT_S, self._create_topic)

    def _create_topic(self) -> None:
        if any(not self.controller.is_active(number) for number in BROKERS):
            self.loop.after(0.1, self._create_topic)
            return
        drawn, asked = self.rng.randrange(len(BROKERS)), self.case.settings.first_leader
        first = drawn if asked is None else BROKERS.index(asked)
        states = []
        for partition in range(self.case.settings.partitions):
            turn = (first + partition) % len(BROKERS)
            replicas = (*BROKERS[turn:], *BROKERS[:turn])[: self.case.settings.replication]
            states.append(
                PartitionState(partition=partition, replicas=replicas, isr=replicas, leader=replicas[0])
            )
        self.controller.commit_topic(states)

    def between(self, low: float, high: float) -> float:
        """A number between two others, by the seed of the case."""
        return low + self.rng.random() * (high - low)

    def late_s(self) -> float:
        """How much later a broker applies what is new in the metadata log."""
        if not self.case.settings.metadata_late_s or self._late.random() >= LATE:
            return 0.0
        return self._late.uniform(0.0, self.case.settings.metadata_late_s)

    # Clocks

    def ahead_s(self, node: int) -> float:
        """How far the wall clock of a node is ahead of the others'."""
        return self._ahead_s.get(node, 0.0)

    def set_clock(self, node: int, ahead_s: float) -> None:
        """Let the wall clock of a node be so far ahead."""
        if node in self.brokers:
            before_its_clock_changes(self, self.brokers[node])
        self._ahead_s[node] = ahead_s

    # Bugs

    def act(self, bug: Bug) -> None:
        """The switch of a bug has changed what a node does; whether that shows is found out at the end."""
        self.acted.add(bug)

    def manifest(self, bug: Bug) -> None:
        """The bug has become visible: in the metadata, or in what a client was told."""
        self.acted.add(bug)
        self.manifested.add(bug)

    # What happens

    def _edge_changed(self, edge: Edge, usable: bool) -> None:
        broker = self.brokers.get(int(edge[0])) if edge[0].isdigit() else None
        if broker is not None:
            broker.edge_changed(edge)

    def metadata_grew(self) -> None:
        """The metadata log has new records."""
        for broker in self.brokers.values():
            broker.follow_metadata()

    def controller_moved(self) -> None:
        """Another controller is active."""
        self.metadata_grew()

    def lowest_metadata_offset(self) -> int:
        """Up to which offset every broker that is not fenced has applied the metadata log."""
        records = self.controller.records
        positions = [
            broker.metadata_position
            for broker in self.brokers.values()
            if self.controller.is_active(broker.number)
        ]
        lowest = min(positions, default=len(records))
        return records[lowest - 1].offset + 1 if lowest else 0

    def partition_changed(self, record: Record) -> None:
        """The controller has committed a change of a partition."""
        state = record.state
        assert isinstance(state, PartitionState)
        if record.election in ("unclean", "last-known-elr"):
            for node in CONTROLLERS:
                self._line(node, "unclean-election", state.partition, state.leader_epoch, late_s=0.01)

    def shut_down_uncleanly(self, number: int, *, data_lost: bool, wiped: bool) -> None:
        """A broker was killed or has halted, perhaps without its power or its disk."""
        shutdown = Shutdown(node=number, at_s=self.loop.now_s, data_lost=data_lost, wiped=wiped)
        self.known.unclean.append(shutdown)

    def lose_directory(self, number: int, log_dir: int) -> None:
        """A log directory of a broker fails, and takes what was unsynced there."""
        settings = self.case.settings
        here = frozenset(each for each in range(settings.partitions) if log_dir_of(each, settings) == log_dir)
        lost = Shutdown(node=number, at_s=self.loop.now_s, data_lost=True, wiped=False, partitions=here)
        self.known.unclean.append(lost)
        self.brokers[number].lose_directory(log_dir)

    def leader_started(self, replica: Replica) -> None:
        """A broker begins to lead."""
        started = Started(
            partition=replica.partition,
            leader=replica.broker.number,
            leader_epoch=replica.leader_epoch,
            at_s=self.loop.now_s,
            log_start=replica.log.start,
            batches=tuple(replica.log.batches),
        )
        self.known.started.append(started)
        self._replica_line(replica, "leader-start", replica.leader_epoch, replica.log.end)

    def follower_started(self, replica: Replica) -> None:
        """A broker begins to follow."""
        self._replica_line(replica, "follower-start", replica.leader_epoch, replica.log.end)

    def fetcher_started(self, replica: Replica) -> None:
        """A broker begins to fetch."""
        self._replica_line(replica, "fetcher-start", replica.leader_epoch, replica.log.end, high_watermark=-1)

    def loaded(self, replica: Replica, *, unclean: bool) -> None:
        """A broker has loaded a log."""
        if unclean:
            self._replica_line(replica, "recovered", -1, 0, high_watermark=-1)
        self._replica_line(replica, "loaded", -1, replica.log.end, high_watermark=0)

    def truncated(self, replica: Replica, to: int, gone: Sequence[Batch]) -> None:
        """A follower has removed the end of its log."""
        self._replica_line(replica, "truncated", replica.log.last_epoch, to, high_watermark=-1)
        if to < replica.high_watermark:
            self._replica_line(replica, "truncated-below-hw", -1, to)

    def deleted(self, replica: Replica, to: int) -> None:
        """A broker deletes what is before an offset, for it is too old."""
        number = replica.broker.number
        self.known.deleted.append(
            Deleted(
                partition=replica.partition,
                broker=number,
                led=isinstance(replica.role, Leader),
                at_s=self.loop.now_s,
                to=to,
                whose=number,
                ahead_s=self.ahead_s(number),
            )
        )

    def took_over_start(self, replica: Replica, to: int) -> None:
        """A follower lets its log start where its leader's does, for whatever reason that had."""
        own, now_s = replica.broker.number, self.loop.now_s
        of_leader = (
            one
            for one in reversed(self.known.deleted)
            if (one.partition, one.broker) == (replica.partition, replica.leader) and one.to >= to
        )
        reason = next(of_leader, None)
        if reason is not None:
            self.known.deleted.append(replace(reason, broker=own, led=False, at_s=now_s, to=to))

    def _replica_line(
        self, replica: Replica, kind: str, epoch: int, offset: int, *, high_watermark: int | None = None
    ) -> None:
        high = replica.high_watermark if high_watermark is None else high_watermark
        self.known.lines.append(
            Line(
                at_s=self.loop.now_s,
                ahead_s=self.ahead_s(replica.broker.number),
                node=replica.broker.number,
                kind=kind,
                partition=replica.partition,
                leader_epoch=epoch,
                offset=offset,
                high_watermark=high,
                leader=replica.leader,
            )
        )

    def _line(self, node: int, kind: str, partition: int, epoch: int, *, late_s: float) -> None:
        at_s = self.loop.now_s + self.rng.random() * late_s
        ahead_s = self.ahead_s(node)
        self.known.lines.append(
            Line(at_s=at_s, ahead_s=ahead_s, node=node, kind=kind, partition=partition, leader_epoch=epoch)
        )

    def appended(self, replica: Replica, batch: Batch) -> None:
        """A leader has appended a batch."""
        self.known.batches.append(batch)

    def covered(self, replica: Replica, before: int, to: int) -> None:
        """A leader has moved its high watermark."""
        state, role = self.controller.partitions[replica.partition], replica.role
        wanted = min(self.controller.rules.min_isr, len(state.replicas))
        older = isinstance(role, Leader) and role.min_isr <= len(replica.isr) < wanted
        for batch in replica.log.from_offset(before):
            if batch.end_offset > to:
                break
            if batch.covered_s < 0:
                batch.covered_s, batch.covered_with = self.loop.now_s, frozenset(replica.isr)
                if older:
                    self.known.by_older_value.add(id(batch))

    # What can be asked

    def replicas_of(self, partition: int) -> list[Replica]:
        """The replicas of a partition, by the number of their broker."""
        return [
            broker.replicas[partition] for broker in self.brokers.values() if partition in broker.replicas
        ]

    def settled(self, partition: int) -> bool:
        """Whether every broker knows the same leader, which leads, and every replica is in sync."""
        state = self.controller.partitions[partition]
        if set(state.isr) != set(state.replicas) or state.leader < 0:
            return False
        for broker in self.brokers.values():
            known = broker.view.get(partition)
            if not broker.node.serving or known is None or known != state:
                return False
        role = self.brokers[state.leader].replicas[partition].role
        return isinstance(role, Leader) and role.epoch == state.leader_epoch
