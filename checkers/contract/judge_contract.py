"""What the configuration promised, and so whether each anomaly is a violation, permitted, or undecided, and
why.

The promise, from what was realised:
    acks=0        nothing to the producer
    acks=1        kept once it is replicated
    acks=all      kept, and so is everything below the high watermark, whoever wrote it,
                  unless the record's fate is one that checkers/contract/clauses.py permits
    idempotence   once and in order; without it, a retry may double and reorder
What follows from a permitted truncation (a reader was given the record) is permitted only with it.

Invariant: each anomaly gets one label, and "permitted" only where a cause that the contract permits is shown.
Evidence: the fate of each lost record (losses.py), what follows from it and what retries do (effects.py), and
whether a transaction's marker may be lost (transactions.py).
Counterexample to "permitted because there was a fault":
    acks=all, min.insync.replicas=2; broker 1 is killed; broker 2 is elected from the in-sync replicas
    an acknowledged record is gone: a violation, for broker 2 was in sync and had not shut down
"""

from checkers.anomalies import Anomalies
from checkers.contract.effects import Effects
from checkers.contract.label import Labels
from checkers.contract.losses import LOSSES, LossLabels
from checkers.contract.realised.settings import Realised
from checkers.contract.transactions import OF_TRANSACTIONS, TransactionLabels
from checkers.properties import Property


def judge_contract(anomalies: Anomalies, realised: Realised) -> Labels:
    """One label for each anomaly, in their order. Give it all of them: some are effects of others."""
    blocks = anomalies.blocks
    of_losses = LossLabels(blocks, realised)
    losses = {at: of_losses.of_block(block) for at, block in enumerate(blocks) if block.property in LOSSES}
    effects = Effects(
        [(blocks[at], labels) for at, labels in losses.items()],
        [block for block in blocks if block.property is Property.DUPLICATE],
        realised,
    )
    of_transactions = TransactionLabels(blocks, realised)
    return Labels.joined(
        of_transactions.of_block(block)
        if block.property in OF_TRANSACTIONS
        else losses.get(at) or effects.of_block(block)
        for at, block in enumerate(blocks)
    )
