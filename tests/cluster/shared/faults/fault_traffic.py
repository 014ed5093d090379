"""A producer thread for the tests of faults: without traffic no counter moves, and nothing can be proven."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Producer

EVERY_S = 0.004
GIVEN_UP_MS = 2000


@dataclass
class Acked:
    """Acknowledged records of one topic: when, in which partition, at which offset. `stop` ends the load.

    `sent` counts what was given to the producer; `failed` has what it said of records that were not
    acknowledged, and what ended it."""

    stop: threading.Event = field(default_factory=threading.Event)
    records: list[tuple[float, int, int]] = field(default_factory=list)
    sent: int = 0
    failed: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        by_partition = sorted(Counter(partition for _, partition, _ in self.records).items())
        return f"{self.sent} sent, acks by partition: {by_partition}, failed: {dict(self.failed)}"


@contextmanager
def traffic(bootstrap: str, topic: str, *, partitions: int, record_bytes: int = 200) -> Iterator[Acked]:
    """About 250 records a second, in turn over the partitions, with acks=all, until the block ends.

    A request that waits for a replica which leaves the ISR without another append is answered after
    `request.timeout.ms` only, and holds up all that follows on its connection, so it is given up soon and
    sent again.
    """
    acked = Acked()

    def note(error: object, message: Any) -> None:
        if error is None:
            acked.records.append((time.monotonic(), message.partition(), message.offset()))
        else:
            acked.failed[str(error)] += 1

    def produce() -> None:
        try:
            produce_all()
        except BaseException as error:
            acked.failed[f"the producer ended: {error!r}"] += 1
            raise

    def produce_all() -> None:
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "linger.ms": 0,
                "reconnect.backoff.max.ms": 500,
                "request.timeout.ms": GIVEN_UP_MS,
            }
        )
        while not acked.stop.wait(EVERY_S):
            if len(producer) < 10_000:
                value = b"x" * record_bytes
                producer.produce(topic, value, partition=acked.sent % partitions, on_delivery=note)
                acked.sent += 1
            producer.poll(0)
        producer.purge()
        producer.flush(5)

    thread = threading.Thread(target=produce, name="traffic")
    thread.start()
    try:
        wait_for_acks(acked, 100)
        yield acked
    finally:
        acked.stop.set()
        thread.join()


def wait_for_acks(acked: Acked, count: int, *, partition: int | None = None, within_s: float = 30.0) -> None:
    """Return when `count` more records are acknowledged, of any partition or of `partition`."""
    begin, deadline = len(acked.records), time.monotonic() + within_s
    while (more := sum(partition in (None, of) for _, of, _ in acked.records[begin:])) < count:
        assert time.monotonic() < deadline, f"{more} acks of {count} more after {within_s} s: {acked}"
        time.sleep(0.05)
