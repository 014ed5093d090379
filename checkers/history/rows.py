"""The rows of a history in memory: one dataclass for each table of `tables`, fields named alike.

`Context` holds the tables that are one file each, which the contract and the explanations need; `History`
adds the bulk ones, and is what the reference implementation reads. The Spark implementation never builds one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, dataclass_transform

from checkers.history.tables import NONE, OPTIONAL, REPLICA_BATCHES, Outcome

Class = TypeVar("Class")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def row(cls: type[Class]) -> type[Class]:
    """A dataclass whose objects nobody changes, which the type checker holds, and not each object by itself:
    a frozen one takes three times as long to make, and a history in memory has a hundred thousand."""
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)


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


@row
class _Placed:
    topic: str
    partition: int

    @property
    def tp(self) -> TopicPartition:
        """The partition this row is about."""
        return tuple.__new__(TopicPartition, (self.topic, self.partition))  # half the time of a call


@row
class _Identified(_Placed):
    producer: int
    sequence: int
    checksum: int

    @property
    def id(self) -> RecordId:
        """Which send this is, or is a copy of."""
        return tuple.__new__(RecordId, (self.producer, self.sequence))  # as above


@row
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


@row
class LogRecord(_Identified):
    """One record of the final log, as the final read got it."""

    offset: int
    leader_epoch: int = NONE
    timestamp_ms: int = NONE


@row
class Read(_Identified):
    """One record delivered to a tailing reader; `generation` rises at each assignment or seek."""

    reader: int
    generation: int
    offset: int
    leader_epoch: int = NONE
    read_ns: int = NONE


@row
class Watermark(_Placed):
    """One sample of a partition's offsets; each is -1 where the broker did not report it.

    The high watermark was measured at `asked_ns` or later, and the answer had come by `at_ns`.
    """

    at_ns: int
    leader: int = NONE
    leader_epoch: int = NONE
    isr: tuple[int, ...] = ()
    log_start: int = NONE
    high_watermark: int = NONE
    last_stable: int = NONE
    asked_ns: int = NONE


@row
class Proof(_Placed):
    """How the final read of a partition ended; only `complete` ones decide anything.

    The final log holds [log_start, high_watermark); [high_watermark, log_end) is on disk but was not read.
    `committed_to` is how far another fresh reader got, which was given what is committed; -1: there was none.
    `at_ns` of one that is not complete is when its leader last reported what it has.
    """

    log_start: int
    high_watermark: int
    log_end: int
    complete: bool
    at_ns: int = NONE
    last_stable: int = NONE
    read_to: int = NONE
    committed_to: int = NONE
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    reason: str = ""


WIPE = "disk-wipe"
"""The kind of fault that replaces a node's disk by an empty one."""

LOG_DIR_FAILURE, DISK_FULL = "log-dir-failure", "disk-full"
"""The kinds that take a log directory from a broker which can do without it: it goes on until it is
restarted."""


@row
class Fault:
    """One injected fault, what proved it, and what proved that it is gone.

    Its injection was planned for `planned_begin_ns`, begun at `inject_ns` and done at `begin_ns`; its hold
    was planned to end at `planned_end_ns`, ended at `end_ns`, and it was healed at `heal_ns`.
    `down` are the nodes whose process it ended; `down_ns` and `up_ns`, parallel to it, are when each had
    ended and when it was started again (-1: not known, or never). `unclean` are among them, and so are
    `data_lost`, unless a log directory of a node failed that went on, and nobody restarted it for that.
    `replicas` are those that it concerns, as "1/orders-0", if they are not all of its nodes.
    """

    index: int
    name: str
    kind: str
    target: str = ""
    nodes: tuple[int, ...] = ()
    edges: tuple[str, ...] = ()
    planned_begin_ns: int = NONE
    planned_end_ns: int = NONE
    inject_ns: int
    begin_ns: int = NONE
    effect_ns: int = NONE
    end_ns: int = NONE
    heal_ns: int = NONE
    recovered_ns: int = NONE
    proven: bool = True
    recovered: bool = True
    down: tuple[int, ...] = ()
    down_ns: tuple[int, ...] = ()
    up_ns: tuple[int, ...] = ()
    data_lost: tuple[int, ...] = ()
    unclean: tuple[int, ...] = ()
    replicas: tuple[str, ...] = ()
    evidence: str = ""

    @property
    def takes_log_dir(self) -> bool:
        """Whether it took a log directory, with its `replicas`, from nodes that went on; else it ended
        them."""
        return self.kind == LOG_DIR_FAILURE or (self.kind == DISK_FULL and bool(self.replicas))

    def concerns(self, node: int, tp: TopicPartition) -> bool:
        """Whether a replica on one of its nodes is among those that it concerns. A log directory that failed
        concerns no replica that is not named."""
        of_all = not self.replicas and self.kind != LOG_DIR_FAILURE
        return of_all or f"{node}/{tp}" in self.replicas

    @property
    def wiped(self) -> tuple[int, ...]:
        """Those of `data_lost` that lost everything, what was synced too."""
        return self.data_lost if self.kind == WIPE else ()

    def described(self, hit: str) -> str:
        """The fault in a sentence: its name if it has one of its own, its kind, and what it hit."""
        what = f"{self.kind} of {hit}" if hit else self.kind
        return what if self.name == self.kind else f"{self.name} ({what})"


@row
class MetadataChange(_Placed):
    """A partition's state after one record of the KRaft metadata log. `leader` is -1 while there is none.

    `at_ms` is the wall clock of the `controller` that wrote it (-1: not recorded); in a context that was
    loaded, the engine's. The order of changes is that of `log_offset` (-1: from a snapshot, or not recorded).
    `recovering`: the leader was elected uncleanly, and has not recovered.
    """

    at_ms: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    log_offset: int = NONE
    recovering: bool = False
    controller: int = NONE


@row
class BrokerState:
    """A broker's registration after one record of the KRaft metadata log; `at_ms`, `controller` as in
    `MetadataChange`.

    `log_dirs`: how many log directories the controllers take for online; -1: not known.
    """

    at_ms: int
    log_offset: int = NONE
    node: int
    broker_epoch: int
    registered: bool = True
    fenced: bool = False
    in_controlled_shutdown: bool = False
    log_dirs: int = NONE
    controller: int = NONE


@row
class ConfigChange:
    """One setting after one record of the KRaft metadata log.

    `kind` is topic, broker, cluster (the default of all brokers, `name` ""), feature (`name` is the feature,
    `value` its level) or reported: the value in effect for a topic, as a broker reported it when the topic
    had been made (`at_ms` and `log_offset` -1), for what server.properties sets is in no log.
    """

    at_ms: int
    log_offset: int = NONE
    kind: str
    name: str = ""
    key: str = ""
    value: str = ""
    removed: bool = False
    controller: int = NONE


@row
class MetadataAppend:
    """One append to the KRaft metadata log, also one that changes nothing: its first record.

    `at_ms`, `controller` as in `MetadataChange`; in a context that was loaded `at_ms` is -1 where nobody
    knows when it was: a clock was off.
    """

    at_ms: int
    log_offset: int
    controller: int = NONE


@row
class Producer:
    """What one producer instance asked for. `acks` is "0", "1" or "all"."""

    producer: int
    acks: str
    idempotence: bool


@row
class NodeEvent:
    """A process of the cluster started or ended. `node` -1 is the proxy.

    `role` is broker, controller, combined or proxy; `event` is started, exited or oom-killed. `planned`: the
    harness did it, or allowed it, for the fault named `fault` if that is not "". `exit_code` is -1 of a
    start, or where it is not known. `detail`, of an end that is not planned: the lines of its log that say
    why.
    """

    at_ns: int
    node: int
    role: str
    event: str
    exit_code: int = NONE
    planned: bool = True
    fault: str = ""
    detail: str = ""


@row
class ClockPair:
    """One reading of the clocks: the history's, the harness's wall clock, and the Docker engine's.

    `engine_ns` -1: not known; `error_ns` is half the time that the question took.
    """

    at_ns: int
    wall_ns: int
    engine_ns: int = NONE
    error_ns: int = 0


@row
class Pressure:
    """How starved the machine was in the `span_ns` before; each is -1 where the kernel does not report it.

    `stall_ns`: some task waited for a processor; `steal_ns`, `busy_ns`: the mean of all processors;
    `late_ns`: how late the harness's own loop woke, added up.
    """

    at_ns: int
    span_ns: int
    stall_ns: int = NONE
    steal_ns: int = NONE
    busy_ns: int = NONE
    late_ns: int = NONE


@row
class ClientEvent:
    """Trouble that a producer's client had with a broker in (since_ns, at_ns], counted."""

    at_ns: int
    since_ns: int
    producer: int
    broker: int
    disconnects: int = 0
    timeouts: int = 0
    retries: int = 0


@row
class ReplicaOffset(_Placed):
    """The log of one replica at a time, as `source` measured it: `log_end` is the offset of its next record.

    It was measured between `asked_ns` and `at_ns`; `asked_ns` -1: at `at_ns`.

    `source`: live (asked of the broker), disk-down (read from the disk of a node that is down),
    before-power-loss (the node is paused), after-power-loss (from the disk that is mounted again),
    before-wipe (the node is down, its disk still the old one), after-wipe (the new one).
    """

    at_ns: int
    broker: int
    leader_epoch: int = NONE
    log_start: int = NONE
    log_end: int = NONE
    source: str = "live"
    asked_ns: int = NONE


@row
class Transaction:
    """One transaction: the sends `first_sequence` to `last_sequence` of a producer instance.

    `number` counts those of the instance from 0. `request` is what its client asked for first, at
    `requested_ns`: commit, abort, or "": nothing. `outcome`, known at `completed_ns`: committed or aborted
    (its coordinator has said so), fenced (the client was told that another instance has taken over),
    indeterminate, or open (the client has ended, or the harness was killed, before it was known). `error` is
    the last one, and `producer_id` Kafka's own number of the instance (-1: not known).
    """

    producer: int
    number: int
    first_sequence: int
    last_sequence: int
    transactional_id: str = ""
    producer_id: int = NONE
    timeout_ms: int = 0
    begun_ns: int
    requested_ns: int = NONE
    completed_ns: int = NONE
    request: str = ""
    outcome: str = "open"
    error: str = ""


@row
class Fencing:
    """Instance `by` of a transactional id took over from instance `producer`, or somebody else did (-1).

    It asked to at `begun_ns`, and was initialized at `done_ns` (-1: never). The older one was told at
    `at_ns`, by `error` ("": never).
    """

    transactional_id: str
    producer: int
    by: int = NONE
    begun_ns: int = NONE
    done_ns: int = NONE
    at_ns: int = NONE
    error: str = ""


@row
class Marker(_Placed):
    """The end of a transaction in the log of a partition, as the disks of `brokers` have it.

    `kind` is commit or abort; producer id and epoch are those of the transaction's producer.
    """

    offset: int
    leader_epoch: int = NONE
    producer_id: int
    producer_epoch: int = NONE
    kind: str
    coordinator_epoch: int = NONE
    brokers: tuple[int, ...] = ()


@row
class Coordinator:
    """Who coordinates the transactional ids of the load that a partition of Kafka's transaction log has.

    A state of that partition, after one record of the KRaft metadata log. `at_ms`, `controller` as in
    `MetadataAppend`; the order is that of `log_offset`.
    """

    at_ms: int
    log_offset: int = NONE
    partition: int
    leader: int
    leader_epoch: int = NONE
    isr: tuple[int, ...] = ()
    controller: int = NONE


LEADER_START = "leader-start"
"""The kind of a line in which a broker says that it begins to lead."""
FOLLOWER_START = "follower-start"
"""And that it begins to follow."""
FETCHER_START = "fetcher-start"
"""And that its fetcher begins, where its log ends then."""
RECOVERED = "recovered"
"""And that it reads again what had perhaps not been synced, before it loads a log."""
CUT = ("truncated", "truncated-below-hw")
"""The kinds of those in which it says that it cuts a log."""


@row
class BrokerLine(_Placed):
    """A line of a node's own log that shows the fate of a replica, or of the node.

    `kind`: loaded (`offset`: the log end that it found), leader-start and follower-start (`offset`: its log
    end then), fetcher-start (`offset`: from where it fetches), truncated (`offset`: to where),
    truncated-below-hw, recovered, unclean-election, halted, version (the node names its Kafka release). A
    line about no partition has topic "" and partition -1.
    """

    at_ms: int
    node: int
    kind: str
    leader_epoch: int = NONE
    offset: int = NONE
    high_watermark: int = NONE
    line: str = ""


@row
class Replica(_Placed):
    """One replica as it was on disk after the clean stop.

    `epochs` and `epoch_starts` are its leader-epoch checkpoint; the checkpoints are -1 where there is none.
    `clean`: the broker had noted a clean shutdown. `complete`: all of it was read, else `reason` is why not.
    """

    broker: int
    log_start: int = NONE
    log_end: int = NONE
    recovery_point: int = NONE
    hw_checkpoint: int = NONE
    log_start_checkpoint: int = NONE
    epochs: tuple[int, ...] = ()
    epoch_starts: tuple[int, ...] = ()
    segments: int = 0
    bytes: int = 0
    batches: int = 0
    torn_bytes: int = 0
    clean: bool = True
    complete: bool = True
    reason: str = ""


@row
class ProducerState(_Placed):
    """An entry of the last producer snapshot of a replica."""

    broker: int
    snapshot_offset: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    timestamp_ms: int = NONE


@row
class ReplicaBatch(_Placed):
    """One record batch on one replica's disk. `crc` is the stored one; `digest` sums up its records.

    `digest` is -1 for a control batch, and where `error` says why the records cannot be decoded.
    """

    broker: int
    segment: int = 0
    position: int = 0
    base_offset: int
    last_offset_delta: int
    leader_epoch: int
    crc: int = 0
    crc_ok: bool = True
    attributes: int = 0
    producer_id: int = NONE
    producer_epoch: int = NONE
    base_sequence: int = NONE
    records: int = 1
    size: int = 0
    max_timestamp_ms: int = NONE
    digest: int = NONE
    error: str = ""

    @property
    def end_offset(self) -> int:
        """The offset after its last one."""
        return self.base_offset + self.last_offset_delta + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The tables of one file, and which partitions there were.

    `collected`: which of the OPTIONAL tables the run has; the others are empty because nothing is known.
    `unplaced`: offsets of the metadata log at which partitions, registrations or settings changed, and nobody
    can date it, see true_times.py.
    """

    partitions: tuple[TopicPartition, ...] = ()
    collected: frozenset[str] = frozenset(OPTIONAL)
    watermarks: Sequence[Watermark] = field(default=())
    proofs: Sequence[Proof] = field(default=())
    faults: Sequence[Fault] = field(default=())
    metadata: Sequence[MetadataChange] = field(default=())
    brokers: Sequence[BrokerState] = field(default=())
    configs: Sequence[ConfigChange] = field(default=())
    metadata_appends: Sequence[MetadataAppend] = field(default=())
    producers: Sequence[Producer] = field(default=())
    node_events: Sequence[NodeEvent] = field(default=())
    clocks: Sequence[ClockPair] = field(default=())
    pressure: Sequence[Pressure] = field(default=())
    client_events: Sequence[ClientEvent] = field(default=())
    replica_offsets: Sequence[ReplicaOffset] = field(default=())
    transactions: Sequence[Transaction] = field(default=())
    fencings: Sequence[Fencing] = field(default=())
    transaction_reads: Sequence[Read] = field(default=())
    markers: Sequence[Marker] = field(default=())
    coordinators: Sequence[Coordinator] = field(default=())
    broker_lines: Sequence[BrokerLine] = field(default=())
    replicas: Sequence[Replica] = field(default=())
    producer_states: Sequence[ProducerState] = field(default=())
    unplaced: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class History(Context):
    """A whole history in memory. `final_log` and `reads` are in file order within each partition.

    `replica_batches` are in the order of the log for each partition and broker.
    """

    sends: Sequence[Send] = field(default=())
    final_log: Sequence[LogRecord] = field(default=())
    reads: Sequence[Read] = field(default=())
    replica_batches: Sequence[ReplicaBatch] = field(default=())


def _send(*, outcome: int, **columns: Any) -> Send:  # noqa: ANN401 - the columns of the table
    return Send(outcome=Outcome(outcome), **columns)


ROW_OF: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "sends": _send,
        "final_log": LogRecord,
        "reads": Read,
        "watermarks": Watermark,
        "proofs": Proof,
        "faults": Fault,
        "metadata": MetadataChange,
        "brokers": BrokerState,
        "configs": ConfigChange,
        "metadata_appends": MetadataAppend,
        "producers": Producer,
        "node_events": NodeEvent,
        "clocks": ClockPair,
        "pressure": Pressure,
        "client_events": ClientEvent,
        "replica_offsets": ReplicaOffset,
        "transactions": Transaction,
        "fencings": Fencing,
        "transaction_reads": Read,
        "markers": Marker,
        "coordinators": Coordinator,
        "broker_lines": BrokerLine,
        "replicas": Replica,
        "producer_states": ProducerState,
        REPLICA_BATCHES: ReplicaBatch,
    }
)
"""What makes a row of each table from its columns."""
SINGLE_FILES = tuple(table for table in ROW_OF if table in Context.__dataclass_fields__)
"""The tables that `Context` holds, each under its own name."""


def by_partition(rows: Iterable[Any]) -> defaultdict[TopicPartition, list[Any]]:
    """Rows of one table by their partition, in order; nothing for a partition without any."""
    found: defaultdict[TopicPartition, list[Any]] = defaultdict(list)
    for each in rows:
        found[each.tp].append(each)
    return found
