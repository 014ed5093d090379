"""Which replicas still had lost records when a leader was elected without them, as far as it was measured.

Invariant: a replica held a record only if its own log end was measured behind it, after it was appended and
before the replica could have been cut to the new leader's log.
Evidence: log ends that brokers reported themselves, and log ends read from the disks of nodes that were down.
Counterexample to "the disks at the end show who had it":
    broker 1 was killed with all 9,838 records in its page cache; broker 2 is elected with none of them
    broker 1 comes back and is cut to offset 0: at the end no disk has any of them
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.contract.evidence.outages import Outage
from checkers.contract.evidence.partition_evidence import PartitionEvidence
from checkers.contract.fates.fate import Fate
from checkers.contract.realised.downtimes import NEVER_NS
from checkers.contract.realised.settings import Realised


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """How far one replica's log reached, when that was last measured before it could have been cut."""

    broker: int
    log_end: int
    at_ns: int
    outage: Outage | None
    """The last one that had begun by the election."""
    from_disk: bool

    def held(self, first: int, last: int) -> int:
        """How many offsets of [first, last] its log had."""
        return max(0, min(last + 1, self.log_end) - first)


def holders(
    fate: Fate, written_ns: int, replicas: Sequence[int], evidence: PartitionEvidence, realised: Realised
) -> tuple[Holder, ...]:
    """What was measured of each replica, in the order of the replicas; none for one that nobody measured."""
    return tuple(
        found for broker in replicas for found in _holder(broker, fate, written_ns, evidence, realised)
    )


def _holder(
    broker: int, fate: Fate, written_ns: int, evidence: PartitionEvidence, realised: Realised
) -> Iterator[Holder]:
    """The disk of a node that was down counts most: nobody has changed it since."""
    elected_ns = fate.removed_by.at_ns if fate.removed_by else NEVER_NS
    outages = [each for each in evidence.outages if each.node == broker and each.since_ns <= elected_ns]
    outage = max(outages, key=lambda each: each.since_ns, default=None)
    if outage is not None and outage.after is not None and written_ns <= outage.last_write_ns:
        yield Holder(broker=broker, log_end=outage.after, at_ns=outage.up_ns, outage=outage, from_disk=True)
        return
    ends = evidence.log_ends
    until_ns = elected_ns + realised.timeline.slack_ns
    own = np.flatnonzero(
        (ends.broker == broker)
        & (ends.leader_epoch == fate.appended.epoch)
        & (ends.at_ns >= written_ns)
        & (ends.at_ns <= until_ns)
    )
    if own.size:
        last = own[-1]
        yield Holder(
            broker=broker,
            log_end=int(ends.log_end[last]),
            at_ns=int(ends.at_ns[last]),
            outage=outage,
            from_disk=False,
        )
