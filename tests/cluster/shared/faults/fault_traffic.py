"""A producer thread for the tests of faults: without traffic no counter moves, and nothing can be proven."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Producer

EVERY_S = 0.004


@dataclass
class Acked:
    """Acknowledged records of one topic: when, in which partition, at which offset. `stop` ends the load."""

    stop: threading.Event = field(default_factory=threading.Event)
    records: list[tuple[float, int, int]] = field(default_factory=list)


@contextmanager
def traffic(bootstrap: str, topic: str, *, partitions: int, record_bytes: int = 200) -> Iterator[Acked]:
    """About 250 records a second, in turn over the partitions, with acks=all, until the block ends."""
    acked = Acked()

    def note(error: object, message: Any) -> None:
        if error is None:
            acked.records.append((time.monotonic(), message.partition(), message.offset()))

    def produce() -> None:
        producer = Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, "reconnect.backoff.max.ms": 500}
        )
        number = 0
        while not acked.stop.wait(EVERY_S):
            if len(producer) < 10_000:
                producer.produce(topic, b"x" * record_bytes, partition=number % partitions, on_delivery=note)
                number += 1
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


def wait_for_acks(acked: Acked, count: int, *, within_s: float = 30.0) -> None:
    """Return when `count` more records are acknowledged."""
    wanted, deadline = len(acked.records) + count, time.monotonic() + within_s
    while len(acked.records) < wanted:
        assert time.monotonic() < deadline, f"{len(acked.records)} acks of {wanted} after {within_s} s"
        time.sleep(0.05)
