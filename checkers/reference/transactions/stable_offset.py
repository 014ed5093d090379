"""The last stable offset: no transaction keeps readers of committed records waiting for ever.

Invariant: a transaction that its client does not end is aborted by its coordinator once its time-out is over;
then the last stable offset comes to the high watermark.
Evidence: the final read waits for that, in sync and in health, for longer than any transaction may be open.
Counterexample to "the partition was not read to a proven end, so nothing is decided of it":
    the last transaction began at 20 s, with a time-out of 10 s; from 31 s on all is healed and in sync
    at 110 s the last stable offset is still 7, the high watermark 9: hanging-transaction, from offset 7 on
"""

from collections.abc import Iterable, Iterator

from checkers.anomalies import Anomaly
from checkers.history.rows import Proof
from checkers.history.tables import NONE
from checkers.history.transactions import ENDED_WITHIN_NS
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import RuleResult
from checkers.reference.transactions.tally import Tally


def hanging_transaction(tally: Tally) -> RuleResult:
    """Each partition whose last stable offset stays below the high watermark for too long.

    Undecided: a partition whose final read has no proof for another reason, or ended too soon.
    """
    over_ns = _over_ns(tally)
    proofs = {proof.tp: proof for proof in tally.context.proofs}
    anomalies = list(_hanging(proofs.values(), over_ns))
    partitions = tally.context.partitions
    undecided = sum(tp not in proofs or not proofs[tp].complete for tp in partitions) - len(anomalies)
    return RuleResult(anomalies=anomalies, examined=len(partitions) - undecided, undecided=undecided)


def _over_ns(tally: Tally) -> int:
    """When the last transaction that was begun must have ended."""
    rows = [entry.row for entry in tally.ledger.entries]
    last_ns = max((max(row.begun_ns, row.requested_ns, row.completed_ns) for row in rows), default=NONE)
    timeout_ns = max((row.timeout_ms for row in rows), default=0) * 1_000_000
    return last_ns + timeout_ns + ENDED_WITHIN_NS


def _hanging(proofs: Iterable[Proof], over_ns: int) -> Iterator[Anomaly]:
    for proof in sorted(proofs, key=lambda proof: proof.tp):
        stuck = not proof.complete and NONE != proof.last_stable < proof.high_watermark
        in_sync = bool(proof.replicas) and set(proof.isr) == set(proof.replicas)
        if stuck and in_sync and proof.at_ns > over_ns:
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
