"""One record for each property: what is decided about a history, and what would need more evidence.

A new property is a record here and its two rules, each with a line in the RULES beside it: one in
checkers/reference, one in spark_verify/passes/apply_rules.py. Counts, explanations, findings, verdict.json
and the tables of the documentation follow from the record. The order here is the order of every report, the
gravest first within a family.

A property without rules (`implemented=False`) is listed as "not decided" in each verdict and changes none.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Self

from checkers.property_terms import EvidenceSource, ExaminedUnit, Family, LossRole, PropertyRecord

_SENDS_AND_LOG = frozenset({EvidenceSource.SENDS, EvidenceSource.FINAL_LOG})
_READS_AND_LOG = frozenset({EvidenceSource.READS, EvidenceSource.FINAL_LOG})
_REPLICA_LOGS = frozenset({EvidenceSource.REPLICA_LOGS})
_METADATA_LOG = frozenset({EvidenceSource.METADATA_LOG})
_TRANSACTIONS = frozenset({EvidenceSource.TRANSACTIONS})
_VISIBLE = _TRANSACTIONS | _SENDS_AND_LOG | {EvidenceSource.COMMITTED_READS}

_ACKED_PLACE = "the record's home partition and its acknowledged offset (-1: none was reported)"
_LOG_PLACE = "where the log record lies; one anomaly for each such place"
_LOST_PLACE = "the offset that lost its record; the id is the lost record's, or -1/-1"
_BROKER_PLACE = "the partition, offset -1; the id is broker/leader epoch"
_REPLICA_RUN = "the run of offsets on the replica that it names; the id is -1/-1"
_LOST_RUN = f"{_LOST_PLACE}; a run of offsets where no witness names a record"
_RUN = "the run of offsets; the id is -1/-1"
_ONE_OFFSET = "the offset; the id is -1/-1"


class Property(StrEnum):
    """A property by its id; `record` describes it. The order is the order of every report."""

    record: PropertyRecord

    def __new__(cls, record: PropertyRecord) -> Self:
        """A member is the string of its id."""
        member = str.__new__(cls, record.id)
        member._value_ = record.id
        member.record = record
        return member

    ACKED_LOSS = PropertyRecord(
        id="acked-loss",
        sentence="an acknowledged record is in the final log",
        violated_when="an ok record has no copy in the final log of its partition",
        family=Family.DURABILITY,
        unit=ExaminedUnit.ACK,
        needs=_SENDS_AND_LOG,
        words="acknowledged and lost",
        place=_ACKED_PLACE,
        loss_role=LossRole.LOSS,
    )
    HW_LOSS = PropertyRecord(
        id="hw-loss",
        sentence="nothing below the high watermark is lost, also of sends that are not acknowledged",
        violated_when=(
            "an offset that was below the high watermark (delivered to a reader, or below a sampled high "
            "watermark) holds another record, one of a later leader epoch than the sample, or none, in the "
            "final log"
        ),
        family=Family.DURABILITY,
        unit=ExaminedUnit.READ_OR_SAMPLED_OFFSET,
        needs=_SENDS_AND_LOG | {EvidenceSource.READS, EvidenceSource.WATERMARKS},
        words="lost from below the high watermark",
        place=_LOST_RUN,
        loss_role=LossRole.LOSS,
    )
    ACK_OFFSET = PropertyRecord(
        id="ack-offset",
        sentence="the acknowledged offset is the record's place",
        violated_when="an ok record is in the final log, but not where its delivery report said",
        family=Family.DURABILITY,
        unit=ExaminedUnit.ACK_WITH_OFFSET,
        needs=_SENDS_AND_LOG,
        words="not at the offset it was acknowledged at",
        place=_ACKED_PLACE,
    )
    CONTENT = PropertyRecord(
        id="content",
        sentence="key, value, headers and timestamp survive",
        violated_when="the checksum of a log record differs from that of its send",
        family=Family.DURABILITY,
        unit=ExaminedUnit.LOG_RECORD,
        needs=_SENDS_AND_LOG,
        words="altered",
        place=_LOG_PLACE,
    )
    UNKNOWN_OFFSET_ACK = PropertyRecord(
        id="unknown-offset-ack",
        sentence="an ok report without an offset is an acknowledgement too",
        violated_when="a record was acknowledged without an offset and is not in the final log",
        family=Family.DURABILITY,
        unit=ExaminedUnit.ACK_WITHOUT_OFFSET,
        needs=_SENDS_AND_LOG,
        words="acknowledged without an offset and lost",
        place="the record's home partition, offset -1",
        loss_role=LossRole.LOSS,
    )
    DUPLICATE = PropertyRecord(
        id="duplicate",
        sentence="a record is at most once in the log",
        violated_when="an id is at two offsets, in one partition or in two",
        family=Family.ORDER,
        unit=ExaminedUnit.LOG_RECORD,
        needs=frozenset({EvidenceSource.FINAL_LOG}),
        words="written twice",
        place=_LOG_PLACE,
    )
    PRODUCER_ORDER = PropertyRecord(
        id="producer-order",
        sentence="records of one producer keep their sequence within a partition",
        violated_when="a later sequence lies at a lower offset",
        family=Family.ORDER,
        unit=ExaminedUnit.LOG_RECORD,
        needs=frozenset({EvidenceSource.FINAL_LOG}),
        words="behind a later record of its producer",
        place=_LOG_PLACE,
    )
    REAL_TIME_ORDER = PropertyRecord(
        id="real-time-order",
        sentence="the log respects real time",
        violated_when="an ok record lies behind an ok record that was sent after it was acknowledged",
        family=Family.ORDER,
        unit=ExaminedUnit.LOG_RECORD,
        needs=_SENDS_AND_LOG,
        words="behind a record that was sent after it was acknowledged",
        place=_LOG_PLACE,
    )
    RESURRECTED = PropertyRecord(
        id="resurrected",
        sentence="a record that failed for certain stays out of the log",
        violated_when="the record of a failed send is in the log",
        family=Family.ORDER,
        unit=ExaminedUnit.LOG_RECORD,
        needs=_SENDS_AND_LOG,
        words="in the log, though it had failed for certain",
        place=_LOG_PLACE,
    )
    PHANTOM = PropertyRecord(
        id="phantom",
        sentence="the log holds only what was sent to its partition",
        violated_when="no recorded send to its partition explains a log record",
        family=Family.ORDER,
        unit=ExaminedUnit.LOG_RECORD,
        needs=_SENDS_AND_LOG,
        words="in the log, though nobody sent it there",
        place=_LOG_PLACE,
    )
    OFFSET_GAP = PropertyRecord(
        id="offset-gap",
        sentence="offsets are dense up to the high watermark",
        violated_when="an offset in [log start, high watermark) holds no record",
        family=Family.ORDER,
        unit=ExaminedUnit.OFFSET_BELOW_HW,
        needs=frozenset({EvidenceSource.FINAL_LOG}),
        words="missing",
        place=_RUN,
        names_record=False,
        loss_role=LossRole.EFFECT,
    )
    TORN_BATCH = PropertyRecord(
        id="torn-batch",
        sentence="a record batch is in the log whole or not at all",
        violated_when="a batch lacks some of its records, and neither compaction nor an abort explains it",
        family=Family.ORDER,
        unit=ExaminedUnit.BATCH,
        needs=frozenset({EvidenceSource.BATCH_HEADERS}),
        words="in a batch that lacks some of its records",
        implemented=False,
    )
    DIVERGENCE = PropertyRecord(
        id="divergence",
        sentence="every replica holds what is read, in the same batches, up to the high watermark",
        violated_when=(
            "below the high watermark a replica lacks what was read, holds other records, or its batches "
            "differ from those of the replica that fits best: in offsets, leader epoch, CRC, producer id, "
            "producer epoch or base sequence"
        ),
        family=Family.REPLICAS,
        unit=ExaminedUnit.REPLICA_BATCH_BELOW_HW,
        needs=_REPLICA_LOGS | {EvidenceSource.FINAL_LOG},
        words="not the same on every replica",
        names_record=False,
        place=_REPLICA_RUN,
    )
    EPOCH_MONOTONE = PropertyRecord(
        id="epoch-monotone",
        sentence="leader epochs never fall along a log",
        violated_when="a batch's leader epoch is below that of the batch before it",
        family=Family.REPLICAS,
        unit=ExaminedUnit.REPLICA_BATCH,
        needs=_REPLICA_LOGS,
        words="under a lower leader epoch than the batch before it",
        names_record=False,
        place=_REPLICA_RUN,
    )
    LOG_MATCHING = PropertyRecord(
        id="log-matching",
        sentence="offset and leader epoch determine a record and all before it",
        violated_when="two replicas share (offset, epoch) and differ at or below that offset",
        family=Family.REPLICAS,
        unit=ExaminedUnit.REPLICA_BATCH,
        needs=_REPLICA_LOGS,
        words="different on two replicas that share a later offset and epoch",
        names_record=False,
        place=_REPLICA_RUN,
    )
    CRC = PropertyRecord(
        id="crc",
        sentence="the CRC-32C of each batch is right",
        violated_when="the CRC of a batch is not that of its bytes",
        family=Family.REPLICAS,
        unit=ExaminedUnit.REPLICA_BATCH,
        needs=_REPLICA_LOGS,
        words="in a batch with a wrong CRC",
        names_record=False,
        place=_REPLICA_RUN,
    )
    CHECKPOINT_SANE = PropertyRecord(
        id="checkpoint-sane",
        sentence="a replica's checkpoints agree with its log",
        violated_when=(
            "log start ≤ recovery point ≤ log end or high watermark ≤ log end does not hold, the leader "
            "epoch cache or the producer snapshot is not that of the log, or bytes follow the last batch"
        ),
        family=Family.REPLICAS,
        unit=ExaminedUnit.REPLICA,
        needs=_REPLICA_LOGS,
        words="on a replica whose checkpoints contradict its log",
        names_record=False,
        place="the offset where a checkpoint and the log differ; the id is -1/-1",
    )
    SEQUENCE_DENSE = PropertyRecord(
        id="sequence-dense",
        sentence="base sequences have no gap and no repeat for each producer id and epoch",
        violated_when=(
            "a batch's base sequence does not follow the last one of its producer id and epoch, is not 0 "
            "under a new epoch, or its epoch is lower than the one before"
        ),
        family=Family.REPLICAS,
        unit=ExaminedUnit.REPLICA_BATCH,
        needs=_REPLICA_LOGS,
        words="in a batch whose sequence does not follow the last one",
        names_record=False,
        place=_REPLICA_RUN,
    )
    LOADS_ALL = PropertyRecord(
        id="loads-all",
        sentence="a started broker loads all that its disk holds",
        violated_when=(
            "a log that was read from the disk of a node that was down reaches further than what its next "
            "process loaded, and no fault had hit the disk"
        ),
        family=Family.REPLICAS,
        unit=ExaminedUnit.STARTED_LOG,
        needs=_METADATA_LOG
        | {
            EvidenceSource.CLOCKS,
            EvidenceSource.LOG_ENDS,
            EvidenceSource.BROKER_LINES,
            EvidenceSource.NODE_EVENTS,
        },
        words="on a disk, and not loaded from there",
        names_record=False,
        place=_REPLICA_RUN,
    )
    ACK_CONTRACT = PropertyRecord(
        id="ack-contract",
        sentence="an acks=all acknowledgement was backed by at least min.insync.replicas in sync",
        violated_when=(
            "from its sending to its acknowledgement, no leader knew of an ISR of min.insync.replicas members"
        ),
        family=Family.CONTROL_PLANE,
        unit=ExaminedUnit.ACK_OF_ALL,
        needs=_METADATA_LOG
        | {
            EvidenceSource.SENDS,
            EvidenceSource.SETTINGS,
            EvidenceSource.PRODUCERS,
            EvidenceSource.CLOCKS,
        },
        words="acknowledged with too few replicas in sync",
        place=_ACKED_PLACE,
    )
    LEADER_LEGAL = PropertyRecord(
        id="leader-legal",
        sentence=(
            "a leader is elected from the ISR, else from the ELR or as the last known leader, "
            "or uncleanly with permission and as the last resort"
        ),
        violated_when=(
            "another replica was elected, or one uncleanly while somebody in the ISR or the ELR could lead"
        ),
        family=Family.CONTROL_PLANE,
        unit=ExaminedUnit.ELECTION,
        needs=_METADATA_LOG | {EvidenceSource.BROKER_REGISTRATIONS, EvidenceSource.SETTINGS},
        words="led by a broker that was not eligible",
        names_record=False,
        names_broker=True,
        place=_BROKER_PLACE,
    )
    ELIGIBLE_STEP = PropertyRecord(
        id="eligible-step",
        sentence="who is in the ISR or the ELR came there, and leaves, as the protocol has it",
        violated_when=(
            "a broker comes into the ELR that was not in the ISR, or into the ISR while nobody leads; or, "
            "with ELR on, it leaves both while fewer than min.insync.replicas are in sync, and neither an "
            "unclean shutdown, nor a move, an unclean election, or another min.insync.replicas takes it out"
        ),
        family=Family.CONTROL_PLANE,
        unit=ExaminedUnit.STEP_OF_ELIGIBILITY,
        needs=_METADATA_LOG | {EvidenceSource.BROKER_REGISTRATIONS, EvidenceSource.SETTINGS},
        words="of a broker that left the ISR and the ELR, or came in, by no right",
        names_record=False,
        names_broker=True,
        place=_BROKER_PLACE,
    )
    FENCED_OUT = PropertyRecord(
        id="fenced-out",
        sentence="a fenced or shutting-down broker is in no ISR",
        violated_when="the ISR names such a broker, beyond the append of records that begins its shutdown",
        family=Family.CONTROL_PLANE,
        unit=ExaminedUnit.PARTITION_STATE,
        needs=_METADATA_LOG | {EvidenceSource.BROKER_REGISTRATIONS},
        words="with a fenced broker in the ISR",
        names_record=False,
        names_broker=True,
        place=_BROKER_PLACE,
    )
    ONE_LEADER = PropertyRecord(
        id="one-leader",
        sentence="at most one broker acknowledges under a leader epoch",
        violated_when="the logs of two brokers hold batches of one epoch with different content",
        family=Family.CONTROL_PLANE,
        unit=ExaminedUnit.LEADER_EPOCH,
        needs=_REPLICA_LOGS,
        words="written by two brokers under one leader epoch",
        names_record=False,
        place=_REPLICA_RUN,
    )
    EPOCH_STEP = PropertyRecord(
        id="epoch-step",
        sentence="leader and partition epochs step as the protocol has it",
        violated_when=(
            "an epoch in the metadata log falls or skips a step, or a leader or a replica has an epoch that "
            "is not there"
        ),
        family=Family.CONTROL_PLANE,
        unit=ExaminedUnit.PARTITION_STATE,
        needs=_METADATA_LOG | {EvidenceSource.WATERMARKS},
        words="under an epoch that no step of the protocol leads to",
        names_record=False,
        names_broker=True,
        place=_BROKER_PLACE,
    )
    ONE_CONTROLLER = PropertyRecord(
        id="one-controller",
        sentence="one controller is active",
        violated_when=(
            "two controllers answer as the quorum's leader at once, for longer than the fetch time-out allows"
        ),
        family=Family.CONTROL_PLANE,
        unit=ExaminedUnit.CONTROLLER_SAMPLE,
        needs=frozenset({EvidenceSource.QUORUM_SAMPLES}),
        words="under two active controllers",
        names_record=False,
        implemented=False,
    )
    READ_UNCOMMITTED = PropertyRecord(
        id="read-uncommitted",
        sentence="readers are given only what stays",
        violated_when="what a reader was given at an offset is not in the final log there",
        family=Family.CONSUMERS,
        unit=ExaminedUnit.READ_OF_DECIDED_OFFSET,
        needs=_READS_AND_LOG,
        words="read, and not in the log",
        place=_LOST_PLACE,
        loss_role=LossRole.LOSS,
    )
    MONOTONE_READ = PropertyRecord(
        id="monotone-read",
        sentence="the offsets of one assigned reader rise and skip nothing",
        violated_when=(
            "they do not rise, or leave out a record of the log (a read_committed reader's: one that is "
            "visible in the end), without a rebalance or seek"
        ),
        family=Family.CONSUMERS,
        unit=ExaminedUnit.READ,
        needs=_READS_AND_LOG,
        words="read out of order",
        place="the offset of the later read; the id is reader/generation",
        names_record=False,
        loss_role=LossRole.EFFECT,
    )
    SAME_FOR_ALL = PropertyRecord(
        id="same-for-all",
        sentence="all readers are given the same record at an offset",
        violated_when="two readers were given different records there",
        family=Family.CONSUMERS,
        unit=ExaminedUnit.READ,
        needs=frozenset({EvidenceSource.READS}),
        words="read as different records",
        place=_ONE_OFFSET,
        names_record=False,
        loss_role=LossRole.EFFECT,
    )
    HW_MONOTONE = PropertyRecord(
        id="hw-monotone",
        sentence="the high watermark that clients get never falls",
        violated_when=(
            "a leader answers a lower one than was answered before, under its own epoch or an older one"
        ),
        family=Family.CONSUMERS,
        unit=ExaminedUnit.WATERMARK_SAMPLE,
        needs=frozenset({EvidenceSource.WATERMARKS}),
        words="above a high watermark that fell",
        names_record=False,
        place="from the offset it fell to, to the last one that it had passed; the id is -1/-1",
        loss_role=LossRole.EFFECT,
    )
    EARLY_READ = PropertyRecord(
        id="early-read",
        sentence="readers are given nothing above the high watermark",
        violated_when="a leader answers a high watermark at or below what a reader had before it was asked",
        family=Family.CONSUMERS,
        unit=ExaminedUnit.TIMED_WATERMARK_SAMPLE,
        needs=frozenset(
            {
                EvidenceSource.READS,
                EvidenceSource.WATERMARKS,
                EvidenceSource.METADATA_LOG,
                EvidenceSource.CLOCKS,
            }
        ),
        words="read above the high watermark",
        names_record=False,
        place="from the greatest high watermark so far to the greatest offset read; the id is -1/-1",
        loss_role=LossRole.EFFECT,
    )
    GROUP_COMMIT = PropertyRecord(
        id="group-commit",
        sentence="a committed offset never passes what was processed, nor falls within a generation",
        violated_when="a group commits an offset that it has not processed, or one below its last",
        family=Family.CONSUMERS,
        unit=ExaminedUnit.COMMITTED_OFFSET,
        needs=frozenset({EvidenceSource.COMMITTED_OFFSETS}),
        words="committed, and not processed",
        names_record=False,
        implemented=False,
    )
    ABORTED_READ = PropertyRecord(
        id="aborted-read",
        sentence="a read_committed reader is given no record of an aborted transaction",
        violated_when=(
            "such a reader is given a record of a transaction that nobody asked to commit, or whose abort "
            "was acknowledged; or, of one whose fate only the log knows, a record that is not visible in the "
            "end"
        ),
        family=Family.TRANSACTIONS,
        unit=ExaminedUnit.TRANSACTION,
        needs=_VISIBLE,
        words="aborted, and read",
        place="where the reader was given it; one anomaly for each such offset and record",
    )
    TORN_TRANSACTION = PropertyRecord(
        id="torn-transaction",
        sentence="a transaction is visible as a whole or not at all, and as a whole if it was committed",
        violated_when=(
            "a fresh read_committed reader is not given a record of the log whose transaction was committed; "
            "or, of a transaction whose fate only the log knows, it is given some records and not all"
        ),
        family=Family.TRANSACTIONS,
        unit=ExaminedUnit.TRANSACTION,
        needs=_VISIBLE,
        words="in a transaction of which only a part is visible",
        place="where the record that is not visible lies (-1: it is not in the log)",
    )
    HANGING_TRANSACTION = PropertyRecord(
        id="hanging-transaction",
        sentence="the last stable offset moves on",
        violated_when=(
            "all is healed and in sync, the time-out of every transaction is long over, and it stays below "
            "the high watermark"
        ),
        family=Family.TRANSACTIONS,
        unit=ExaminedUnit.PARTITION_OF_TRANSACTIONS,
        needs=_TRANSACTIONS | {EvidenceSource.FINAL_LOG},
        words="in a transaction that never ended",
        names_record=False,
        place="from the last stable offset up to the high watermark; the id is -1/-1",
    )
    ZOMBIE_FENCED = PropertyRecord(
        id="zombie-fenced",
        sentence="a producer instance that was replaced commits nothing more",
        violated_when=(
            "a transaction that had not asked for its commit when another instance had taken over is "
            "committed, or a read_committed reader is given a record of it"
        ),
        family=Family.TRANSACTIONS,
        unit=ExaminedUnit.TRANSACTION,
        needs=_VISIBLE,
        words="written by a producer that was fenced",
        place="where the reader was given it; of a commit where the first record of the transaction lies",
    )
    EXACTLY_ONCE = PropertyRecord(
        id="exactly-once",
        sentence="an input offset is committed if and only if its output is visible, once",
        violated_when="one is there without the other, or an output is there twice",
        family=Family.TRANSACTIONS,
        unit=ExaminedUnit.TRANSACTION,
        needs=_TRANSACTIONS | {EvidenceSource.COMMITTED_OFFSETS},
        words="not processed exactly once",
        implemented=False,
    )
    MARKER_PER_TRANSACTION = PropertyRecord(
        id="marker-per-transaction",
        sentence="each transaction ends with a marker in each of its partitions, of one kind in all of them",
        violated_when=(
            "no marker lies behind its records in a partition, one lies between them, or the first one "
            "behind them is of another kind than in another partition, or than the client was told"
        ),
        family=Family.TRANSACTIONS,
        unit=ExaminedUnit.TRANSACTION_ON_DISK,
        needs=_TRANSACTIONS | _SENDS_AND_LOG | {EvidenceSource.MARKERS},
        words="in a transaction without its marker",
        place="from the first to the last of its records in the partition; the id is that of its first send",
    )


DECIDED = tuple(each for each in Property if each.record.implemented)
"""The properties that both implementations decide."""


def by_property(units: Mapping[ExaminedUnit, int]) -> dict[Property, int]:
    """How many units there are for each decided property whose unit is counted."""
    return {each: units[each.record.unit] for each in DECIDED if each.record.unit in units}
