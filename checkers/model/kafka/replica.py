"""One replica on one broker: its log and its high watermark, as leader or as follower.

Source: kafka.cluster.Partition, makeLeader and makeFollower.
"""

from typing import TYPE_CHECKING

from checkers.model.kafka.follower import Follower
from checkers.model.kafka.leader import Leader
from checkers.model.kafka.log import Batch, ReplicaLog
from checkers.model.kafka.partition_change import PartitionState

if TYPE_CHECKING:
    from checkers.model.kafka.broker import Broker


class Replica:
    """What a broker knows of a partition that it has. `role` is None before its first metadata."""

    __slots__ = (
        *("broker", "high_watermark", "isr", "leader", "leader_epoch", "log", "partition"),
        *("partition_epoch", "retained_from", "role", "unflushed"),
    )

    def __init__(self, broker: "Broker", partition: int) -> None:
        self.broker, self.partition = broker, partition
        self.log = ReplicaLog()
        self.high_watermark, self.unflushed = 0, 0
        self.retained_from = 0
        """What is before it retention has deleted, here or on the leader."""
        self.leader, self.leader_epoch, self.partition_epoch = -1, -1, -1
        self.isr: tuple[int, ...] = ()
        self.role: Leader | Follower | None = None

    def forget_role(self, error: str = "") -> None:
        """The process has ended, or its log directory has failed: what was in its memory is gone. `error`:
        the answer to whoever waits, "" if nobody is there to give one."""
        if self.role is not None:
            self.role.stop(error)
        self.role, self.leader, self.leader_epoch, self.partition_epoch = None, -1, -1, -1

    def retire(self) -> None:
        """The broker has the partition no more: who waits for the leader asks elsewhere."""
        if self.role is not None:
            self.role.stop("NOT_LEADER_FOR_PARTITION")
        self.role = None

    def apply(self, state: PartitionState) -> None:
        """Take over what the metadata log says of the partition."""
        if state.partition_epoch <= self.partition_epoch or state.leader_epoch < self.leader_epoch:
            return
        me = self.broker.number
        new_epoch, was_leader = state.leader_epoch > self.leader_epoch, isinstance(self.role, Leader)
        self.partition_epoch, self.isr, self.leader = state.partition_epoch, state.isr, state.leader
        self.leader_epoch = state.leader_epoch
        if state.leader == me:
            if new_epoch or not was_leader:
                self._become_leader(state)
            else:
                assert isinstance(self.role, Leader)
                self.role.serve(state.replicas)
                self.role.committed()
        elif new_epoch or was_leader:
            self._become_follower()

    def _become_leader(self, state: PartitionState) -> None:
        if self.role is not None:
            self.role.stop("NOT_LEADER_FOR_PARTITION")
        self.log.assign_epoch(state.leader_epoch, self.log.end)
        self.broker.cluster.leader_started(self)
        self.role = Leader(self, state)
        self.role.start()

    def _become_follower(self) -> None:
        if self.role is not None:
            self.role.stop("NOT_LEADER_FOR_PARTITION")
        self.broker.cluster.follower_started(self)
        self.role = Follower(self)
        self.role.start()

    # The log

    def append(self, batch: Batch) -> None:
        """Append, as leader or follower; flush as flush.messages says."""
        self.log.append(batch)
        now_s = batch.holders[self.broker.number] = self.broker.cluster.loop.now_s
        batch.held_since_s.setdefault(self.broker.number, now_s)
        self.unflushed += len(batch.records)
        if self.unflushed >= self.broker.cluster.case.settings.flush_messages:
            self.flush()

    def flush(self) -> None:
        """Sync the log."""
        self.log.synced, self.unflushed = self.log.end, 0

    def truncate(self, to: int) -> None:
        """Remove what lies at `to` or behind it."""
        before = self.log.end
        gone = self.log.truncate(to)
        if self.log.end < before:
            self.broker.cluster.truncated(self, self.log.end, gone)
        self.high_watermark = min(self.high_watermark, self.log.end)
        self.retained_from = min(self.retained_from, self.log.start)

    def begin_anew(self, at: int) -> None:
        """Remove all, and begin at an offset."""
        self.log.begin_anew(at)
        self.high_watermark = self.retained_from = at

    def ended_uncleanly(self) -> None:
        """The process has ended without noting where the log starts."""
        self.log.forget_start()
        self.retained_from = min(self.retained_from, self.log.start)

    def delete_old(self) -> None:
        """Delete the first batches that are older than retention by this broker's clock, as far as they are
        below the high watermark. A leader's followers hear of it, a follower's leader does not."""
        cluster = self.broker.cluster
        self.log.remove_below_start()
        now_s = cluster.loop.now_s + cluster.ahead_s(self.broker.number)
        to = self.log.start
        for batch in self.log.batches:
            young = now_s - batch.records[-1].invoked_s <= cluster.case.settings.retention_s
            if young or batch.end_offset > self.high_watermark:
                break
            to = max(to, batch.end_offset)
        if to > self.log.start:
            cluster.deleted(self, to)
            self.log.remove_before(to)
            self._starts_at(to)

    def take_over_start(self, of_leader: int) -> None:
        """Let the log start where the leader's does, unless it starts later already; what lies below is
        removed with the next look at what is too old."""
        to = min(of_leader, self.high_watermark)
        if to > self.log.start:
            self.broker.cluster.took_over_start(self, to)
            self.log.move_start(to)
            self._starts_at(to)

    def _starts_at(self, offset: int) -> None:
        self.retained_from = offset
        self.high_watermark = max(self.high_watermark, offset)
