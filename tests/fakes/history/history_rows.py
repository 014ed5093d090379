"""Rows of a history in few words, for tests that spell out a history and what must be found in it.

One topic, `orders`; `on` is the partition. A record's content is named by its checksum, by default
`producer * 100 + sequence`. `history(...)` sorts rows into tables and proves the final read of each partition
whose proof is not given.
"""

from checkers.history.rows import History, LogRecord, Proof, Read, Send, TopicPartition, Watermark
from checkers.history.tables import NONE, Outcome
from checkers.reference import check

TOPIC = "orders"


def ok(producer, sequence, at=NONE, on=0, invoked=10, done=20, **more) -> Send:
    """An acknowledged send; without `at`, acknowledged without an offset."""
    return _send(producer, sequence, on, Outcome.OK, offset=at, invoked_ns=invoked, completed_ns=done, **more)


def fail(producer, sequence, on=0, invoked=10, done=20) -> Send:
    """A send that was definitely not written."""
    return _send(producer, sequence, on, Outcome.FAIL, invoked_ns=invoked, completed_ns=done, error="refused")


def info(producer, sequence, on=0, invoked=10, done=NONE) -> Send:
    """A send of which nobody knows whether it was written."""
    return _send(
        producer, sequence, on, Outcome.INFO, invoked_ns=invoked, completed_ns=done, error="timed out"
    )


def _send(producer, sequence, on, outcome, *, offset=NONE, checksum=None, **more) -> Send:
    return Send(
        **_record(producer, sequence, on, checksum),
        outcome=outcome,
        offset=offset,
        **more,
    )


def _record(producer, sequence, on, checksum) -> dict:
    return {
        "topic": TOPIC,
        "partition": on,
        "producer": producer,
        "sequence": sequence,
        "checksum": producer * 100 + sequence if checksum is None else checksum,
    }


def logged(producer, sequence, offset, on=0, checksum=None, epoch=NONE) -> LogRecord:
    """A record of the final log, written under a leader epoch."""
    return LogRecord(**_record(producer, sequence, on, checksum), offset=offset, leader_epoch=epoch)


def read(producer, sequence, offset, on=0, reader=0, generation=0, checksum=None) -> Read:
    """A record that a reader was given."""
    return Read(
        **_record(producer, sequence, on, checksum), offset=offset, reader=reader, generation=generation
    )


def sample(high_watermark, at=15, epoch=0, on=0) -> Watermark:
    """A sampled high watermark under a leader epoch."""
    return Watermark(
        topic=TOPIC, partition=on, at_ns=at, leader=1, leader_epoch=epoch, high_watermark=high_watermark
    )


def proof(high_watermark, start=0, log_end=None, complete=True, on=0, reason="") -> Proof:
    """How a final read ended; the log ends at the high watermark unless `log_end` says more."""
    return Proof(
        topic=TOPIC,
        partition=on,
        log_start=start,
        high_watermark=high_watermark,
        log_end=high_watermark if log_end is None else log_end,
        complete=complete,
        reason=reason,
    )


def history(*rows, unproven=()) -> History:
    """The rows in their tables, with a complete proof of each partition but those `unproven`."""
    numbers = sorted({row.partition for row in rows} | set(unproven))
    log = [row for row in rows if isinstance(row, LogRecord)]
    proofs = [row for row in rows if isinstance(row, Proof)]
    proven = {row.partition for row in proofs} | set(unproven)
    for on in set(numbers) - proven:
        offsets = [record.offset for record in log if record.partition == on]
        proofs.append(proof(max(offsets, default=-1) + 1, start=min(offsets, default=0), on=on))
    return History(
        partitions=tuple(TopicPartition(TOPIC, on) for on in numbers),
        sends=[row for row in rows if isinstance(row, Send)],
        final_log=log,
        reads=[row for row in rows if isinstance(row, Read)],
        watermarks=[row for row in rows if isinstance(row, Watermark)],
        proofs=proofs,
    )


def found(*rows, unproven=()) -> list[tuple[str, int, int, int, int]]:
    """What the reference finds: sorted (property, partition, offset, producer, sequence)."""
    anomalies = check(history(*rows, unproven=unproven)).anomalies
    return sorted((a.property.value, a.partition, a.offset, a.producer, a.sequence) for a in anomalies)
