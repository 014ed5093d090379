"""How many unclean shutdowns a committed record of one partition outlives, by what the controller did.

While as many replicas are in sync as the controller's min.insync.replicas wants, that many have to shut down
uncleanly (KIP-966): whoever leaves the ISR when fewer are left stays eligible. So it is the value that the
controller had when enough were last in sync, not one that it gets later, which promises what is there.
The controller forgets the eligible ones, as Kafka does, where min.insync.replicas is changed while fewer are
in sync, and keeps none while ELR is off. From then on those alone have what was committed who are in sync
then, or come into the ISR later; who had shut down uncleanly before counts as before.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checkers.model.kafka.changed_settings import ElrSet, MinIsrSet
from checkers.model.kafka.cluster import Shutdown
from checkers.model.kafka.controller import Record
from checkers.model.kafka.partition_change import PartitionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlived:
    """`by_min_isr`: as many as enough in sync promised. `in_all`: fewer, if the controller has forgotten whom
    it had kept eligible. `by_change`: because a setting was changed, not because ELR was off."""

    by_min_isr: int
    in_all: int
    by_change: bool


class Promised:
    """What the controller promised of one partition, along its metadata log."""

    def __init__(self, records: Iterable[Record], partition: int, *, min_isr: int, elr: bool) -> None:
        """`min_isr` and `elr` are those that the run began with."""
        self._min_isr, self._elr = min_isr, elr
        self._records = [
            one
            for one in records
            if isinstance(one.state, MinIsrSet | ElrSet)
            or (isinstance(one.state, PartitionState) and one.state.partition == partition)
        ]

    def outlived(self, removal: Record, lost: Sequence[Shutdown]) -> Outlived:
        """How many unclean shutdowns a record outlives until an election; `lost` are those that count."""
        min_isr, elr = self._min_isr, self._elr
        promised, by_change = min_isr, False
        guards: set[int] | None = None
        """Whoever has what was committed, once the others are forgotten."""
        state: PartitionState | None = None
        for one in self._records:
            if one.offset >= removal.offset:
                break
            changed = False
            match one.state:
                case MinIsrSet(value=value):
                    min_isr, changed = value, elr
                case ElrSet(on=on):
                    elr = on
                case PartitionState():
                    state = one.state
            if state is None:
                continue
            in_sync, wanted = set(state.isr), min(min_isr, len(state.replicas))
            if len(in_sync) >= wanted:
                promised, guards = wanted, None
            elif changed or not elr:
                guards = in_sync | {each.node for each in lost if each.at_s <= one.at_s}
                by_change = changed
            elif guards is not None:
                guards |= in_sync
        in_all = promised if guards is None else min(promised, len(guards))
        return Outlived(by_min_isr=promised, in_all=in_all, by_change=by_change)
