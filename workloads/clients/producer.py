"""One producer of the load: a client instance after another, each driven by one thread.

A client that goes fatal (say OUT_OF_ORDER_SEQUENCE_NUMBER after an unclean election) is purged, everything
it had outstanding is accounted for, and a new instance with a new producer number takes over.
"""

import time
from collections.abc import Callable, Sequence
from threading import Event
from typing import Any, Protocol

import numpy as np
from confluent_kafka import KafkaError, KafkaException
from numpy.typing import NDArray

from checkers.history.tables import NONE, Outcome
from workloads.clients.delivery_reports import Reports
from workloads.clients.producer_stats import Progress
from workloads.pace import Pace
from workloads.payload import Block, Encoder
from workloads.plan import WorkloadPlan, producer_config
from workloads.record.outcome import outcome
from workloads.record.recorder import Recorder, SendRecorder

POLL_S = 0.05
"""The longest a thread sits in one call of the client: a stop is seen, and what is pending journaled."""

FULL_S = 0.005
PURGED_WITHIN_S = 5.0
"""librdkafka reports what was purged at once; what it has not reported by then stays unknown."""


class Client(Protocol):
    """The part of confluent_kafka.Producer that is used."""

    @property
    def produce(self) -> Callable[..., None]:
        """(topic, value, key, partition, on_delivery, None, timestamp_ms, headers); raises if refused."""

    def poll(self, timeout: float) -> int:
        """Serve delivery reports; wait for the first at most `timeout` seconds."""

    def purge(self) -> None:
        """Give up everything in queues and in flight; each gets a delivery report."""


MakeClient = Callable[[dict[str, Any]], Client]


class Instance:
    """One client from its making to its end; used by one thread."""

    def __init__(
        self, plan: WorkloadPlan, bootstrap: str, make: MakeClient, recorder: SendRecorder, progress: Progress
    ) -> None:
        self._plan, self._recorder, self._progress = plan, recorder, progress
        self.fatal: KafkaError | None = None
        self.outstanding = 0
        self._next = 0
        self._encoder = Encoder(recorder.producer, plan.record_bytes, keyed=plan.keyed, headers=plan.headers)
        self._topics = [tp.topic for tp in plan.partitions]
        self._numbers = [tp.partition for tp in plan.partitions]
        self._reports = Reports(plan.record_bytes)
        progress.begin_instance()
        self._client = make(producer_config(plan, bootstrap) | {"error_cb": self._on_error})

    def drive(self, stop: Event, rate_per_s: float | None) -> None:
        """Send until `stop` is set or the client is fatal."""
        pace = Pace(rate_per_s, time.monotonic_ns())
        block = max(1, min(self._encoder.block_limit, self._plan.max_outstanding // 4))
        while not stop.is_set() and self.fatal is None:
            now_ns = time.monotonic_ns()
            full = self.outstanding + block > self._plan.max_outstanding
            count = 0 if full else pace.due(now_ns, min(block, self._encoder.room(self._next)))
            if count:
                self.send(count)
            self.settle(0.0 if count else FULL_S if full else pace.wait_s(now_ns))

    def send(self, count: int) -> None:
        """Write down the next `count` sends, then hand them to the client."""
        first = self._next
        lanes = self._plan.lanes(np.arange(first, first + count), self._recorder.producer)
        timestamp_ms = time.time_ns() // 1_000_000
        block = self._encoder.block(first, count, timestamp_ms)
        self._recorder.invoke(lanes, time.monotonic_ns(), block.checksums)
        self._next += count
        self.outstanding += count
        self._progress.sent += count
        self._hand_over(block, range(first, first + count), lanes.tolist(), timestamp_ms)

    def _hand_over(self, block: Block, sequences: range, lanes: list[int], timestamp_ms: int) -> None:
        produce, report = self._client.produce, self._reports.deliver
        headers = list(self._plan.headers) or None
        topics, numbers = map(self._topics.__getitem__, lanes), map(self._numbers.__getitem__, lanes)
        records = zip(sequences, topics, block.values, block.keys, numbers, strict=False)
        sequence = NONE
        while sequence != sequences[-1]:
            try:
                for sequence, topic, value, key, number in records:  # noqa: B007 - told when it raises
                    produce(topic, value, key, number, report, None, timestamp_ms, headers)
            except BufferError:
                self._refused(sequence, KafkaError(KafkaError._QUEUE_FULL))
            except KafkaException as raised:
                self._refused(sequence, raised.args[0])

    def settle(self, wait_s: float) -> None:
        """Wait for delivery reports at most `wait_s` seconds, and record how those sends ended."""
        try:
            self._client.poll(min(wait_s, POLL_S))
        except KafkaException as raised:
            self._on_error(raised.args[0])
        now_ns = time.monotonic_ns()
        sequences, offsets = self._reports.take_acked()
        if len(sequences):
            self._complete(sequences, now_ns, np.full(len(sequences), Outcome.OK, np.int8), offsets)
            lanes = self._plan.lanes(sequences, self._recorder.producer)
            self._progress.acknowledge(lanes, offsets, now_ns)
        sequences, errors = self._reports.take_failed()
        if errors:
            single = self._plan.single_attempt
            self._end(sequences, now_ns, [outcome(e, single_attempt=single) for e in errors], errors)
        self._recorder.flush_if_due(now_ns)

    def finish(self, within_s: float) -> None:
        """Wait for what is outstanding, give up the rest when the time is up, and let go of the client."""
        deadline = time.monotonic() + within_s
        while self.outstanding and self.fatal is None and time.monotonic() < deadline:
            self.settle(POLL_S)
        if self.outstanding:
            self._client.purge()
        deadline = time.monotonic() + PURGED_WITHIN_S
        while self.outstanding and time.monotonic() < deadline:
            self.settle(POLL_S)
        self._progress.unknown(self.outstanding)
        self._recorder.close()
        del self._client

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal() or error.code() == KafkaError._FATAL:
            self.fatal = error

    def _refused(self, sequence: int, error: KafkaError) -> None:
        """A send that the client did not take: it never left this process."""
        self._on_error(error)
        result = outcome(error, handed_over=False)
        self._end(np.array([sequence]), time.monotonic_ns(), [result], [error])

    def _end(
        self,
        sequences: NDArray[np.int64],
        now_ns: int,
        results: Sequence[Outcome],
        errors: Sequence[KafkaError],
    ) -> None:
        """Record sends that ended with an error each."""
        codes = [error.code() for error in errors]
        self._progress.fail(results, codes)
        none = np.full(len(results), NONE, np.int64)
        self._complete(sequences, now_ns, np.array(results, np.int8), none, np.array(codes, np.int16))

    def _complete(
        self,
        sequences: NDArray[np.int64],
        now_ns: int,
        results: NDArray[np.int8],
        offsets: NDArray[np.int64],
        codes: NDArray[np.int16] | int = 0,
    ) -> None:
        self.outstanding -= len(sequences)
        self._recorder.complete(sequences, now_ns, results, offsets, codes)


class Producing:
    """What one producer thread does: instance after instance until it is stopped."""

    def __init__(
        self,
        plan: WorkloadPlan,
        bootstrap: str,
        recorder: Recorder,
        make: MakeClient,
    ) -> None:
        self.progress = Progress(plan.partitions, offsets_told=plan.acks != "0")
        self.finish_within_s = plan.delivery_timeout_s
        self._plan, self._bootstrap, self._recorder, self._make = plan, bootstrap, recorder, make

    def __call__(self, stop: Event) -> None:
        """Run until `stop` is set; then flush for `finish_within_s` seconds and purge the rest."""
        rate = self._plan.rate_per_s
        share = None if rate is None else rate / self._plan.producers
        while not stop.is_set():
            sends = self._recorder.sends(acks=self._plan.acks, idempotent=self._plan.idempotent)
            instance = Instance(self._plan, self._bootstrap, self._make, sends, self.progress)
            try:
                instance.drive(stop, share)
            except BaseException:
                instance.finish(0.0)
                raise
            instance.finish(self.finish_within_s)
