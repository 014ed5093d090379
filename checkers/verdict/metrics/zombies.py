"""How long a deposed leader answered as leader after its successor had answered too, and what it did then.

Invariant: time counts only between two answers that were given: the first of a later epoch by another broker,
and the last question that the deposed leader answered as leader. What it appended or committed counts only
between two measurements of its log within that time.
Evidence: the samples of watermarks and of log ends: each broker is asked by itself, and answers for the
partitions it leads, under the epoch that it knows.
Counterexample to "samples of two leaders are two leaders at once":
    broker 1 answers as leader of epoch 4 at 9.9 s; broker 2 is elected, and answers for epoch 5 at 10.2 s
    broker 1 was dead by then: no sample shows it as a leader after 10.2 s
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from checkers.history.columnar import Array, columns_of
from checkers.history.rows import ReplicaOffset, TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.verdict.exposure.gaps import Times
from checkers.verdict.metrics.metric import Measured, in_seconds

OF_SAMPLES = ("topic", "partition", "leader", "leader_epoch", "at_ns", "asked_ns")
OF_LOG_ENDS = ("topic", "partition", "broker", "leader_epoch", "at_ns", "asked_ns", "log_end", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Zombie:
    """A deposed leader that answered under its old epoch from `since_ns`, when its successor had answered,
    until `until_ns`."""

    tp: TopicPartition
    leader: int
    leader_epoch: int
    since_ns: int
    until_ns: int


@dataclass(frozen=True, kw_only=True)
class Zombies:
    """All of a run. Takes the memory of some columns of the samples."""

    watermarks: Sequence[Watermark]
    log_ends: Sequence[ReplicaOffset]

    def longest(self) -> Measured:
        """In seconds, with the partition; unknown without a sample."""
        if not self._led.any():
            return Measured(value=None, unknown=NOT_SAMPLED)
        if not self._found:
            return Measured(value=0.0)
        longest = max(self._found, key=lambda each: each.until_ns - each.since_ns)
        return Measured(value=in_seconds(longest.until_ns - longest.since_ns), where=str(longest.tp))

    def appended(self) -> Measured:
        """Offsets that one appended; unknown without a log end."""
        if not len(self.log_ends):
            return Measured(value=None, unknown="no log end of a replica was sampled")
        columns = columns_of(self.log_ends, OF_LOG_ENDS)
        live = {name: column[columns["source"] == "live"] for name, column in columns.items()}
        return self._most(live, broker="broker", value="log_end")

    def committed(self) -> Measured:
        """Offsets by which one moved its high watermark; unknown without a sample."""
        columns = columns_of(self.watermarks, (*OF_SAMPLES, "high_watermark"))
        known = {name: column[self._led] for name, column in columns.items()}
        return self._most(known, broker="leader", value="high_watermark")

    def _most(self, columns: Mapping[str, Array], *, broker: str, value: str) -> Measured:
        """The most by which a value of one rose; `broker` and `value` are names of columns."""
        if not self._led.any():
            return Measured(value=None, unknown=NOT_SAMPLED)
        rose = {each: _rise(columns, each, broker, value) for each in self._found}
        most = max(rose, key=lambda each: rose[each], default=None)
        if most is None or not rose[most]:
            return Measured(value=0.0)
        return Measured(value=float(rose[most]), where=str(most.tp))

    @cached_property
    def _led(self) -> Array:
        """Which samples are of a leader that said its epoch, shape (samples,)."""
        columns = columns_of(self.watermarks, ("leader", "leader_epoch"))
        led: Array = (columns["leader"] != NONE) & (columns["leader_epoch"] != NONE)
        return led

    @cached_property
    def _found(self) -> Sequence[Zombie]:
        """Each claim to lead that was made beside the next one of another broker."""
        columns, led = columns_of(self.watermarks, OF_SAMPLES), self._led
        if not led.any():
            return ()
        known: dict[str, int] = {}
        topics = [known.setdefault(topic, len(known)) for topic in columns["topic"][led].tolist()]
        names = list(known)
        keys = [
            np.array(topics),
            *(columns[name][led].astype(np.int64) for name in ("partition", "leader_epoch", "leader")),
        ]
        at_ns, asked_ns = columns["at_ns"][led], begun_ns(columns)[led]
        order = np.lexsort(keys[::-1])
        keys = [key[order] for key in keys]
        begins = np.flatnonzero(np.append(True, np.any([key[1:] != key[:-1] for key in keys], axis=0)))
        first_ns = np.minimum.reduceat(at_ns[order], begins)
        last_ns = np.maximum.reduceat(asked_ns[order], begins)
        claims = np.stack([key[begins] for key in keys])
        return [
            Zombie(
                tp=TopicPartition(names[claims[0, at]], int(claims[1, at])),
                leader=int(claims[3, at]),
                leader_epoch=int(claims[2, at]),
                since_ns=int(first_ns[successor]),
                until_ns=int(last_ns[at]),
            )
            for at, successor in deposed(claims)
            if last_ns[at] > first_ns[successor]
        ]


NOT_SAMPLED = "no broker was sampled as a leader"


def begun_ns(columns: Mapping[str, Array]) -> Times:
    """Since when each was measured; its answer's time, where that of the question is not known."""
    at_ns, asked_ns = columns["at_ns"], columns["asked_ns"]
    return np.where(asked_ns == NONE, at_ns, asked_ns)


def deposed(claims: Times) -> Sequence[tuple[int, int]]:
    """Places of the claims with a later epoch of another broker, and of the first such one. `claims`, shape
    (4, n), are topic, partition, epoch and leader of each claim, in that order."""
    found: list[tuple[int, int]] = []
    successor = NONE
    for at in range(claims.shape[1] - 2, -1, -1):
        if (claims[:2, at] != claims[:2, at + 1]).any():
            successor = NONE
        elif claims[3, at] != claims[3, at + 1]:
            successor = at + 1
        if successor != NONE:
            found.append((at, successor))
    return found


def _rise(columns: Mapping[str, Array], zombie: Zombie, broker: str, value: str) -> int:
    """By how much a value of the zombie rose from its first measurement beside its successor to its last."""
    its = (
        (columns["topic"] == zombie.tp.topic)
        & (columns["partition"] == zombie.tp.partition)
        & (columns[broker] == zombie.leader)
        & (columns["leader_epoch"] == zombie.leader_epoch)
        & (begun_ns(columns) >= zombie.since_ns)
        & (columns[value] != NONE)
    )
    values = columns[value][its]
    return int(values.max() - values.min()) if len(values) else 0
