"""One replica's own log: intact bytes, epochs that never fall, sequences as a leader accepts them.

Invariant: the CRC of each batch is that of its bytes; along a log leader epochs do not fall; the batches of a
producer id continue its sequence within a producer epoch, and begin at 0 under a new one.
Evidence: the batches of each judged replica in the order of its files.
Counterexample:
    the batches of producer id 7, epoch 0, have the base sequences 0 (with 3 records) and 4
    sequence 3 was next: sequence-dense, at the second batch

Sequences go by what a leader checks before it appends (Kafka: ProducerAppendInfo.checkSequence): a producer
id that the log does not know may begin anywhere, for its first batches may have been deleted, or truncated
with all its state; after 2^31 - 1 comes 0; a transaction's marker may raise the producer epoch, and has no
sequence. Base sequence -1 is a batch of no idempotent producer.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType

from checkers.anomalies import Anomaly
from checkers.history.rows import ReplicaBatch
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule
from checkers.reference.replicas.logs import Flaw, ReplicaLog, after, is_control, judged_logs, last_of, runs


def crc(facts: Facts) -> Iterator[Anomaly]:
    """Each run of batches whose CRC is not that of their bytes. Subset: whole."""
    return _each(facts, Property.CRC, _damaged)


def epoch_monotone(facts: Facts) -> Iterator[Anomaly]:
    """Each batch whose leader epoch is below that of the batch before it. Subset: whole."""
    return _each(facts, Property.EPOCH_MONOTONE, _falls)


def sequence_dense(facts: Facts) -> Iterator[Anomaly]:
    """Each batch that a leader would have refused for its sequence or producer epoch. Subset: whole."""
    return _each(facts, Property.SEQUENCE_DENSE, _out_of_sequence)


def _each(facts: Facts, wanted: Property, flaws: Callable[[ReplicaLog], Iterator[Flaw]]) -> Iterator[Anomaly]:
    for logs in facts.once(judged_logs).values():
        for log in logs:
            yield from runs(wanted, log.replica, flaws(log))


def _damaged(log: ReplicaLog) -> Iterator[Flaw]:
    for batch in log.batches:
        if not batch.crc_ok:
            yield _flaw(
                batch,
                f"broker {log.broker}: the CRC of the batch at position {batch.position} of segment "
                f"{batch.segment} is not that of its bytes",
            )


def _falls(log: ReplicaLog) -> Iterator[Flaw]:
    for before, batch in pairwise(log.batches):
        if batch.leader_epoch < before.leader_epoch:
            yield _flaw(
                batch,
                f"broker {log.broker}: leader epoch {batch.leader_epoch} lies behind epoch "
                f"{before.leader_epoch}",
            )


def _out_of_sequence(log: ReplicaLog) -> Iterator[Flaw]:
    states: dict[int, tuple[int, int | None]] = {}
    for batch in log.batches:
        if batch.producer_id < 0 or (batch.base_sequence < 0 and not is_control(batch)):
            continue
        named = f"broker {log.broker}: producer id {batch.producer_id}, epoch {batch.producer_epoch}"
        epoch, following = states.get(batch.producer_id, (batch.producer_epoch, None))
        if batch.producer_epoch != epoch:
            following = 0
        if batch.producer_epoch < epoch:
            yield _flaw(batch, f"{named}, writes behind epoch {epoch}")
        elif not is_control(batch) and following not in (None, batch.base_sequence):
            yield _flaw(batch, f"{named}, goes on with sequence {batch.base_sequence}; {following} was next")
        if not is_control(batch):
            following = after(batch)
        states[batch.producer_id] = (batch.producer_epoch, following)


def _flaw(batch: ReplicaBatch, note: str) -> Flaw:
    return Flaw(batch.base_offset, last_of(batch), 0, note)


RULES: Mapping[Property, Rule] = MappingProxyType(
    {
        Property.CRC: crc,
        Property.EPOCH_MONOTONE: epoch_monotone,
        Property.SEQUENCE_DENSE: sequence_dense,
    }
)
