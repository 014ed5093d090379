"""Eligibility: who is in the ISR and the ELR came there, and leaves, by the protocol.

Invariant: who was in the ISR or the ELR leaves both only by what eligible.py lists; who comes into the ELR
was in the ISR, and a partition without a leader lets nobody into its ISR (KIP-966).
Evidence: consecutive states of a partition, registrations and settings in the metadata log; the watch of the
nodes and the faults, for how a process had ended before it was registered anew.
Counterexample:
    ISR [1], ELR [2], min.insync.replicas=2; broker 2 was stopped by SIGTERM, and registers again
    the next record of the same append has ISR [1], ELR []: eligible-step, of broker 2
"""

from collections.abc import Iterator
from itertools import pairwise

from checkers.anomalies import Anomaly
from checkers.history.metadata_log.eligible import Eligible
from checkers.history.rows import Context, MetadataChange
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import (
    NOT_COLLECTED,
    RuleResult,
    brokers_in_words,
    collected,
    is_creation,
    of_state,
    states_of,
)
from checkers.reference.control_plane.wall_clock import wall_clock


def eligible_step(context: Context) -> RuleResult:
    """Each broker that a state has, or lacks, in ISR and ELR by no right.

    Undecided: somebody has left both, and min.insync.replicas is not known.
    """
    if not collected(context, "brokers", "configs"):
        return NOT_COLLECTED
    eligible = Eligible(context, wall_clock(context.clocks))
    steps = [
        (before, row)
        for rows in states_of(context).values()
        for before, row in pairwise(rows)
        if not is_creation(row)
    ]
    undecided = sum(eligible.undecided(before, row) for before, row in steps)
    anomalies = [anomaly for before, row in steps for anomaly in _wrong(before, row, eligible)]
    return RuleResult(anomalies=anomalies, examined=len(steps) - undecided, undecided=undecided)


def _wrong(before: MetadataChange, row: MetadataChange, eligible: Eligible) -> Iterator[Anomaly]:
    found = {**eligible.came_in(before, row), **eligible.struck_out(before, row)}
    was = f"ISR {brokers_in_words(before.isr)}, ELR {brokers_in_words(before.elr)}"
    now = f"ISR {brokers_in_words(row.isr)}, ELR {brokers_in_words(row.elr)}"
    for node, why in sorted(found.items()):
        yield of_state(Property.ELIGIBLE_STEP, row, node, f"broker {node} {why}: {was}, then {now}")
