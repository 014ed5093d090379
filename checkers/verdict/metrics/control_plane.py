"""What the controllers did in a run, counted: elections, ISRs, replicas, times without a leader, brokers.

Evidence: the replayed metadata log, in its order; times are its wall clock, mapped to the run's.
A partition of which that log says nothing makes a number of all partitions unknown: it might be the one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from checkers.contract.realised.timeline import Election, ElectionKind, State, Timeline
from checkers.history.rows import BrokerState, Context, TopicPartition
from checkers.history.tables import NONE
from checkers.verdict.metrics.metric import Measured, in_seconds

KINDS: Mapping[str, ElectionKind] = {
    "elections.unclean": "unclean",
    "elections.elr": "ELR",
    "elections.last-known": "last known ELR",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """The metadata log of a run, to be counted. `load_ended_ns` (-1: unknown) closes what had not ended."""

    context: Context
    timeline: Timeline
    load_ended_ns: int

    def measured(self, name: str) -> Measured:
        """The value of a metric of the control plane."""
        if name.startswith(("brokers.", "log-dirs.")):
            return self._of_brokers(name)
        for tp in self.context.partitions:
            if not any(state.exact for state in self.timeline.states(tp)):
                return Measured(value=None, unknown=f"the metadata log has no state of {tp}")
        return self._of_partitions(name)

    def _of_partitions(self, name: str) -> Measured:
        match name:
            case "elections.max":
                return self._most(lambda tp: len(self.timeline.elections(tp)))
            case "elections.apart":
                return self._closest()
            case "leaders.moved":
                return self._most(lambda tp: _leader_moves(self.timeline.states(tp)))
            case "offline.max":
                return self._most(self._offline_s)
            case "isr.min":
                return self._fewest_in_sync()
            case "isr.shrinks":
                return self._most(lambda tp: _moves(self.timeline.states(tp), lambda lost, _: lost))
            case "isr.expands":
                return self._most(lambda tp: _moves(self.timeline.states(tp), lambda _, won: won))
            case "replicas.changes":
                moved = self._replica_changes()
                return self._most(lambda tp: moved[tp])
        kind = KINDS[name]
        return Measured(value=float(sum(each.kind == kind for each in self._elections())))

    def _elections(self) -> Iterable[Election]:
        return (each for tp in self.context.partitions for each in self.timeline.elections(tp))

    def _most(self, of: Callable[[TopicPartition], float]) -> Measured:
        values = {tp: of(tp) for tp in self.context.partitions}
        if not values:
            return Measured(value=None, unknown="the run has no partition")
        most = max(values, key=lambda tp: values[tp])
        return Measured(value=float(values[most]), where=str(most) if values[most] else "")

    def _closest(self) -> Measured:
        found = [
            (in_seconds(late.at_ns - early.at_ns), str(tp))
            for tp in self.context.partitions
            for early, late in pairwise(self.timeline.elections(tp))
        ]
        if not found:
            return Measured(value=None, unknown="no partition had two elections")
        apart_s, where = min(found)
        return Measured(value=apart_s, where=where)

    def _fewest_in_sync(self) -> Measured:
        found = [(len(state.isr), tp) for tp in self.context.partitions for state in self.timeline.states(tp)]
        if not found:
            return Measured(value=None, unknown="the run has no partition")
        fewest, where = min(found)
        return Measured(value=float(fewest), where=str(where))

    def _offline_s(self, tp: TopicPartition) -> float:
        """Until there is a leader again; a partition that gets none is offline to the end of the load."""
        longest_ns, since_ns = 0, NONE
        for state in self.timeline.states(tp):
            if state.leader == NONE:
                since_ns = state.since_ns if since_ns == NONE else since_ns
            elif since_ns != NONE:
                longest_ns, since_ns = max(longest_ns, state.since_ns - since_ns), NONE
        if since_ns != NONE:
            longest_ns = max(longest_ns, self.load_ended_ns - since_ns)
        return in_seconds(longest_ns)

    def _replica_changes(self) -> Counter[TopicPartition]:
        """How often each partition got another set of replicas; while they are moved it has both. Another
        order of the same ones is no change."""
        found: Counter[TopicPartition] = Counter()
        last: dict[TopicPartition, frozenset[int]] = {}
        in_order = sorted(
            self.context.metadata, key=lambda row: (row.log_offset, row.at_ms, row.partition_epoch)
        )
        for row in in_order:
            replicas = frozenset(row.replicas)
            found[row.tp] += replicas != last.setdefault(row.tp, replicas)
            last[row.tp] = replicas
        return found

    def _of_brokers(self, name: str) -> Measured:
        if "brokers" not in self.context.collected:
            return Measured(value=None, unknown="not collected: the brokers' registrations")
        by_node: dict[int, list[BrokerState]] = defaultdict(list)
        for row in sorted(self.context.brokers, key=lambda row: row.log_offset):
            by_node[row.node].append(row)
        if name == "log-dirs.offline":
            if not any(row.log_dirs != NONE for row in self.context.brokers):
                return Measured(value=None, unknown="the metadata log names no log directories")
            return Measured(value=float(sum(_log_dirs_lost(rows) for rows in by_node.values())))
        if name == "brokers.restarted":
            return Measured(value=float(sum(_has_restarted(rows) for rows in by_node.values())))
        return Measured(value=float(sum(_fencings(rows) for rows in by_node.values())))


def _moves(states: Sequence[State], which: Callable[[bool, bool], bool]) -> int:
    """How often replicas left an ISR, or came into it; one change may do both."""
    return sum(
        which(bool(before.isr - now.isr), bool(now.isr - before.isr)) for before, now in pairwise(states)
    )


def _leader_moves(states: Sequence[State]) -> int:
    """How often another broker led than the last one that did; between the two there may have been none."""
    led = [state.leader for state in states if state.leader != NONE]
    return sum(now != before for before, now in pairwise(led))


def _has_restarted(rows: Sequence[BrokerState]) -> bool:
    return len({row.broker_epoch for row in rows if row.registered}) > 1


def _fencings(rows: Sequence[BrokerState]) -> int:
    """A registration begins fenced, and a broker that stops is fenced at its own wish: neither is one."""
    return sum(
        now.fenced
        and not before.fenced
        and now.broker_epoch == before.broker_epoch
        and not (before.in_controlled_shutdown or now.in_controlled_shutdown)
        for before, now in pairwise(rows)
    )


def _log_dirs_lost(rows: Sequence[BrokerState]) -> int:
    """A new process registers with those that it has; what it had before went with the one before."""
    return sum(
        max(0, before.log_dirs - now.log_dirs)
        for before, now in pairwise(rows)
        if now.broker_epoch == before.broker_epoch and NONE not in (before.log_dirs, now.log_dirs)
    )
