"""The labels of what befalls transactions: no configuration permits any of it, unless markers may be lost.

A marker is a record of a partition's log, and the coordinator's own memory is another log: with what a run
may lose, they may be lost, and then a transaction is torn, hangs or comes back though Kafka has kept all that
it promised.

Invariant: a violation only where nothing was lost, and nothing could be, that all replicas of a log had.
Evidence: the losses that were found; the brokers that lost data; the elections.
Counterexample to "no configuration permits torn-transaction":
    all brokers lose power at once; the commit marker in orders-1 had not reached any disk
    1/7 of orders-0 is visible, 1/8 of orders-1 is not: undecided, for the marker is gone as records may be
"""

from collections.abc import Iterator, Sequence

from checkers.anomalies import AnomalyBlock
from checkers.contract import clauses
from checkers.contract.label import BlockLabels, Label
from checkers.contract.losses import LOSSES
from checkers.contract.settings import Realised
from checkers.properties import Property
from checkers.property_terms import Family

OF_TRANSACTIONS = tuple(each for each in Property if each.record.family is Family.TRANSACTIONS)
COORDINATORS_MIN_ISR = 2
"""transaction.state.log.min.isr, unless a topic of the run has less: that is no promise of a scenario."""
FORCED = ("unclean", "last known ELR")
"""Elections of a leader that need not have everything."""


class TransactionLabels:
    """Labels the blocks of OF_TRANSACTIONS. `blocks` are all of a run."""

    def __init__(self, blocks: Sequence[AnomalyBlock], realised: Realised) -> None:
        self._blocks, self._realised = blocks, realised

    def of_block(self, block: AnomalyBlock) -> BlockLabels:
        """The labels of one block."""
        lost = "; ".join(self._what_was_lost())
        if lost:
            text = f"{lost}: the markers of transactions may have gone with it"
            label = Label("undecided", text, clauses.MISSING_EVIDENCE)
        else:
            label = Label("violation", f"no configuration permits {block.property.value}")
        return BlockLabels.all_alike(label, len(block))

    def _what_was_lost(self) -> Iterator[str]:
        if any(block.property in LOSSES for block in self._blocks):
            yield "records of the run were lost"
        context = self._realised.context
        nodes = {node for fault in context.faults for node in fault.data_lost}
        promised = (topic.min_isr for topic in self._realised.topics.values())
        if len(nodes) >= min([COORDINATORS_MIN_ISR, *promised]):
            yield f"brokers {sorted(nodes)} lost data"
        elections = (each for tp in context.partitions for each in self._realised.timeline.elections(tp))
        if any(each.kind in FORCED for each in elections):
            yield "a leader was elected that was not in sync"
