"""The labels of what befalls transactions: no configuration permits any of it, unless markers may be lost.

A marker is a record of a partition's log, and the coordinator's own memory is another log: with what a run
may lose, they may be lost, and then a transaction is torn, hangs or comes back though Kafka has kept all that
it promised. What one partition has lost concerns what befalls transactions there; what coordinators have lost
concerns all.

Invariant: a violation only where nothing was lost, and nothing could be, that all replicas of a log had.
Evidence: the losses that were found; the brokers that lost data, and who was in sync; the elections.
Counterexample to "no configuration permits torn-transaction":
    all brokers lose power at once; the commit marker in orders-1 had not reached any disk
    1/7 of orders-0 is visible, 1/8 of orders-1 is not: undecided, for the marker is gone as records may be
"""

from collections.abc import Iterator, Sequence, Set

from checkers.anomalies import AnomalyBlock
from checkers.contract import clauses
from checkers.contract.label import BlockLabels, Label
from checkers.contract.losses import LOSSES
from checkers.contract.realised.settings import Realised
from checkers.history.rows import TopicPartition
from checkers.properties import Property
from checkers.property_terms import Family

OF_TRANSACTIONS = tuple(each for each in Property if each.record.family is Family.TRANSACTIONS)
FORCED = ("unclean", "last known ELR")
"""Elections of a leader that need not have everything."""


class TransactionLabels:
    """Labels the blocks of OF_TRANSACTIONS. `blocks` are all of a run."""

    def __init__(self, blocks: Sequence[AnomalyBlock], realised: Realised) -> None:
        self._realised = realised
        self._lossy = {block.tp for block in blocks if block.property in LOSSES}
        self._by_coordinators = tuple(self._lost_by_coordinators())

    def of_block(self, block: AnomalyBlock) -> BlockLabels:
        """The labels of one block."""
        lost = "; ".join((*self._lost_in(block.tp), *self._by_coordinators))
        if lost:
            text = f"{lost}: the markers of transactions may have gone with it"
            label = Label("undecided", text, clauses.MISSING_EVIDENCE)
        else:
            label = Label("violation", f"no configuration permits {block.property.value}")
        return BlockLabels.all_alike(label, len(block))

    def _lost_in(self, tp: TopicPartition) -> Iterator[str]:
        """What a partition has lost, or may have."""
        timeline = self._realised.timeline
        if tp in self._lossy:
            yield f"records of {tp} were lost"
        faults = self._realised.context.faults
        nodes = {node for fault in faults for node in fault.data_lost if fault.concerns(node, tp)}
        if _may_all_have_lost(nodes, [state.isr for state in timeline.states(tp)]):
            yield f"brokers {sorted(nodes)} lost data, and perhaps no other was in sync with {tp}"
        if any(each.kind in FORCED for each in timeline.elections(tp)):
            yield f"a leader of {tp} was elected that was not in sync"

    def _lost_by_coordinators(self) -> Iterator[str]:
        """The same of their log, for which Kafka elects nobody uncleanly."""
        context = self._realised.context
        nodes = {node for fault in context.faults for node in fault.data_lost}
        if _may_all_have_lost(nodes, [frozenset(row.isr) for row in context.coordinators]):
            yield f"brokers {sorted(nodes)} lost data, and perhaps no other coordinator was in sync"


def _may_all_have_lost(nodes: Set[int], in_sync: Sequence[Set[int]]) -> bool:
    """Whether nobody else was in sync at some time, or nobody knows who was."""
    return bool(nodes) and (not in_sync or any(each <= nodes for each in in_sync))
