"""Transactional clients without any Kafka: what they are given is delivered at once, and a coordinator that a
test controls answers the rest. It fences as Kafka does: the client that was initialized last is the only one.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

Deliver = Callable[[KafkaError | None, Message], None]
PRODUCER_ID = 77


def timed_out() -> KafkaError:
    """The call has taken too long; to be called again."""
    return KafkaError(KafkaError._TIMED_OUT, "timed out", retriable=True)


def requires_abort() -> KafkaError:
    """The transaction can only be aborted."""
    return KafkaError(KafkaError._INCONSISTENT, "abort it", txn_requires_abort=True)


def fenced() -> KafkaError:
    """Another instance has its place."""
    return KafkaError(KafkaError._FENCED, "fenced", fatal=True)


@dataclass
class Coordinator:
    """Makes clients of one transactional id. `answers` are those to the next calls, by their names."""

    answers: dict[str, list[KafkaError | None]] = field(default_factory=dict)
    fails: int = 0
    """So many of the next records are not delivered."""
    in_flight: int = 0
    """Requests without an answer, in the statistics of every client that is fenced or not the newest."""
    calls: list[str] = field(default_factory=list)
    made: int = 0
    newest: int = 0
    """The number of the client that was initialized last."""

    def make(self, config: dict[str, Any]) -> "FakeClient":
        """The next client."""
        self.made += 1
        return FakeClient(self, self.made, config)


class FakeClient:
    """One client of a Coordinator; implements `workloads.clients.transactions.TransactionalClient`."""

    def __init__(self, coordinator: Coordinator, number: int, config: dict[str, Any]) -> None:
        self._coordinator, self._number, self.config = coordinator, number, config
        self._waiting: list[tuple[Deliver, KafkaError | None, Message]] = []
        self._offset = 0
        self._is_fenced = False

    def produce(
        self, topic: str, value: bytes, key: bytes, partition: int, deliver: Deliver, *_rest: object
    ) -> None:
        """Deliver with the next call of the client."""
        its = self._coordinator
        error = KafkaError(KafkaError._MSG_TIMED_OUT) if its.fails else None
        its.fails = max(0, its.fails - 1)
        self._waiting.append(
            (deliver, error, Message(topic=topic, partition=partition, value=value, offset=self._offset))
        )
        self._offset += 1

    def poll(self, timeout: float) -> int:
        """Serve what waits, and statistics each time."""
        waiting, self._waiting = self._waiting, []
        for deliver, error, message in waiting:
            deliver(error, message)
        self.config["stats_cb"](json.dumps(self._statistics()))
        time.sleep(min(timeout, 0.001))
        return len(waiting)

    def flush(self, timeout: float) -> int:
        """The same."""
        return self.poll(timeout)

    def purge(self) -> None:
        """There is never anything left."""

    def init_transactions(self, timeout: float, /) -> None:
        """Take over."""
        self._answer("init")
        self._coordinator.newest = self._number

    def begin_transaction(self) -> None:
        """Nobody is asked."""
        self._answer("begin")

    def commit_transaction(self, timeout: float, /) -> None:
        """Refused to a client that is not the newest."""
        self._end("commit")

    def abort_transaction(self, timeout: float, /) -> None:
        """The same."""
        self._end("abort")

    def _end(self, call: str) -> None:
        self.poll(0.0)
        self._answer(call)
        if self._coordinator.newest != self._number:
            raise KafkaException(fenced())

    def _answer(self, call: str) -> None:
        self._coordinator.calls.append(f"{call} {self._number}")
        answers = self._coordinator.answers.get(call)
        if answers and (error := answers.pop(0)) is not None:
            self._is_fenced |= error.code() == KafkaError._FENCED
            raise KafkaException(error)

    def _statistics(self) -> dict[str, Any]:
        is_old = self._is_fenced or self._coordinator.newest > self._number
        waiting = self._coordinator.in_flight if is_old else 0
        names = ("disconnects", "req_timeouts", "txretries", "txerrs", "outbuf_cnt")
        broker = {"nodeid": 1, "state": "UP", "stateage": 0, "waitresp_cnt": waiting}
        return {
            "ts": time.monotonic_ns() // 1000 + 1,
            "msg_cnt": len(self._waiting),
            "brokers": {"h:1/1": broker | dict.fromkeys(names, 0)},
            "topics": {},
            "eos": {"producer_id": PRODUCER_ID},
        }
