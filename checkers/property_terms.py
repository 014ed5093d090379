"""The terms that describe a property: family, what is counted, what it needs, its part in a loss."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import Enum, StrEnum
from types import MappingProxyType

from checkers.history.tables import OPTIONAL, REPLICA_BATCHES


class Family(StrEnum):
    """Which group of promises a property belongs to; the value is its title in a table."""

    DURABILITY = "durability"
    ORDER = "order and uniqueness"
    REPLICAS = "replicas"
    CONTROL_PLANE = "control plane"
    CONSUMERS = "consumers"
    TRANSACTIONS = "transactions"


class ExaminedUnit(StrEnum):
    """What is counted as examined. The units of undecided partitions count as undecided, not as examined.

    An offset in [high watermark, log end) of a decided partition is on disk, and no reader can get it. What
    was acknowledged or read there is undecided too, where the unit says so.
    """

    ACK = "an ok send (undecided: acknowledged in [high watermark, log end))"
    ACK_WITH_OFFSET = "an ok send with an offset (undecided: in [high watermark, log end))"
    ACK_WITHOUT_OFFSET = "an ok send without an offset"
    ACK_OF_ALL = (
        "an ok send of a producer with acks=all (undecided: only the clocks' slack or a leader's old "
        "knowledge allows it; or producer, settings or timeline are not known)"
    )
    LOG_RECORD = "a record of the final log"
    OFFSET_BELOW_HW = "an offset in [log start, high watermark); an undecided partition counts as 1"
    READ = "a read"
    READ_OF_DECIDED_OFFSET = "a read (undecided: in [high watermark, log end))"
    READ_OR_SAMPLED_OFFSET = (
        "a read, or an offset in [log start, greatest sampled high watermark); both count (undecided: in "
        "[high watermark, log end))"
    )
    BATCH = "a record batch of the final log"
    REPLICA_BATCH = "a record batch of one replica's log; a replica that was not audited counts as 1, or more"
    REPLICA_BATCH_BELOW_HW = (
        "a record batch of one replica's log, below the high watermark (undecided: at or above it, cut off "
        "by a crash, or not decodable); a replica that was not audited counts as 1, or more"
    )
    REPLICA = "one replica of a partition (undecided: not audited, or its broker did not stop cleanly)"
    STARTED_LOG = (
        "a log on the disk of a node that was down (undecided: nothing shows how much of it the next process "
        "loaded, or a fault had hit the disk)"
    )
    ELECTION = "an election of a partition's leader (undecided: the topic's settings are not known)"
    PARTITION_STATE = (
        "a partition's state after one change (undecided: a registration that decides on it is not known)"
    )
    STEP_OF_ELIGIBILITY = (
        "a change of a partition's state (undecided: somebody left ISR and ELR, and min.insync.replicas is "
        "not known)"
    )
    LEADER_EPOCH = "a leader epoch in the logs of a partition (undecided: some replica was not audited)"
    CONTROLLER_SAMPLE = "a sample of the controllers' quorum"
    WATERMARK_SAMPLE = (
        "a sample of a partition's high watermark (undecided: without one, or without an epoch)"
    )
    TIMED_WATERMARK_SAMPLE = (
        "a sample of a partition's high watermark that says since when it may have been measured (undecided: "
        "of a partition without a timeline, or without a complete final read)"
    )
    COMMITTED_OFFSET = "a committed offset of a consumer group"
    TRANSACTION = (
        "a transaction (undecided: with a partition that was not read to a proven end, or by no "
        "read_committed reader)"
    )
    TRANSACTION_ON_DISK = (
        "a transaction with records in the log (undecided: with a partition of which no disk was read, or of "
        "an unknown producer id)"
    )
    PARTITION_OF_TRANSACTIONS = (
        "a partition of a load with transactions (undecided: not read to a proven end for another reason, or "
        "while a transaction might still time out)"
    )


class EvidenceSource(StrEnum):
    """What a property is decided from; the value is its name in a sentence."""

    SENDS = "sends"
    FINAL_LOG = "final log"
    READS = "reads"
    WATERMARKS = "high watermark samples"
    METADATA_LOG = "partition changes in the metadata log"
    BATCH_HEADERS = "batch headers of the final log"
    REPLICA_LOGS = "log files of every replica"
    BROKER_REGISTRATIONS = "broker registrations in the metadata log"
    SETTINGS = "settings of topics, in the metadata log and as reported"
    PRODUCERS = "settings of the producers"
    CLOCKS = "readings of the clocks"
    QUORUM_SAMPLES = "samples of the controllers' quorum"
    COMMITTED_OFFSETS = "committed offsets of consumer groups"
    TRANSACTIONS = "transactions of the clients"
    COMMITTED_READS = "reads of what is committed"
    LOG_ENDS = "log ends, as brokers told them and as disks held them"
    BROKER_LINES = "lines of the nodes' logs"
    NODE_EVENTS = "ends and starts of the nodes"
    MARKERS = "markers of transactions on the disks"


TABLES_OF: Mapping[EvidenceSource, tuple[str, ...]] = MappingProxyType(
    {
        EvidenceSource.SENDS: ("sends",),
        EvidenceSource.FINAL_LOG: ("final_log", "proofs"),
        EvidenceSource.READS: ("reads",),
        EvidenceSource.WATERMARKS: ("watermarks",),
        EvidenceSource.METADATA_LOG: ("metadata",),
        EvidenceSource.REPLICA_LOGS: ("replicas", REPLICA_BATCHES),
        EvidenceSource.BROKER_REGISTRATIONS: ("brokers",),
        EvidenceSource.SETTINGS: ("configs",),
        EvidenceSource.PRODUCERS: ("producers",),
        EvidenceSource.CLOCKS: ("clocks",),
        EvidenceSource.TRANSACTIONS: ("transactions", "fencings"),
        EvidenceSource.COMMITTED_READS: ("transaction_reads",),
        EvidenceSource.LOG_ENDS: ("replica_offsets",),
        EvidenceSource.BROKER_LINES: ("broker_lines",),
        EvidenceSource.NODE_EVENTS: ("node_events",),
        EvidenceSource.MARKERS: ("markers", "replicas"),
    }
)
"""The tables of a history that hold each kind of evidence; what is not listed, no history holds today."""


_OPTIONAL_OF = {source: frozenset(tables) & frozenset(OPTIONAL) for source, tables in TABLES_OF.items()}


def is_collected(source: EvidenceSource, tables: Set[str]) -> bool:
    """Whether a history has this evidence; `tables` are those of the OPTIONAL ones that it has."""
    return source in _OPTIONAL_OF and tables >= _OPTIONAL_OF[source]


class LossRole(Enum):
    """What an anomaly of a property has to do with a loss of records."""

    NONE = "nothing"
    LOSS = "it is one: a scenario that expects no loss fails on it, even where the contract permits it"
    EFFECT = "it may follow from one: it belongs to the same finding"


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyRecord:
    """Everything about one property but the rules that decide it.

    The two rules stand in checkers/reference and in spark_verify/passes/apply_rules.py, on purpose apart.
    """

    id: str
    sentence: str
    """What the property says."""
    violated_when: str
    family: Family
    unit: ExaminedUnit
    needs: frozenset[EvidenceSource]
    words: str
    """What happened to the record of an anomaly, in a line that begins with the record."""
    place: str = ""
    """What an anomaly's topic, partition and offset are; "" while no rule reports one."""
    names_record: bool = True
    """Whether an anomaly's producer and sequence are the id of a record."""
    names_broker: bool = False
    """Whether they are a broker and a leader epoch: what the controllers decided, at no offset of a log."""
    loss_role: LossRole = LossRole.NONE
    implemented: bool = True
    """Whether both implementations have a rule for it."""

    @property
    def not_decided(self) -> str:
        """Why no run decides it, in half a sentence; "" if a run with all tables does."""
        return self.not_decided_with(frozenset(OPTIONAL))

    def not_decided_with(self, tables: Set[str]) -> str:
        """Why a run does not decide it that has only these of the OPTIONAL tables; "" if it does."""
        missing = [each.value for each in EvidenceSource if self._lacks(each, tables)]
        if missing:
            return f"not collected: {', '.join(missing)}"
        return "" if self.implemented else "no rule yet"

    def _lacks(self, source: EvidenceSource, tables: Set[str]) -> bool:
        return source in self.needs and not is_collected(source, tables)
