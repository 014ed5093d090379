"""How many unclean shutdowns a committed record of one partition outlives, by what the controller did.

While as many replicas are in sync as the controller's min.insync.replicas wants, that many have to shut down
uncleanly (KIP-966): whoever leaves the ISR when fewer are left stays eligible. So it is the value that the
controller had when enough were last in sync, not one that it gets later, which promises what is there.
The controller forgets the eligible ones, as Kafka does, where min.insync.replicas is changed while fewer are
in sync, and keeps none while ELR is off. From then on those alone have what was committed who are in sync
then, or come into the ISR later.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from checkers.model.kafka.changed_settings import ElrSet, MinIsrSet
from checkers.model.kafka.controller import Record
from checkers.model.kafka.partition_change import PartitionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlived:
    """`by_min_isr`: as many as enough in sync promised. `guards`: who alone has what was committed, where the
    controller has forgotten whom it had kept eligible; None: it has not. `by_change`: because a setting was
    changed, not because ELR was off. `elr`: whether the controller had ELR on."""

    elr: bool
    by_min_isr: int
    guards: frozenset[int] | None
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

    def outlived(self, removal: Record) -> Outlived:
        """How many unclean shutdowns a record outlives until an election."""
        min_isr, elr = self._min_isr, self._elr
        promised, by_change = min_isr, False
        guards: set[int] | None = None
        state: PartitionState | None = None
        for one in self._records:
            if one.offset >= removal.offset:
                break
            changed = False
            match one.state:
                case MinIsrSet(value=value):
                    min_isr = value
                    changed = elr and state is not None and bool(state.elr or state.last_known_elr)
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
                guards, by_change = in_sync, changed
            elif guards is not None:
                guards |= in_sync
        alone = None if guards is None else frozenset(guards)
        return Outlived(elr=elr, by_min_isr=promised, guards=alone, by_change=by_change)
