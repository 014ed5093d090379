"""Transactions in a random healthy history: the sends of each producer in runs, and how each run ended.

Each ends with a marker in every log that has a record of it. A producer that is fenced is replaced by another
instance of its transactional id; what it had begun is aborted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from checkers.damage.editable_history import EditableHistory
from checkers.history.records.transactions import FINAL_READER
from checkers.history.rows import Fencing, LogRecord, Marker, Read, RecordId, TopicPartition, Transaction
from checkers.history.tables import NONE, Outcome

FIRST_ID = 1000
"""Kafka's producer id of producer 0."""
TIMEOUT_MS = 1000
COMMIT, ABORT = "commit", "abort"
_FATES = (
    ("committed", True, 4),
    ("aborted", False, 2),
    ("fenced", False, 3),
    ("indeterminate", True, 3),
    ("indeterminate", False, 3),
)
"""What its client is told, whether it becomes visible, and how often."""
_ENDS = 0.45
"""How likely a transaction ends with a send."""


class MarkedLog(Protocol):
    """A log that takes markers."""

    def mark(self, producer: int, kind: str, at_ns: int) -> int:
        """Append a marker that ends a transaction of a producer; when it was appended."""


@dataclass(slots=True, kw_only=True)
class OpenTransaction:
    """One that goes on: its producer, its sends so far, and what will become of it."""

    slot: int
    producer: int
    first: int
    begun_ns: int
    outcome: str
    visible: bool
    ids: list[RecordId] = field(default_factory=list)
    logs: list[MarkedLog] = field(default_factory=list)

    def outcome_of_send(self, rng: Random) -> Outcome:
        """A record is acknowledged when its transaction is."""
        if rng.random() < 1 / 20:
            return Outcome.FAIL
        return Outcome.OK if self.outcome == "committed" else Outcome.INFO

    def is_written(self, rng: Random) -> bool:
        """Whether a send of unknown outcome is in the log: of what becomes visible, each."""
        return self.visible or rng.random() < 0.5

    def add(self, record: RecordId, log: MarkedLog | None) -> None:
        """Another send, and the log that has it."""
        self.ids.append(record)
        if log is not None and all(log is not other for other in self.logs):
            self.logs.append(log)


class Transactions:
    """The transactions of all producers; `visible` are the ids of the records that become visible."""

    def __init__(self, rng: Random, history: EditableHistory) -> None:
        self._rng, self._history = rng, history
        self._open: dict[int, OpenTransaction] = {}
        self._counts: dict[int, int] = {}
        self.visible: set[RecordId] = set()

    def current(self, slot: int, producer: int, sequence: int, now_ns: int) -> OpenTransaction:
        """The transaction of a transactional id's producer; if there is none, one begins with this
        sequence."""
        if slot not in self._open:
            outcome, visible, _ = self._rng.choices(_FATES, [weight for *_, weight in _FATES])[0]
            self._open[slot] = OpenTransaction(
                slot=slot,
                producer=producer,
                first=sequence,
                begun_ns=now_ns,
                outcome=outcome,
                visible=visible,
            )
        return self._open[slot]

    def ends(self) -> bool:
        """Whether one ends now."""
        return self._rng.random() < _ENDS

    def end(self, its: OpenTransaction, now_ns: int, *, successor: int) -> int:
        """End it; when its last marker was there. `successor` takes over from a producer that is fenced."""
        del self._open[its.slot]
        if its.visible:
            self.visible.update(its.ids)
        marked = [log.mark(its.producer, COMMIT if its.visible else ABORT, now_ns) for log in its.logs]
        if its.outcome == "fenced":
            self._history.fencings.append(
                Fencing(
                    transactional_id=_id_of(its.slot),
                    producer=its.producer,
                    by=successor,
                    begun_ns=now_ns,
                    done_ns=now_ns + 1,
                    at_ns=now_ns + 3,
                    error="_FENCED",
                )
            )
        self._history.transactions.append(self._row(its, now_ns))
        return max([now_ns + 3, *marked])

    def end_all(self, now_ns: int, *, successor: int) -> int:
        """End all that are open, each producer that is fenced with a successor of its own."""
        for number, its in enumerate(list(self._open.values())):
            now_ns = self.end(its, now_ns + 1, successor=successor + number)
        return now_ns

    def _row(self, its: OpenTransaction, now_ns: int) -> Transaction:
        number = self._counts.get(its.producer, 0)
        self._counts[its.producer] = number + 1
        request = {"aborted": ABORT}.get(its.outcome, COMMIT)
        if its.outcome in ("aborted", "fenced") and self._rng.random() < 0.2:
            request = ""
        outcome = "open" if its.outcome == "aborted" and not request else its.outcome
        return Transaction(
            producer=its.producer,
            number=number,
            first_sequence=its.first,
            last_sequence=its.ids[-1].sequence,
            transactional_id=_id_of(its.slot),
            producer_id=FIRST_ID + its.producer if self._rng.random() < 0.9 else NONE,
            timeout_ms=TIMEOUT_MS,
            begun_ns=its.begun_ns,
            requested_ns=now_ns + 2 if request else NONE,
            completed_ns=now_ns + 3 if outcome != "open" else NONE,
            request=request,
            outcome=outcome,
            error="_FENCED" if outcome == "fenced" else "",
        )


def _id_of(slot: int) -> str:
    return f"payments-{slot}"


def add_committed_reads(
    rng: Random, history: EditableHistory, records: Sequence[LogRecord], *, is_read: bool
) -> None:
    """What read_committed readers are given of one partition: `records`, in the order of its log.

    The fresh one all of them if `is_read`; another one some of the first.
    """
    begun = records[: rng.randint(0, len(records))]
    for reader, given in ((FINAL_READER, records if is_read else ()), (1, begun)):
        history.transaction_reads += [
            Read(
                topic=record.topic,
                partition=record.partition,
                producer=record.producer,
                sequence=record.sequence,
                checksum=record.checksum,
                reader=reader,
                generation=reader,
                offset=record.offset,
                leader_epoch=record.leader_epoch,
                read_ns=record.timestamp_ms * 1_000_000,
            )
            for record in given
        ]


def add_markers(
    history: EditableHistory, markers: Mapping[TopicPartition, Mapping[int, tuple[int, str]]]
) -> None:
    """The table of markers, of what the replicas hold; `markers` are (producer, kind) by offset."""
    for tp, by_offset in markers.items():
        for offset, (producer, kind) in by_offset.items():
            held = [
                batch
                for batch in history.replica_batches
                if batch.tp == tp and batch.base_offset == offset and batch.crc_ok
            ]
            if held:
                history.markers.append(
                    Marker(
                        topic=tp.topic,
                        partition=tp.partition,
                        offset=offset,
                        leader_epoch=held[0].leader_epoch,
                        producer_id=FIRST_ID + producer,
                        producer_epoch=held[0].producer_epoch,
                        kind=kind,
                        brokers=tuple(sorted(batch.broker for batch in held)),
                    )
                )
