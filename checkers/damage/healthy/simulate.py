"""Random healthy histories from a tiny model of a cluster: producers append, readers and samplers follow.

The model has one clock. A record is appended between its invocation and its completion, in the order of its
producer's sequences, so every property holds by construction; a test demands it of hundreds of seeds. Most
histories have transactions, the markers of which lie between the records.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from random import Random

from checkers.damage.editable_history import EditableHistory
from checkers.damage.healthy.control_plane import add_control_plane, add_samples, epoch_at
from checkers.damage.healthy.replicas import StoredLog, add_replicas
from checkers.damage.healthy.restarts import add_restart
from checkers.damage.healthy.transactions import Transactions, add_committed_reads, add_markers
from checkers.history.rows import (
    Fault,
    History,
    LogRecord,
    Proof,
    Read,
    Send,
    TopicPartition,
)
from checkers.history.tables import NONE, OF_TRANSACTIONS, Outcome

STEP_NS = 100_000_000
_WITH_TRANSACTIONS = 0.6


def random_history(rng: Random, *, most_sends: int = 40) -> History:
    """A small healthy history with up to `most_sends` sends.

    Some have no sends at all, empty partitions, partitions without (complete) proof, logs that do not start
    at 0, records on disk above the high watermark, acks without an offset, no readers; some have
    transactions.
    """
    history = EditableHistory(partitions=_partitions(rng))
    logs = [_Log(tp=tp, start=rng.choice((0, 0, 0, 7, 1000))) for tp in history.partitions]
    transactions = Transactions(rng, history) if rng.random() < _WITH_TRANSACTIONS else None
    end_ns = _produce(rng, history, logs, transactions, _amount(rng, most_sends))
    if not history.transactions:
        transactions = None
        history.collected -= set(OF_TRANSACTIONS)
    add_control_plane(rng, history, end_ns)
    for log in logs:
        log.lead(history)
        add_samples(rng, history, log.tp, log.start, log.end_at, end_ns)
        _prove(rng, history, log, end_ns, transactions)
        _read(rng, history, log)
    _inject(rng, history, end_ns)
    add_replicas(rng, history, [log.stored() for log in logs], with_transactions=transactions is not None)
    add_markers(history, {log.tp: log.markers for log in logs})
    add_restart(history, {log.tp: log.end_at(end_ns) for log in logs}, end_ns)
    return history.freeze()


def _amount(rng: Random, most: int) -> int:
    return rng.choices((0, rng.randint(1, min(most, 8)), rng.randint(1, most)), (1, 4, 7))[0]


@dataclass(slots=True, kw_only=True)
class _Log:
    """One partition: what was appended and when, and up to which offset the final read got.

    `needed` is the offset behind the last record acknowledged without one: only its presence in the log
    shows that it was not lost. Among the `records` are those without an id that stand for `markers`, which
    have producer and kind by offset.
    """

    tp: TopicPartition
    start: int
    records: list[LogRecord] = field(default_factory=list)
    appended_ns: list[int] = field(default_factory=list)
    markers: dict[int, tuple[int, str]] = field(default_factory=dict)
    readable: int = 0
    needed: int = 0

    def end_at(self, at_ns: int) -> int:
        """The log end offset at a time."""
        return self.start + sum(appended <= at_ns for appended in self.appended_ns)

    def mark(self, producer: int, kind: str, at_ns: int) -> int:
        """Append a marker that ends a transaction of a producer; when it was appended."""
        offset, appended_ns = self.start + len(self.records), max([at_ns, *self.appended_ns[-1:]]) + 1
        self.markers[offset] = producer, kind
        self.appended_ns.append(appended_ns)
        self.records.append(
            LogRecord(
                topic=self.tp.topic,
                partition=self.tp.partition,
                producer=NONE,
                sequence=NONE,
                checksum=0,
                offset=offset,
                timestamp_ms=appended_ns // 1_000_000,
            )
        )
        return appended_ns

    def given(self) -> list[LogRecord]:
        """The records that readers are given, up to where the final read got."""
        return [r for r in self.records if r.offset < self.readable and r.offset not in self.markers]

    def lead(self, history: EditableHistory) -> None:
        """Give each record the leader epoch in which it was appended."""
        self.records = [
            replace(record, leader_epoch=epoch_at(history, self.tp, at_ns))
            for record, at_ns in zip(self.records, self.appended_ns, strict=True)
        ]

    def stored(self) -> StoredLog:
        """What its replicas hold."""
        return StoredLog(
            tp=self.tp,
            start=self.start,
            high_watermark=self.readable,
            records=self.records,
            markers={offset: producer for offset, (producer, _) in self.markers.items()},
        )


def _partitions(rng: Random) -> list[TopicPartition]:
    topics = rng.choice((("orders",), ("orders", "audit-log")))
    return [TopicPartition(topic, p) for topic in topics for p in range(rng.randint(1, 3))]


def _produce(
    rng: Random,
    history: EditableHistory,
    logs: list[_Log],
    transactions: Transactions | None,
    sends: int,
) -> int:
    """Let some producers send; returns the time after the last completion."""
    numbers = list(range(rng.randint(1, 4)))
    begin, successor = rng.choice((0, 5)), len(numbers)
    sequences: dict[int, int] = defaultdict(lambda: begin)
    last_append_ns: dict[int, int] = defaultdict(int)
    now, end_ns, used = 10 * STEP_NS, 10 * STEP_NS, logs[: rng.randint(1, len(logs))]
    for _ in range(sends):
        now += rng.randint(1, 3 * STEP_NS)
        slot, log = rng.randrange(len(numbers)), rng.choice(used)
        producer = numbers[slot]
        its = transactions.current(slot, producer, sequences[producer], now) if transactions else None
        appended_ns = max([now, last_append_ns[producer], *log.appended_ns[-1:]]) + rng.randint(1, STEP_NS)
        completed_ns = appended_ns + rng.randint(1, 4 * STEP_NS)
        outcome = its.outcome_of_send(rng) if its else rng.choices(tuple(Outcome), (16, 1, 3))[0]
        offset = log.start + len(log.records)
        checksum = rng.getrandbits(32)
        reported = outcome is Outcome.OK and rng.random() < 0.9
        finished = outcome is not Outcome.INFO or rng.random() < 0.5
        send = Send(
            topic=log.tp.topic,
            partition=log.tp.partition,
            producer=producer,
            sequence=sequences[producer],
            invoked_ns=now,
            completed_ns=completed_ns if finished else NONE,
            outcome=outcome,
            offset=offset if reported else NONE,
            checksum=checksum,
            error="" if outcome is Outcome.OK else "_MSG_TIMED_OUT",
        )
        history.sends.append(send)
        sequences[producer] += 1
        if outcome is Outcome.OK and not reported:
            log.needed = offset + 1
        perhaps = its.is_written(rng) if its else rng.random() < 0.5
        written = outcome is Outcome.OK or (outcome is Outcome.INFO and perhaps)
        if written:
            last_append_ns[producer] = appended_ns
            log.appended_ns.append(appended_ns)
            log.records.append(_record(send, offset))
        end_ns = max(end_ns, completed_ns + STEP_NS)
        if transactions and its:
            its.add(send.id, log if written else None)
            if transactions.ends():
                now = transactions.end(its, max(now, appended_ns), successor=successor)
                if its.outcome == "fenced":
                    numbers[slot], successor = successor, successor + 1
    if transactions:
        now = transactions.end_all(max([now, *last_append_ns.values()]), successor=successor)
    return max(end_ns, now + STEP_NS)


def _record(send: Send, offset: int) -> LogRecord:
    return LogRecord(
        topic=send.topic,
        partition=send.partition,
        producer=send.producer,
        sequence=send.sequence,
        checksum=send.checksum,
        offset=offset,
        leader_epoch=0,
        timestamp_ms=send.invoked_ns // 1_000_000,
    )


def _prove(
    rng: Random, history: EditableHistory, log: _Log, end_ns: int, transactions: Transactions | None
) -> None:
    """End the final read: mostly with a proof, sometimes below the log's end, sometimes without.

    With transactions it waits until all of them have ended, and reads again what is committed.
    """
    end = log.start + len(log.records)
    sampled = max((s.high_watermark for s in history.watermarks if s.tp == log.tp), default=log.start)
    unread = 0 if transactions else rng.choice((0, 0, 0, 0, 1, 3))
    log.readable = max(log.start, sampled, log.needed, end - unread)
    complete = rng.random() < 0.9
    history.log.extend(log.given())
    if not complete and rng.random() < 0.5:
        return
    committed = transactions is not None and complete and rng.random() < 0.95
    if transactions:
        visible = [record for record in log.given() if record.id in transactions.visible]
        add_committed_reads(rng, history, visible, is_read=committed)
    history.proofs.append(
        Proof(
            topic=log.tp.topic,
            partition=log.tp.partition,
            at_ns=end_ns,
            log_start=log.start,
            high_watermark=log.readable,
            last_stable=log.readable,
            log_end=end,
            read_to=log.readable,
            committed_to=log.readable if committed else NONE,
            replicas=(1, 2, 3),
            isr=(1, 2, 3) if complete else (1,),
            complete=complete,
            reason="" if complete else "replicas 2 and 3 did not come back into the ISR",
        )
    )


def _read(rng: Random, history: EditableHistory, log: _Log) -> None:
    """Let readers tail the log; each generation begins somewhere and goes on without a hole."""
    for reader in range(rng.randint(0, 3)):
        for generation in range(rng.randint(1, 2)):
            begin = rng.randint(log.start, log.readable)
            end = rng.randint(begin, log.readable)
            for offset in range(begin, end):
                at = offset - log.start
                record = log.records[at]
                if offset in log.markers:
                    continue
                history.reads.append(
                    Read(
                        topic=record.topic,
                        partition=record.partition,
                        producer=record.producer,
                        sequence=record.sequence,
                        checksum=record.checksum,
                        reader=reader,
                        generation=generation,
                        offset=offset,
                        leader_epoch=record.leader_epoch,
                        read_ns=log.appended_ns[at] + STEP_NS,
                    )
                )


def _inject(rng: Random, history: EditableHistory, end_ns: int) -> None:
    for index in range(rng.randint(0, 2)):
        inject_ns = rng.randint(0, end_ns)
        history.faults.append(
            Fault(
                index=index,
                name=f"kill-{index}",
                kind="kill",
                target="leader",
                nodes=(1,),
                edges=("2->1", "3->1"),
                inject_ns=inject_ns,
                effect_ns=inject_ns + STEP_NS,
                heal_ns=inject_ns + 2 * STEP_NS,
                recovered_ns=inject_ns + 3 * STEP_NS,
                down=(1,),
                down_ns=(inject_ns + STEP_NS,),
                up_ns=(inject_ns + 2 * STEP_NS,),
                unclean=(1,),
                evidence='{"exit_code": 137}',
            )
        )
