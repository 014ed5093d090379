"""The rows of a history indexed as the rules ask for them, with undecided partitions already left out.

Invariant: no rule gets a log record or a read of a partition whose final read is not proven complete.
Evidence: `Proof.complete`. The sends of undecided partitions stay known, as they explain stray records.
Counterexample:
    send 1/7 → ok at orders-0, whose final read timed out;  the final log of orders-1 holds 1/7 at offset 0
    without the send of orders-0 in sight, 1/7 would be "nobody sent it"; it was sent to orders-0: phantom
    that orders-0 lacks 1/7 is no acked-loss: orders-0 is undecided
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from checkers.anomalies import Anomaly
from checkers.history.records.markers import EVERY_HOLE, EmptyOffsets
from checkers.history.records.transactions import FINAL_READER
from checkers.history.rows import (
    NO_ID,
    ConfigChange,
    LogRecord,
    Producer,
    ProducerState,
    Proof,
    Read,
    RecordId,
    Replica,
    ReplicaBatch,
    Send,
    TopicPartition,
    Watermark,
)
from checkers.history.tables import NONE
from checkers.properties import Property

Found = TypeVar("Found")
NO_TRANSACTIONS: Mapping[TopicPartition, EmptyOffsets] = MappingProxyType({})


class Facts:
    """What the rules are given. Only rows of decided partitions count, but `send_of` knows the sends of all.

    A partition is decided iff it has a complete proof. Nothing is reported from the others.
    """

    def __init__(
        self,
        *,
        sends: Iterable[Send] = (),
        final_log: Iterable[LogRecord] = (),
        reads: Iterable[Read] = (),
        committed_reads: Iterable[Read] = (),
        watermarks: Iterable[Watermark] = (),
        proofs: Iterable[Proof] = (),
        replicas: Sequence[Replica] = (),
        replica_batches: Sequence[ReplicaBatch] = (),
        producer_states: Sequence[ProducerState] = (),
        configs: Sequence[ConfigChange] = (),
        producers: Iterable[Producer] = (),
        empty: Mapping[TopicPartition, EmptyOffsets] = NO_TRANSACTIONS,
    ) -> None:
        """`empty`: what empty offsets mean, and `committed_reads`: what read_committed readers were given, of
        a history with transactions."""
        self._empty = empty
        self.replicas, self.replica_batches = replicas, replica_batches
        self.producer_states, self.configs = producer_states, configs
        self.unanswered = unanswered(producers)
        self.proof: dict[TopicPartition, Proof] = {proof.tp: proof for proof in proofs if proof.complete}
        self.send_of: dict[RecordId, Send] = {send.id: send for send in sends}
        self.sends = [send for send in self.send_of.values() if send.tp in self.proof]
        self.log = sorted(
            (record for record in final_log if record.tp in self.proof), key=lambda r: (r.tp, r.offset)
        )
        self.reads = [read for read in reads if read.tp in self.proof]
        committed = [read for read in committed_reads if read.tp in self.proof]
        self.committed_reads = [read for read in committed if read.reader != FINAL_READER]
        self.committed_at_last = [read for read in committed if read.reader == FINAL_READER]
        self.at: dict[tuple[TopicPartition, int], LogRecord] = {(r.tp, r.offset): r for r in self.log}
        self.watermarks: dict[TopicPartition, list[Watermark]] = defaultdict(list)
        for sample in watermarks:
            self.watermarks[sample.tp].append(sample)
        self._copies: dict[RecordId, list[LogRecord]] = defaultdict(list)
        for record in self.log:
            self._copies[record.id].append(record)
        self._known: dict[Callable[[Facts], Any], Any] = {}

    def once(self, of: "Callable[[Facts], Found]") -> "Found":
        """What a function finds in these facts, found once: several rules start from the same."""
        if of not in self._known:
            self._known[of] = of(self)
        found: Found = self._known[of]
        return found

    def copies(self, wanted: RecordId) -> Sequence[LogRecord]:
        """The log records with this id in all decided partitions, in (topic, partition, offset) order."""
        return () if wanted == NO_ID else self._copies.get(wanted, ())

    def copies_at_home(self, send: Send) -> list[LogRecord]:
        """The log records of a send in the partition it was sent to."""
        home = send.tp
        return [copy for copy in self.copies(send.id) if copy.tp == home]

    def ids(self) -> Iterator[RecordId]:
        """Every id in the log, once."""
        return (each for each in self._copies if each != NO_ID)

    def given(self) -> Iterator[tuple[str, Read]]:
        """What every reader that tails the log was given, and what such a reader is called."""
        yield from (("reader", read) for read in self.reads)
        yield from (("read_committed reader", read) for read in self.committed_reads)

    def undecided(self, tp: TopicPartition, offset: int) -> bool:
        """Whether the offset of a decided partition is in [high watermark, log end), where no reader gets."""
        proof = self.proof[tp]
        return proof.high_watermark <= offset < proof.log_end

    def empty_offsets(self, tp: TopicPartition) -> EmptyOffsets:
        """What an empty offset of a partition means."""
        return self._empty.get(tp, EVERY_HOLE)

    def is_hole(self, tp: TopicPartition, offset: int) -> bool:
        """Whether the final log has no record at an offset, and no transaction's marker explains that."""
        return (tp, offset) not in self.at and self.empty_offsets(tp).is_hole(offset)

    def acked(self) -> Sequence[Send]:
        """The ok sends of decided partitions whose offset is not in [high watermark, log end)."""
        return self.once(_acked)

    def now_at(self, tp: TopicPartition, offset: int) -> str:
        """Half a sentence: what the final log holds at an offset."""
        if offset == NONE:
            return "no offset was reported"
        if offset < self.proof[tp].log_start:
            return f"the log now starts at offset {self.proof[tp].log_start}"
        record = self.at.get((tp, offset))
        return f"offset {offset} now holds {record.id}" if record else f"nothing is at offset {offset} now"


def _acked(facts: Facts) -> list[Send]:
    return [send for send in facts.sends if send.acked and not facts.undecided(send.tp, send.offset)]


def unanswered(producers: Iterable[Producer]) -> frozenset[int]:
    """The producers with acks=0: what completes them is that a request left their client, and no broker's
    answer."""
    return frozenset(each.producer for each in producers if each.acks == "0")


Rule = Callable[[Facts], Iterator[Anomaly]]
"""What decides one property."""


def of_send(wanted: Property, send: Send, note: str) -> Anomaly:
    """An anomaly of a send, placed at its acknowledged offset in its home partition."""
    return Anomaly(
        property=wanted,
        topic=send.topic,
        partition=send.partition,
        offset=send.offset,
        producer=send.producer,
        sequence=send.sequence,
        invoked_ns=send.invoked_ns,
        completed_ns=send.completed_ns,
        acked_offset=send.offset,
        note=note,
    )


def of_record(wanted: Property, record: LogRecord, send: Send | None, note: str) -> Anomaly:
    """An anomaly of a log record, placed where it lies; `send` is the send of its id, if there was one."""
    return Anomaly(
        property=wanted,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        producer=record.producer,
        sequence=record.sequence,
        invoked_ns=send.invoked_ns if send else NONE,
        completed_ns=send.completed_ns if send else NONE,
        acked_offset=send.offset if send else NONE,
        note=note,
    )


def holes(wanted: Property, tp: TopicPartition, offsets: Iterable[int], words: str) -> Iterator[Anomaly]:
    """One anomaly for each run of consecutive offsets that hold nothing; `offsets` ascend.

    `words` is the note, with `{nothing}` for "nothing is at offset 5", or "... at offsets 5 to 9".
    """
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and offset == runs[-1][1] + 1:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset])
    for first, last in runs:
        where = f"offset {first}" if first == last else f"offsets {first} to {last}"
        yield Anomaly(
            property=wanted,
            topic=tp.topic,
            partition=tp.partition,
            offset=first,
            last_offset=last,
            producer=NONE,
            sequence=NONE,
            note=words.format(nothing=f"nothing is at {where}"),
        )
