"""The last stable offset: no transaction keeps readers of committed records waiting for ever.

Invariant: a transaction that its client does not end is aborted by its coordinator once its time-out is over;
then the last stable offset comes to the high watermark. A coordinator that a fault has kept from that has as
long when the fault is over, and one that is not there ends nothing.
Evidence: the final read waits for that, in sync and in health, for longer than any transaction may be open;
the faults, and the ends of processes.
Counterexample to "the partition was not read to a proven end, so nothing is decided of it":
    the last transaction began at 20 s, with a time-out of 10 s; from 31 s on all is healed and in sync
    at 110 s the last stable offset is still 7, the high watermark 9: hanging-transaction, from offset 7 on
"""

from collections.abc import Iterator, Sequence

from checkers.anomalies import Anomaly
from checkers.history.records.transactions import ENDED_WITHIN_NS
from checkers.history.rows import Context, Fault, NodeEvent
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import RuleResult
from checkers.reference.transactions.tally import Tally

BROKERS = ("broker", "combined")
"""The roles of processes that may coordinate."""


def hanging_transaction(tally: Tally) -> RuleResult:
    """Each partition whose last stable offset stays below the high watermark for too long.

    Undecided: a partition whose final read has no proof for another reason, ended too soon, or was of a
    cluster that was not whole.
    """
    proofs = {proof.tp: proof for proof in tally.context.proofs}
    anomalies = list(_hanging(tally.context, _over_ns(tally)))
    partitions = tally.context.partitions
    undecided = sum(tp not in proofs or not proofs[tp].complete for tp in partitions) - len(anomalies)
    return RuleResult(anomalies=anomalies, examined=len(partitions) - undecided, undecided=undecided)


def _over_ns(tally: Tally) -> int:
    """When the last transaction that was begun must have ended, whatever a fault has hindered."""
    rows = [entry.row for entry in tally.ledger.entries]
    last_ns = max((max(row.begun_ns, row.requested_ns, row.completed_ns) for row in rows), default=NONE)
    timeout_ns = max((row.timeout_ms for row in rows), default=0) * 1_000_000
    healed_ns = max((_healed_ns(fault) for fault in tally.context.faults), default=NONE)
    return max(last_ns, healed_ns) + timeout_ns + ENDED_WITHIN_NS


def _healed_ns(fault: Fault) -> int:
    return max(fault.end_ns, fault.heal_ns, fault.recovered_ns, *fault.up_ns, NONE)


def _is_whole(context: Context, at_ns: int) -> bool:
    """Whether each fault is over, and each broker runs at a time, as far as that was watched."""
    return all(fault.recovered for fault in context.faults) and _all_run(context.node_events, at_ns)


def _all_run(events: Sequence[NodeEvent], at_ns: int) -> bool:
    last: dict[int, str] = {}
    for event in sorted(events, key=lambda event: event.at_ns):
        if event.at_ns <= at_ns and event.role in BROKERS:
            last[event.node] = event.event
    return all(event == "started" for event in last.values())


def _hanging(context: Context, over_ns: int) -> Iterator[Anomaly]:
    for proof in sorted(context.proofs, key=lambda proof: proof.tp):
        stuck = not proof.complete and NONE != proof.last_stable < proof.high_watermark
        in_sync = bool(proof.replicas) and set(proof.isr) == set(proof.replicas)
        if stuck and in_sync and proof.at_ns > over_ns and _is_whole(context, proof.at_ns):
            yield Anomaly(
                property=Property.HANGING_TRANSACTION,
                topic=proof.topic,
                partition=proof.partition,
                offset=proof.last_stable,
                last_offset=proof.high_watermark - 1,
                producer=NONE,
                sequence=NONE,
                seen_ns=proof.at_ns,
                note=(
                    f"the last stable offset is {proof.last_stable}, the high watermark "
                    f"{proof.high_watermark}, {(proof.at_ns - over_ns) / 1e9:.0f} s after every transaction "
                    "must have ended"
                ),
            )
