"""Runs a case: for now, a cluster without faults, on a fixed pace."""

from random import Random

from checkers.history.rows import (
    History,
    LogRecord,
    MetadataChange,
    Producer,
    Proof,
    RecordId,
    Send,
    TopicPartition,
    Watermark,
)
from checkers.history.tables import Outcome
from checkers.model.case import BROKERS, TOPIC, Case
from checkers.model.truth import RecordTruth, Simulated, Truth

START_NS = 1_000_000_000_000
START_MS = 1_795_317_100_000


def simulate(case: Case) -> Simulated:
    """The run that `case` decides. Bugs have no effect yet."""
    rng = Random(case.seed)
    sends: list[Send] = []
    log: list[LogRecord] = []
    records: list[RecordTruth] = []
    for number in range(case.settings.records):
        tp = TopicPartition(TOPIC, number % case.settings.partitions)
        offset, at_ns = number // case.settings.partitions, START_NS + number * 100_000_000
        placed = {"topic": tp.topic, "partition": tp.partition, "producer": 1, "sequence": number}
        checksum = rng.getrandbits(62)
        sends.append(
            Send(
                **placed,
                checksum=checksum,
                offset=offset,
                invoked_ns=at_ns,
                completed_ns=at_ns + 5_000_000,
                outcome=Outcome.OK,
            )
        )
        log.append(LogRecord(**placed, checksum=checksum, offset=offset, leader_epoch=0))
        records.append(RecordTruth(id=RecordId(1, number), tp=tp, offset=offset))
    tps = tuple(TopicPartition(TOPIC, number) for number in range(case.settings.partitions))
    ends = {tp: sum(row.tp == tp for row in log) for tp in tps}
    end_ns = START_NS + 60_000_000_000
    history = History(
        partitions=tps,
        collected=frozenset({"producers"}),
        sends=sends,
        final_log=log,
        producers=[Producer(producer=1, acks="all", idempotence=True)],
        watermarks=[
            Watermark(
                **tp._asdict(), at_ns=end_ns, leader=1, leader_epoch=0, isr=BROKERS, log_start=0,
                high_watermark=ends[tp], last_stable=ends[tp],
            )
            for tp in tps
        ],
        metadata=[
            MetadataChange(
                **tp._asdict(), at_ms=START_MS, leader=1, leader_epoch=0, partition_epoch=0, replicas=BROKERS,
                isr=BROKERS, log_offset=28 + tp.partition,
            )
            for tp in tps
        ],
        proofs=[
            Proof(
                **tp._asdict(), at_ns=end_ns, log_start=0, high_watermark=ends[tp], log_end=ends[tp],
                last_stable=ends[tp], read_to=ends[tp], replicas=BROKERS, isr=BROKERS, complete=True,
            )
            for tp in tps
        ],
    )  # fmt: skip
    return Simulated(case=case, history=history, truth=Truth(records=tuple(records)))
