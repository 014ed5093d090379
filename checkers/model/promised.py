"""How many unclean shutdowns a committed record of one partition outlives, by what the controller did.

While as many replicas are in sync as the controller's min.insync.replicas wants, that many have to shut down
uncleanly (KIP-966): whoever leaves the ISR when fewer are left stays eligible. So it is the value that the
controller had when enough were last in sync, not one that it gets later, which promises what is there.
The controller forgets the eligible ones, as Kafka does, where min.insync.replicas is changed while fewer are
in sync, and keeps none while ELR is off. From then on those alone have what was committed who are in sync
then, or come into the ISR later. So it is where a reassignment takes one away that was in sync or
eligible, and leaves too few: those alone have it who are either then.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from checkers.model.kafka.changed_settings import ElrSet, MinIsrSet
from checkers.model.kafka.controller import Record
from checkers.model.kafka.partition_change import PartitionState

Because = Literal["a setting was changed", "a reassignment", "ELR was off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlived:
    """`by_min_isr`: as many as enough in sync promised. `guards`: who alone has what was committed, where the
    controller has forgotten whom it had kept eligible, or others were taken away; None: neither. `because`
    of what it was. `elr`: whether the controller had ELR on."""

    elr: bool
    by_min_isr: int
    guards: frozenset[int] | None
    because: Because


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
        promised: int = min_isr
        because: Because = "ELR was off"
        guards: set[int] | None = None
        state: PartitionState | None = None
        for one in self._records:
            if one.offset >= removal.offset:
                break
            changed = taken = False
            match one.state:
                case MinIsrSet(value=value):
                    min_isr = value
                    changed = elr and state is not None and bool(state.elr or state.last_known_elr)
                case ElrSet(on=on):
                    elr = on
                case PartitionState():
                    taken = state is not None and not {*state.isr, *state.elr} <= {*one.state.replicas}
                    state = one.state
            if state is None:
                continue
            in_sync, wanted = set(state.isr), min(min_isr, len(state.replicas))
            if len(in_sync) >= wanted:
                promised, guards = wanted, None
            elif changed or taken or not elr:
                guards = in_sync | (set(state.elr) if taken else set())
                because = "a reassignment" if taken else "a setting was changed" if changed else "ELR was off"
            elif guards is not None:
                guards |= in_sync
        alone = None if guards is None else frozenset(guards)
        return Outlived(elr=elr, by_min_isr=promised, guards=alone, because=because)
