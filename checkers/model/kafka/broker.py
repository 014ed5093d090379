"""A broker's process: registration, heartbeats, metadata, and the replicas on its disk.

Sources: BrokerLifecycleManager, BrokerMetadataPublisher, ReplicaManager, LogManager; KIP-631, KIP-858,
KIP-966.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from checkers.history.tables import NONE
from checkers.model.bugs import Bug
from checkers.model.case import log_dir_of
from checkers.model.kafka.changed_settings import ElrSet, MinIsrSet
from checkers.model.kafka.controller import AlterPartition, Record, Registration
from checkers.model.kafka.damage import load_wrongly
from checkers.model.kafka.event_loop import Callback
from checkers.model.kafka.follower import Follower
from checkers.model.kafka.leader import Fetched, FetchReply, Leader, ProduceRequest, Reply
from checkers.model.kafka.network import Edge, Node
from checkers.model.kafka.partition_change import PartitionState
from checkers.model.kafka.replica import Replica

if TYPE_CHECKING:
    from checkers.model.kafka.cluster import Cluster

HEARTBEAT_S = 0.5
WRITTEN_BACK_S = 32.0
"""The kernel writes a dirty page after some 30 s."""
RETENTION_S = 1.0
"""log.retention.check.interval.ms, as where a run shows what retention deletes."""
CHECKPOINT_S = 5.0
"""replica.high.watermark.checkpoint.interval.ms."""


class Broker:
    """One broker, over all its processes; what is in `replicas` beside their roles is on its disk."""

    def __init__(self, cluster: "Cluster", number: int, node: Node) -> None:
        self.cluster, self.number, self.node = cluster, number, node
        self.replicas: dict[int, Replica] = {}
        self.view: dict[int, PartitionState] = {}
        """The partitions as this process knows them from the metadata log."""
        self.registrations: dict[int, Registration] = {}
        self.min_isr = cluster.case.settings.min_isr
        """min.insync.replicas as this process knows it from the metadata log."""
        self.elr = cluster.case.settings.elr
        """Whether ELR is on, likewise. The controller goes by it alone."""
        self.broker_epoch, self.clean_epoch = NONE, NONE
        self.high_watermarks: dict[int, int] = {}
        """replication-offset-checkpoint."""
        self.offline: set[int] = set()
        """The log directories that have failed under this process, by number."""
        self.stopped: Callable[[], None] | None = None
        self.wants_stop, self._loaded, self._fetching, self._unclean = False, False, False, False
        self._position, self._stalls = 0, 0
        self._writes: list[tuple[Callback, tuple[Any, ...]]] = []

    # The process

    def start(self, *, boot_s: float) -> None:
        """A new process; it registers after `boot_s`."""
        self.node.up, self.wants_stop, self._loaded = True, False, False
        self._position, self.broker_epoch = 0, NONE
        self.min_isr, self.elr = self.cluster.case.settings.min_isr, self.cluster.case.settings.elr
        self.cluster.loop.after(boot_s, self._mine(self._register))
        self.cluster.loop.after(CHECKPOINT_S, self._mine(self._checkpoint))
        if self.cluster.sets_clocks:
            self.cluster.loop.after(RETENTION_S, self._mine(self._delete_old))

    def end(self, *, clean: bool) -> None:
        """The process is gone. `clean`: it has flushed everything, and noted so."""
        for replica in self.replicas.values():
            replica.forget_role()
            self._wrote(replica)
            if not clean or self._is_offline(replica.partition):
                replica.ended_uncleanly()
        if clean:
            self._note_high_watermarks()
        # A clean shutdown is one only if it was noted in every log directory.
        self._unclean = not clean or bool(self.offline)
        self.clean_epoch = NONE if self._unclean else self.broker_epoch
        self.offline = set()
        self.view, self.registrations, self._writes = {}, {}, []
        self._stalls, self._fetching = 0, False
        self.cluster.network.end(self.node)

    def _wrote(self, replica: Replica) -> None:
        """The volume of an ended process is unmounted, and so written; a power cut takes it back before."""
        replica.flush()

    def lose_power(self) -> None:
        """What was never synced is gone from the disk; the kernel has written what is old."""
        self._lose_unsynced(self.replicas.values())

    def _lose_unsynced(self, replicas: Iterable[Replica]) -> None:
        written_s = self.cluster.loop.now_s - WRITTEN_BACK_S
        for replica in replicas:
            old = [
                batch.end_offset for batch in replica.log.batches if batch.holders[self.number] < written_s
            ]
            replica.log.synced = max(replica.log.synced, *old, 0)
            replica.log.lose_unsynced()

    def lose_disk(self) -> None:
        """The disk of a process that has ended is emptied."""
        self.replicas, self.high_watermarks = {}, {}

    def lose_directory(self, number: int) -> None:
        """A log directory fails: this process serves nothing of it any more, and lets the controller know."""
        self.offline.add(number)
        lost = [one for one in self.replicas.values() if self._is_offline(one.partition)]
        self._lose_unsynced(lost)
        for replica in lost:
            # To a producer this error is as KAFKA_STORAGE_ERROR: it asks who leads, and sends again.
            replica.forget_role("NOT_LEADER_FOR_PARTITION")
        self._later(self.cluster.between(0.01, 0.1), self._report_offline)

    def _is_offline(self, partition: int) -> bool:
        return log_dir_of(partition, self.cluster.case.settings) in self.offline

    def _report_offline(self) -> None:
        if self.offline and self.broker_epoch != NONE and self._reaches_controller():
            lost = [number for number in sorted(self.replicas) if self._is_offline(number)]
            left = self.cluster.case.settings.log_dirs - len(self.offline)
            self.cluster.controller.lose_directories(self.number, self.broker_epoch, lost, left)

    @property
    def stalled(self) -> bool:
        """Whether writes block."""
        return self._stalls > 0

    def _mine(self, callback: Callable[[], None]) -> Callable[[], None]:
        """The callback, for as long as this process lives."""
        incarnation = self.node.incarnation

        def run() -> None:
            if self.node.incarnation == incarnation and self.node.up:
                callback()

        return run

    def _later(self, after_s: float, callback: Callable[[], None]) -> None:
        self.cluster.loop.after(after_s, self._mine(callback))

    # The disk

    def write(self, callback: Callback, *arguments: Any) -> None:  # noqa: ANN401 - the callback's
        """Do what writes to the disk, once that takes writes."""
        if self._stalls:
            self._writes.append((callback, arguments))
        else:
            callback(*arguments)

    def stall(self) -> None:
        """Writes block from now on."""
        self._stalls += 1

    def thaw(self) -> None:
        """One stall less; with the last one, what was blocked is written."""
        if self._stalls:
            self._stalls -= 1
        if not self._stalls:
            writes, self._writes = self._writes, []
            for callback, arguments in writes:
                callback(*arguments)

    def _checkpoint(self) -> None:
        self._later(CHECKPOINT_S, self._checkpoint)
        if not self.node.paused and not self._stalls:
            self._note_high_watermarks()

    def _delete_old(self) -> None:
        self._later(RETENTION_S, self._delete_old)
        self.delete_old()

    def delete_old(self) -> None:
        """Look for what is too old in all logs, if the process runs."""
        if not self.node.paused and self._loaded:
            self.write(self._mine(self._delete_old_of_all))

    def _delete_old_of_all(self) -> None:
        for replica in self.replicas.values():
            replica.delete_old()

    def _note_high_watermarks(self) -> None:
        self.high_watermarks |= {
            number: one.high_watermark
            for number, one in self.replicas.items()
            if not self._is_offline(number)
        }

    # The controller

    @property
    def controller_edge(self) -> Edge:
        """The connection to the active controller."""
        return self.node.name, str(self.cluster.controller.active)

    def _reaches_controller(self) -> bool:
        return (
            not self.node.paused
            and self.cluster.network.answers(self.controller_edge)
            and self.cluster.controller.available
        )

    def _register(self) -> None:
        epoch = NONE
        if self._reaches_controller():
            epoch = self.cluster.controller.register(self.number, previous_epoch=self.clean_epoch)
        if epoch == NONE:
            self._later(0.3, self._register)
            return
        self.broker_epoch, self.clean_epoch = epoch, NONE
        self._heartbeat()
        self._later(self.cluster.between(0.1, 0.5), self._load)

    def _load(self) -> None:
        """Load the logs, and take over the metadata as it is by now."""
        for replica in self.replicas.values():
            replica.log.load()
            if self.cluster.bugs:
                load_wrongly(self.cluster, replica, unclean=self._unclean)
            checkpoint = self.high_watermarks.get(replica.partition, 0)
            replica.high_watermark = max(min(checkpoint, replica.log.end), replica.log.start)
            replica.unflushed = 0
            self.cluster.loaded(replica, unclean=self._unclean)
        self._fetching = self._loaded = True
        self._catch_up()

    def _heartbeat(self) -> None:
        self._later(HEARTBEAT_S * self.cluster.between(0.96, 1.04), self._heartbeat)
        if not self._reaches_controller():
            return
        self._report_offline()
        records = self.cluster.controller.records
        offset = records[self._position - 1].offset if self._position else NONE
        may_end = self.cluster.controller.heartbeat(
            self.number,
            self.broker_epoch,
            offset + 1,
            wants_fence=not self._loaded,
            wants_stop=self.wants_stop,
        )
        if may_end and self.stopped is not None:
            stopped, self.stopped = self.stopped, None
            self._later(self.cluster.between(0.05, 0.3), stopped)

    def stop(self, stopped: Callable[[], None]) -> None:
        """Begin a controlled shutdown; `stopped` is called when the process may end."""
        self.wants_stop, self.stopped = True, stopped
        self._later(0.01, self._heartbeat_once)

    def _heartbeat_once(self) -> None:
        if self._reaches_controller() and self.broker_epoch != NONE:
            self.cluster.controller.heartbeat(
                self.number, self.broker_epoch, NONE, wants_fence=False, wants_stop=True
            )

    def ask_controller_for_isr(
        self, request: AlterPartition, answered: Callable[[PartitionState | str], None]
    ) -> None:
        """Send AlterPartition to the active controller; `answered` may never be called."""
        edge, network, controller = self.controller_edge, self.cluster.network, self.cluster.controller

        def ask() -> None:
            if controller.available:
                network.answer(edge, answered, controller.alter_partition(request))

        if network.usable(edge) and not self.node.paused:
            network.request(edge, ask)

    # The metadata log

    @property
    def metadata_position(self) -> int:
        """How many records of the metadata log this process has applied."""
        return self._position

    def follow_metadata(self) -> None:
        """Fetch what is new in the metadata log, soon."""
        if self._fetching:
            self._fetching = False
            self._later(self.cluster.between(0.004, 0.05) + self.cluster.late_s(), self._catch_up)

    def _catch_up(self) -> None:
        self._fetching = True
        if self._reaches_controller() and self._position < len(self.cluster.controller.records):
            self.write(self._mine(self._apply_metadata))

    def _apply_metadata(self) -> None:
        records, first = self.cluster.controller.records, self._position == 0
        new, self._position = records[self._position :], len(records)
        if first:
            new = _image(new)
        # As a broker publishes an image before its delta: a leader whose ISR shrinks to itself knows at once
        # that the others are fenced, and does not wait for them to join again.
        brokers = (record.state for record in new if isinstance(record.state, Registration))
        self.registrations |= {state.node: state for state in brokers}
        # A topic's settings are published behind its partitions; logs that are loaded have them at once.
        if first:
            self._know_settings(new)
        for record in new:
            if isinstance(record.state, Registration):
                self._know_broker(record.state)
            elif isinstance(record.state, PartitionState):
                self._know_partition(record.state)
        self._know_settings(new)

    def _know_settings(self, new: Iterable[Record]) -> None:
        for record in new:
            match record.state:
                case MinIsrSet(value=value):
                    self.min_isr = value
                case ElrSet(on=on):
                    self.elr = on

    def _know_broker(self, state: Registration) -> None:
        self.registrations[state.node] = state
        if Bug.ISR_JOIN_STALE_BROKER_EPOCH in self.cluster.bugs and not state.fenced:
            for replica in self.replicas.values():
                if isinstance(replica.role, Leader):
                    replica.role.join_by_old_fetch(state.node)
        me = state.node == self.number and state.broker_epoch == self.broker_epoch
        if me and not state.fenced and not self.node.serving:
            self.cluster.network.serve(self.node)

    def _know_partition(self, state: PartitionState) -> None:
        known = self.view.get(state.partition)
        if known is not None and known.partition_epoch >= state.partition_epoch:
            return
        self.view[state.partition] = state
        if self.number not in state.replicas:
            self._delete(state.partition)
            return
        if self._is_offline(state.partition):
            return
        replica = self.replicas.get(state.partition)
        if replica is None:
            replica = self.replicas[state.partition] = Replica(self, state.partition)
        replica.apply(state)

    def _delete(self, partition: int) -> None:
        """The replica was moved elsewhere."""
        replica = self.replicas.pop(partition, None)
        if replica is not None:
            replica.retire()
            self.high_watermarks.pop(partition, None)

    def apply_alone(self, state: PartitionState) -> None:
        """Take over metadata that this broker alone is given; what the log says of it comes too late."""
        self.write(self._mine(lambda: self._know_partition(state)))

    def edge_changed(self, edge: Edge) -> None:
        """Connections over an edge were lost, or can be opened again."""
        if edge[0] != self.node.name:
            return
        if edge == self.controller_edge:
            self.follow_metadata()
        else:
            for replica in self.replicas.values():
                if isinstance(replica.role, Follower):
                    replica.role.edge_changed(edge)

    # Requests

    def on_fetch(
        self,
        edge: Edge,
        partition: int,
        fetcher: tuple[int, int, int, int],
        epoch: int,
        reply: FetchReply,
    ) -> None:
        """A follower's fetch: its node, broker epoch, log end, and the last leader epoch of its log."""

        def answer(fetched: Fetched) -> None:
            self.cluster.network.answer(edge, reply, fetched)

        replica = self.replicas.get(partition)
        role = replica.role if replica is not None else None
        if isinstance(role, Leader) and role.epoch == epoch:
            role.fetch(*fetcher, answer)
        else:
            answer(Fetched(error="NOT_LEADER_FOR_PARTITION"))

    def on_produce(self, edge: Edge, request: ProduceRequest, reply: Reply) -> None:
        """A producer's batch."""

        def answer(error: str, offset: int) -> None:
            self.cluster.network.answer(edge, reply, error, offset)

        self.write(self._mine(lambda: self._produce(request, answer)))

    def _produce(self, request: ProduceRequest, answer: Reply) -> None:
        replica = self.replicas.get(request.partition)
        if replica is not None and isinstance(replica.role, Leader):
            replica.role.produce(request, answer)
        else:
            answer("NOT_LEADER_FOR_PARTITION", NONE)


def _image(records: list[Record]) -> list[Record]:
    """The last record of each broker, partition and setting: what a process that starts publishes first."""
    last: dict[tuple[str, int], Record] = {}
    for record in records:
        match record.state:
            case Registration(node=node):
                last["broker", node] = record
            case MinIsrSet() | ElrSet():
                last[type(record.state).__name__, NONE] = record
            case state:
                last["partition", state.partition] = record
    return list(last.values())
