"""The rows of a history in memory: one dataclass for each table of `tables`, fields named alike.

`Context` holds the small tables (some thousand rows in any run), which the contract and the explanations
need; `History` adds the bulk ones, and is what the reference implementation reads. The Spark implementation
never builds one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from checkers.history.tables import NONE, Outcome


class TopicPartition(NamedTuple):
    """A Kafka partition; `str()` is Kafka's own way to write it, and the stem of its files."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class RecordId(NamedTuple):
    """Which send a record is: unique in a run. `NO_ID` is a record whose value carries none."""

    producer: int
    sequence: int

    def __str__(self) -> str:
        return "a record without id" if self == NO_ID else f"record {self.producer}/{self.sequence}"


NO_ID = RecordId(NONE, NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    topic: str
    partition: int

    @property
    def tp(self) -> TopicPartition:
        """The partition this row is about."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Identified(_Placed):
    producer: int
    sequence: int
    checksum: int

    @property
    def id(self) -> RecordId:
        """Which send this is, or is a copy of."""
        return RecordId(self.producer, self.sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Send(_Identified):
    """One attempt to send. `topic, partition` are its *home*: where it was sent to."""

    invoked_ns: int
    completed_ns: int
    outcome: Outcome
    offset: int
    error: str = ""

    @property
    def acked(self) -> bool:
        """Whether it was reported as written, with or without an offset."""
        return self.outcome is Outcome.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord(_Identified):
    """One record of the final log, as the final read got it."""

    offset: int
    leader_epoch: int = NONE
    timestamp_ms: int = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Read(_Identified):
    """One record delivered to a tailing reader; `generation` rises at each assignment or seek."""

    reader: int
    generation: int
    offset: int
    leader_epoch: int = NONE
    read_ns: int = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark(_Placed):
    """One sample of a partition's offsets; each is -1 where the broker did not report it."""

    at_ns: int
    leader: int = NONE
    leader_epoch: int = NONE
    isr: tuple[int, ...] = ()
    log_start: int = NONE
    high_watermark: int = NONE
    last_stable: int = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof(_Placed):
    """How the final read of a partition ended; only `complete` ones decide anything.

    The final log holds [log_start, high_watermark); [high_watermark, log_end) is on disk but was not read.
    """

    log_start: int
    high_watermark: int
    log_end: int
    complete: bool
    at_ns: int = NONE
    last_stable: int = NONE
    read_to: int = NONE
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One injected fault, what proved it, and what proved that it is gone.

    `down` are the nodes whose process it ended; `down_ns` and `up_ns`, parallel to it, are when each had
    ended and when it was started again (-1: not known, or never). `unclean` and `data_lost` are among them.
    """

    index: int
    name: str
    kind: str
    target: str = ""
    nodes: tuple[int, ...] = ()
    edges: tuple[str, ...] = ()
    inject_ns: int
    effect_ns: int = NONE
    heal_ns: int = NONE
    recovered_ns: int = NONE
    proven: bool = True
    recovered: bool = True
    down: tuple[int, ...] = ()
    down_ns: tuple[int, ...] = ()
    up_ns: tuple[int, ...] = ()
    data_lost: tuple[int, ...] = ()
    unclean: tuple[int, ...] = ()
    evidence: str = ""

    def described(self, hit: str) -> str:
        """The fault in a sentence: its name if it has one of its own, its kind, and what it hit."""
        what = f"{self.kind} of {hit}" if hit else self.kind
        return what if self.name == self.kind else f"{self.name} ({what})"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataChange(_Placed):
    """A partition's state after one record of the KRaft metadata log. `leader` is -1 while there is none.

    `at_ms` is the controller's wall clock.
    """

    at_ms: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The small tables of a history, and which partitions there were."""

    partitions: tuple[TopicPartition, ...] = ()
    watermarks: Sequence[Watermark] = field(default=())
    proofs: Sequence[Proof] = field(default=())
    faults: Sequence[Fault] = field(default=())
    metadata: Sequence[MetadataChange] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class History(Context):
    """A whole history in memory. `final_log` and `reads` are in file order within each partition."""

    sends: Sequence[Send] = field(default=())
    final_log: Sequence[LogRecord] = field(default=())
    reads: Sequence[Read] = field(default=())
