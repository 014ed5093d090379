"""Whom an unclean election has passed over: a replica that was in sync or eligible, and could have led.

An unclean election is the last resort: the controller takes any replica only if nobody of the ISR, nor of
the ELR while the ISR is empty, is acceptable: registered, not fenced, not in controlled shutdown, and with
the directory of its replica online (PartitionChangeBuilder.electAnyLeader and LeaderAcceptor in Kafka 3.9;
the same holds of one that a person asks for, KIP-460).

Invariant: who is named could have been elected, by the registrations from the record of the election to the
end of its append. The record that fences, stops or registers anew may stand behind those of the elections
that it brings about; the one that ends a fencing stands before them.
Evidence: consecutive states of a partition, the registrations and the level of ELR in the metadata log; the
faults that replaced a disk, whose directory has another id until its broker has told the controllers.
Counterexample to "somebody of the ISR is left":
    ISR [1, 2]; the record at offset 90 elects broker 3, uncleanly, ISR [3]; at 91, of one append, 2 is fenced
    broker 1 was fenced before: nobody could lead but 3
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import attrgetter

from checkers.history.metadata_log.settings import Settings
from checkers.history.rows import BrokerState, Context, MetadataChange, TopicPartition
from checkers.history.tables import NONE


class PassedOver:
    """Who could have been elected instead, by unclean election."""

    def __init__(self, context: Context) -> None:
        """Where no record registers a broker, it is not known to have been passed over."""
        self._settings = Settings(context.configs)
        self._registrations: dict[int, list[BrokerState]] = defaultdict(list)
        for row in sorted(context.brokers, key=attrgetter("log_offset")):
            self._registrations[row.node].append(row)
        self._wiped = {node for fault in context.faults for node in fault.wiped}
        self._steps = _steps(context.metadata)

    def at(self, tp: TopicPartition, log_offset: int) -> frozenset[int]:
        """The same of the election at an offset of the metadata log; nobody if that is not known (-1)."""
        step = self._steps.get((tp, log_offset))
        return frozenset() if step is None else self.by(*step)

    def by(self, before: MetadataChange, row: MetadataChange) -> frozenset[int]:
        """Who could have been elected instead, where an unclean election turned one state into the next."""
        fit = set(before.isr)
        if self._settings.elr(row.log_offset) and (before.leader != NONE or not before.isr):
            fit |= set(before.elr)
        others = fit & set(row.replicas) - {row.leader}
        return frozenset(node for node in others if self._could_lead(node, row))

    def _could_lead(self, node: int, row: MetadataChange) -> bool:
        rows = self._registrations.get(node, ())
        until = [each for each in rows if each.log_offset < row.log_offset]
        behind = [each for each in rows if each.log_offset > row.log_offset and each.at_ms == row.at_ms]
        if not until or node in self._wiped:
            return False
        log_dirs = max(each.log_dirs for each in until)
        same = all(each.broker_epoch == until[-1].broker_epoch for each in behind)
        return same and all(_is_active(each) and each.log_dirs == log_dirs for each in (until[-1], *behind))


def _steps(
    metadata: Sequence[MetadataChange],
) -> Mapping[tuple[TopicPartition, int], tuple[MetadataChange, MetadataChange]]:
    """Each state of a partition with the one before it, by the offset of its record."""
    states: dict[TopicPartition, list[MetadataChange]] = defaultdict(list)
    for row in sorted(metadata, key=attrgetter("log_offset")):
        states[row.tp].append(row)
    return {
        (tp, row.log_offset): (before, row)
        for tp, rows in states.items()
        for before, row in pairwise(rows)
        if row.log_offset != NONE
    }


def _is_active(state: BrokerState) -> bool:
    return state.registered and not state.fenced and not state.in_controlled_shutdown
