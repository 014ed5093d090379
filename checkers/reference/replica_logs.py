"""What each replica's disk held after the clean stop, as the rules of replicas ask for it.

Invariant: a rule gets a replica only if all of it could be read; what a crash may have torn is left out.
Evidence: the record batches and checkpoints of every broker, copied after the brokers were stopped.
Counterexample to "every byte counts":
    broker 2 did not stop cleanly, and its last batch, of offsets 8 to 9, has a wrong CRC
    Kafka truncates such a tail when it starts again, and fetches it: no rule gets that batch
    on a broker that stopped cleanly the same batch is a violation of crc

*Judged* is a replica of a decided partition whose topic is not compacted, if its audit is complete. The order
of its batches is that of its files: by segment and position.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from checkers.history.rows import ConfigChange, ProducerState, Replica, ReplicaBatch, TopicPartition
from checkers.history.tables import NONE

_CONTROL = 1 << 5
Key = tuple[int, int, int, int, int, int]
Difference = tuple[int, ReplicaBatch | None, ReplicaBatch | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Offsets [first, last] of one replica that break a rule. Of several from `first` on, the least `kind`
    tells what happened."""

    first: int
    last: int
    kind: int
    note: str


def last_of(batch: ReplicaBatch) -> int:
    """The last offset of a batch; its first where the header claims less."""
    return batch.base_offset + max(0, batch.last_offset_delta)


def is_control(batch: ReplicaBatch) -> bool:
    """Whether it holds a transaction marker and no record of a producer."""
    return bool(batch.attributes & _CONTROL)


def key_of(batch: ReplicaBatch) -> Key:
    """What must be equal on two replicas that hold a batch at one base offset: followers append what they
    fetch, byte for byte."""
    return (
        batch.last_offset_delta,
        batch.leader_epoch,
        batch.crc,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
    )


class ReplicaLog:
    """One judged replica: its row, its batches in log order without a torn tail, its producer snapshot."""

    def __init__(
        self, replica: Replica, batches: Iterable[ReplicaBatch], states: Sequence[ProducerState]
    ) -> None:
        self.replica = replica
        self.broker = replica.broker
        self.states = states
        self.batches = sorted(batches, key=lambda batch: (batch.segment, batch.position))
        while not replica.clean and self.batches and not self.batches[-1].crc_ok:
            self.batches.pop()

    @cached_property
    def rising(self) -> dict[int, ReplicaBatch]:
        """By base offset: the batches that lie above all before them."""
        out = {id(batch) for batch in self.out_of_place}
        return {batch.base_offset: batch for batch in self.batches if id(batch) not in out}

    @cached_property
    def out_of_place(self) -> list[ReplicaBatch]:
        """The batches that begin at or below an offset of a batch before them."""
        found, end = [], NONE
        for batch in self.batches:
            if batch.base_offset <= end:
                found.append(batch)
            end = max(end, last_of(batch))
        return found

    @property
    def start(self) -> int:
        """The first offset of its batches; -1 without any."""
        return min(self.rising, default=NONE)

    @property
    def end(self) -> int:
        """The offset after the last one that a batch of it holds; 0 without any."""
        return max((last_of(batch) + 1 for batch in self.batches), default=0)

    def limit(self, high_watermark: int) -> int:
        """The offset from which on nothing is decided about it: the high watermark, or where its log ends if
        a crash may have cut it there."""
        return high_watermark if self.replica.clean else min(high_watermark, self.end)

    def differences(self, other: "ReplicaLog") -> Iterator[Difference]:
        """Each base offset, from where both logs have begun, at which they do not hold the same batch: it,
        what this one holds, what the other does."""
        begin = max(self.start, other.start)
        if NONE in (self.start, other.start):
            return
        for base in sorted(self.rising.keys() | other.rising.keys()):
            mine, theirs = self.rising.get(base), other.rising.get(base)
            if base >= begin and not (mine and theirs and key_of(mine) == key_of(theirs)):
                yield base, mine, theirs


def reach(difference: Difference) -> int:
    """The last offset of either batch."""
    return max(last_of(batch) for batch in difference[1:] if batch)


def compacted_topics(configs: Iterable[ConfigChange]) -> set[str]:
    """The topics that were compacted at any time; "" stands for all, by a broker's or the cluster's default."""
    return {
        change.name if change.kind == "topic" else ""
        for change in configs
        if change.key in ("cleanup.policy", "log.cleanup.policy") and "compact" in change.value
    }


def judged_logs(
    replicas: Iterable[Replica],
    batches: Iterable[ReplicaBatch],
    states: Iterable[ProducerState],
    configs: Iterable[ConfigChange],
    decided: Iterable[TopicPartition],
) -> dict[TopicPartition, list[ReplicaLog]]:
    """The judged replicas of each decided partition, by broker."""
    its_batches: dict[tuple[TopicPartition, int], list[ReplicaBatch]] = defaultdict(list)
    its_states: dict[tuple[TopicPartition, int], list[ProducerState]] = defaultdict(list)
    for batch in batches:
        its_batches[batch.tp, batch.broker].append(batch)
    for state in states:
        its_states[state.tp, state.broker].append(state)
    compacted = compacted_topics(configs)
    logs: dict[TopicPartition, list[ReplicaLog]] = {
        tp: [] for tp in sorted(decided) if not {tp.topic, ""} & compacted
    }
    for replica in sorted(replicas, key=lambda row: row.broker):
        place = replica.tp, replica.broker
        if replica.complete and replica.tp in logs:
            logs[replica.tp].append(ReplicaLog(replica, its_batches[place], its_states[place]))
    return logs


def runs(flaws: Iterable[Flaw]) -> Iterator[Flaw]:
    """Flaws whose offsets touch or overlap are one: it has the kind and the note of the first of them."""
    run: Flaw | None = None
    for flaw in sorted(flaws, key=lambda each: (each.first, each.kind, each.last)):
        if run and flaw.first <= run.last + 1:
            run = Flaw(first=run.first, last=max(run.last, flaw.last), kind=run.kind, note=run.note)
            continue
        if run:
            yield run
        run = flaw
    if run:
        yield run
