"""Who was in sync, by the controller's word or a leader's, and who shut down uncleanly and was not in sync
again.

KIP-966 counts the unclean shutdowns of in-sync replicas until each is in sync again: so many may lose what
they had, however their processes and disks came back meanwhile.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from checkers.model.kafka.cluster import Shutdown, Started
from checkers.model.kafka.controller import Record
from checkers.model.kafka.partition_change import PartitionState

NEVER_S = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """From `at_s` on these are in sync."""

    at_s: float
    isr: frozenset[int]
    leader: int
    leader_epoch: int


class InSync:
    """The in-sync replicas of one partition over time, and the unclean shutdowns of all brokers."""

    def __init__(
        self,
        records: Iterable[Record],
        started: Sequence[Started],
        shutdowns: Sequence[Shutdown],
        registered_s: Mapping[int, Sequence[float]],
    ) -> None:
        """`records` and `started` are those of the partition, in the order of the metadata log.
        `registered_s`: when a new process of each broker was registered, in that order too."""
        self._started, self._shutdowns, self._registered_s = started, shutdowns, registered_s
        self._changes = [_change(one) for one in records]
        self._times_s = [each.at_s for each in self._changes]

    def at(self, at_s: float) -> frozenset[int]:
        """Who was in sync at a time."""
        return self._changes[self._place(at_s)].isr

    def without_recovery(
        self, since_s: Mapping[int, float], until_s: float, *, by_leader: Set[int] = frozenset()
    ) -> list[Shutdown]:
        """The unclean shutdowns of brokers since a time, that had been in sync then or since then, and were
        not in sync again before `until_s`. `since_s`: by broker. `by_leader`: who was in sync for a leader
        that may not have known of the controller's word."""
        return [
            one
            for one in self._shutdowns
            if since_s.get(one.node, NEVER_S) <= one.at_s <= until_s
            and (one.node in by_leader or self._was_in_sync(one.node, since_s[one.node], one.at_s))
            and not self._is_back(one, until_s)
        ]

    def _place(self, at_s: float) -> int:
        return max(0, bisect_right(self._times_s, at_s) - 1)

    def _was_in_sync(self, node: int, since_s: float, until_s: float) -> bool:
        first, last = self._place(since_s), self._place(until_s)
        return any(node in each.isr for each in self._changes[first : last + 1])

    def _is_back(self, one: Shutdown, until_s: float) -> bool:
        """Whether it has come back into the ISR, or led again without having left it. One that the controller
        elects before it has missed it is not back, but dead."""
        if any(each.leader == one.node and one.at_s < each.at_s < until_s for each in self._started):
            return True
        later_s = (at_s for at_s in self._registered_s.get(one.node, ()) if at_s > one.at_s)
        back_s, out = next(later_s, NEVER_S), False
        for each in self._changes[self._place(one.at_s) :]:
            if each.at_s >= until_s:
                return False
            is_in = one.node in each.isr
            if out and is_in and each.at_s > back_s and not self._leads_in_vain(each, one.node):
                return True
            out = out or not is_in
        return False

    def _leads_in_vain(self, change: Change, node: int) -> bool:
        """Whether it is in sync alone because it was elected, dead, and never started to lead."""
        started = ((each.leader, each.leader_epoch) for each in self._started)
        return change.leader == node and (node, change.leader_epoch) not in started


def _change(record: Record) -> Change:
    assert isinstance(record.state, PartitionState)
    state = record.state
    return Change(
        at_s=record.at_s, isr=frozenset(state.isr), leader=state.leader, leader_epoch=state.leader_epoch
    )
