"""How long a deposed leader went on to answer as leader, after its successor had answered too.

Invariant: time counts only between two answers that were given: the first of a later epoch by another broker,
and the last question that the deposed leader answered as leader.
Evidence: the watermark samples: each broker is asked by itself, and answers for the partitions it leads.
Counterexample to "samples of two leaders are two leaders at once":
    broker 1 answers as leader of epoch 4 at 9.9 s; broker 2 is elected, and answers for epoch 5 at 10.2 s
    broker 1 was dead by then: no sample shows it as a leader after 10.2 s
"""

from collections.abc import Sequence

import numpy as np

from checkers.history.columnar import columns_of
from checkers.history.rows import TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.verdict.gaps import Times
from checkers.verdict.metrics.metric import Measured, in_seconds

NAMES = ("topic", "partition", "leader", "leader_epoch", "at_ns", "asked_ns")


def longest_zombie(samples: Sequence[Watermark]) -> Measured:
    """In seconds, with the partition; unknown without a sample. Takes the memory of some columns of them."""
    columns = columns_of(samples, NAMES)
    led = (columns["leader"] != NONE) & (columns["leader_epoch"] != NONE)
    if not led.any():
        return Measured(value=None, unknown="no broker was sampled as a leader")
    known: dict[str, int] = {}
    topics = [known.setdefault(topic, len(known)) for topic in columns["topic"][led].tolist()]
    keys = [
        np.array(topics),
        *(columns[name][led].astype(np.int64) for name in ("partition", "leader_epoch", "leader")),
    ]
    at_ns, asked_ns = columns["at_ns"][led], columns["asked_ns"][led]
    asked_ns = np.where(asked_ns == NONE, at_ns, asked_ns)
    order = np.lexsort(keys[::-1])
    keys = [key[order] for key in keys]
    begins = np.flatnonzero(np.append(True, np.any([key[1:] != key[:-1] for key in keys], axis=0)))
    first_ns = np.minimum.reduceat(at_ns[order], begins)
    last_ns = np.maximum.reduceat(asked_ns[order], begins)
    longest_ns, at = _longest(np.stack([key[begins] for key in keys]), first_ns, last_ns)
    if not longest_ns:
        return Measured(value=0.0)
    sample = samples[int(np.flatnonzero(led)[order[begins[at]]])]
    return Measured(value=in_seconds(longest_ns), where=str(TopicPartition(sample.topic, sample.partition)))


def _longest(claims: Times, first_ns: Times, last_ns: Times) -> tuple[int, int]:
    """The longest overlap of a claim with the next one by another broker, and its place. `claims`, shape
    (4, n), are topic, partition, epoch and leader of each claim, in that order."""
    longest, place, successor = 0, 0, NONE
    for at in range(claims.shape[1] - 2, -1, -1):
        if (claims[:2, at] != claims[:2, at + 1]).any():
            successor = NONE
        elif claims[3, at] != claims[3, at + 1]:
            successor = at + 1
        if successor != NONE and last_ns[at] - first_ns[successor] > longest:
            longest, place = int(last_ns[at] - first_ns[successor]), at
    return longest, place
