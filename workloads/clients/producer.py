"""One librdkafka producer of the load: a client instance after another, each driven by one thread.

A client that goes fatal (OUT_OF_ORDER_SEQUENCE_NUMBER after an unclean election) is purged, everything
it had outstanding is reported, and a new instance with a new producer number takes over.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Event
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Producer
from numpy.typing import NDArray

from checkers.history.tables import NONE, Outcome
from workloads.clients.connections import INTERVAL_MS, Connections
from workloads.clients.delivery_reports import DeliveryReports
from workloads.clients.outcome import error_name, outcome
from workloads.clients.protocol import ClientReports
from workloads.clients.send_counts import CountedSends, SendCounts
from workloads.pace import BURST_NS, Pace
from workloads.payload import Block, Encoder
from workloads.plan import QUIET, WorkloadPlan

POLL_S = 0.05
"""The longest a thread stays in one call of the client; between calls it checks for a stop and flushes."""

COLD_ROUNDS = 4
"""Outstanding during a slow start: so many batches a partition."""

FULL_S = 0.005
FLUSH_S, FLUSH_EVERY_NS = 0.005, BURST_NS
"""How long a flush waits, since the client's threads need a moment to see that they are to send; and how soon
the next one follows where there was no burst, for what is to be sent again."""

SILENT = logging.getLogger("highwater.librdkafka")
"""Without a logger librdkafka prints a fatal error to stderr at any log level, though it is handled here."""
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False

LINGER_MS, MOST_LINGER_MS = 5, 30_000
STATISTICS_WITHIN_S = 2 * INTERVAL_MS / 1000
PURGED_WITHIN_S = 5.0
"""librdkafka reports what was purged at once; what it has not reported by then stays indeterminate."""


class ProducerClient(Protocol):
    """The part of confluent_kafka.Producer that is used."""

    @property
    def produce(self) -> Callable[..., None]:
        """(topic, value, key, partition, on_delivery, None, timestamp_ms, headers); raises if refused."""

    def poll(self, timeout: float) -> int:
        """Serve delivery reports; wait for the first at most `timeout` seconds."""

    def flush(self, timeout: float) -> int:
        """As `poll`, and what waits for more of its batch is sent at once."""

    def purge(self) -> None:
        """Give up everything in queues and in flight; each gets a delivery report."""


MakeProducer = Callable[[dict[str, Any]], ProducerClient]
Client = TypeVar("Client", bound=ProducerClient)


def producer_settings(plan: WorkloadPlan, bootstrap: str) -> dict[str, Any]:
    """Settings of one producer.

    A producer with a rate lingers for long, and is flushed after each burst. For what has lingered, but may
    not be sent while the records before it are in flight, an idempotent client asks again and again without
    a pause: a core for each client and broker that is slow, paused or stalled.

    Reconnecting is tried every 0.5 s, for a client that waits longer reaches a healed cluster late. The
    delivery time-out is long: a short one makes librdkafka bump its epoch and send written records again.
    """
    return {
        "bootstrap.servers": bootstrap,
        "acks": plan.acks,
        "enable.idempotence": plan.idempotent,
        "delivery.timeout.ms": round(plan.delivered_within_s * 1000),
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 500,
        "linger.ms": linger_ms(plan),
        "queue.buffering.max.messages": max(100_000, 2 * plan.max_outstanding),
        "topic.metadata.refresh.interval.ms": 5000,
        **QUIET,
        **plan.client,
    }


def linger_ms(plan: WorkloadPlan) -> int:
    """Of a producer with a rate, half of its delivery time-out, as it must be below that."""
    if plan.rate_per_s is None:
        return LINGER_MS
    return min(MOST_LINGER_MS, max(LINGER_MS, round(plan.delivered_within_s * 500)))


class Instance(Generic[Client]):
    """One client from its making to its end; used by one thread."""

    def __init__(
        self,
        plan: WorkloadPlan,
        settings: Mapping[str, Any],
        make: Callable[[dict[str, Any]], Client],
        reports: CountedSends,
    ) -> None:
        self._plan, self._reports = plan, reports
        self.fatal: KafkaError | None = None
        self._next = self._flushed_ns = 0
        self._encoder = Encoder(reports.producer, plan.record_bytes, keyed=plan.keyed, headers=plan.headers)
        self._topics = [tp.topic for tp in plan.partitions]
        self._numbers = [tp.partition for tp in plan.partitions]
        self._deliveries = DeliveryReports(plan.record_bytes, acks=plan.acks)
        self._connections = Connections(reports, time.monotonic_ns())
        callbacks = {"error_cb": self._on_error, "stats_cb": self._connections.take, "logger": SILENT}
        self._client = make({"statistics.interval.ms": INTERVAL_MS, **settings, **callbacks})

    def drive(self, stop: Event, rate_per_s: float | None) -> None:
        """Send until `stop` is set or the client is fatal."""
        pace = Pace(rate_per_s, time.monotonic_ns())
        while not stop.is_set() and self.fatal is None:
            self.step(pace, self._encoder.block_limit)

    def step(self, pace: Pace, most: int) -> None:
        """Send what is due and has room, at most `most` records; serve the client, or wait for a while."""
        now_ns = time.monotonic_ns()
        room = self._most_outstanding
        block = max(1, min(self._encoder.block_limit, room // 4))
        full = self._reports.undelivered + block > room
        count = 0 if full else pace.due(now_ns, min(most, block, self._encoder.room(self._next)))
        if count:
            self.send(count)
        if self._plan.rate_per_s is not None and (count or now_ns >= self._flushed_ns + FLUSH_EVERY_NS):
            self._flushed_ns = now_ns
            self._serve(self._client.flush, FLUSH_S)
        self.settle(0.0 if count else FULL_S if full else pace.wait_s(now_ns))

    @property
    def _most_outstanding(self) -> int:
        """How many sends may be outstanding now."""
        cold = self._plan.slow_start and not self._reports.been_warm
        most = self._plan.max_outstanding
        return min(most, COLD_ROUNDS * self._plan.one_round) if cold else most

    def send(self, count: int) -> None:
        """Report the next `count` sends, then give them to the client."""
        first = self._next
        lanes = self._plan.lanes(np.arange(first, first + count), self._reports.producer)
        timestamp_ms = time.time_ns() // 1_000_000
        block = self._encoder.block(first, count, timestamp_ms)
        self._reports.sent(lanes, time.monotonic_ns(), block.checksums)
        self._next += count
        self._give(block, range(first, first + count), lanes.tolist(), timestamp_ms)

    def _give(self, block: Block, sequences: range, lanes: list[int], timestamp_ms: int) -> None:
        produce, deliver = self._client.produce, self._deliveries.deliver
        headers = list(self._plan.headers) or None
        topics, numbers = map(self._topics.__getitem__, lanes), map(self._numbers.__getitem__, lanes)
        records = zip(sequences, topics, block.values, block.keys, numbers, strict=False)
        sequence = NONE
        while sequence != sequences[-1]:
            try:
                for sequence, topic, value, key, number in records:  # noqa: B007 - used when it raises
                    produce(topic, value, key, number, deliver, None, timestamp_ms, headers)
            except BufferError:
                self._refused(sequence, KafkaError(KafkaError._QUEUE_FULL))
            except KafkaException as raised:
                self._refused(sequence, raised.args[0])

    def settle(self, wait_s: float) -> None:
        """Wait for delivery reports at most `wait_s` seconds, and report how those sends ended."""
        self._serve(self._client.poll, min(wait_s, POLL_S))
        now_ns = time.monotonic_ns()
        sequences, offsets = self._deliveries.take_acked()
        if len(sequences):
            self._reports.acknowledged(sequences, offsets, now_ns)
        sequences, errors = self._deliveries.take_failed()
        if errors:
            single = self._plan.single_attempt
            self._end(sequences, [outcome(e, single_attempt=single) for e in errors], errors, now_ns)
        self._reports.flush_if_due(now_ns)

    def _serve(self, call: Callable[[float], int], within_s: float) -> None:
        """Let the client serve its delivery reports; what it raises is an error of its own."""
        try:
            call(within_s)
        except KafkaException as raised:
            self._on_error(raised.args[0])

    def finish(self, within_s: Callable[[], float]) -> None:
        """Wait for what is outstanding, give up the rest when the time is up, and release the client.

        `within_s` is asked again and again: who waits for this may have less time than there was.
        """
        begin = time.monotonic()
        while self._reports.outstanding and self.fatal is None and time.monotonic() < begin + within_s():
            self._serve(self._client.flush, POLL_S)
            self.settle(0.0)
        self.give_up()
        if within_s() > 0 and self.fatal is None:
            self._report_connections(time.monotonic_ns())
        self._reports.close()
        del self._client

    def give_up(self) -> None:
        """Purge what is still in the client; each of it gets its outcome."""
        if self._reports.undelivered:
            self._client.purge()
        deadline = time.monotonic() + PURGED_WITHIN_S
        while self._reports.undelivered and time.monotonic() < deadline:
            self.settle(POLL_S)

    def _report_connections(self, until_ns: int) -> None:
        """Wait for the client's next statistics: what it sent last shows in them."""
        deadline = time.monotonic() + STATISTICS_WITHIN_S
        while self._connections.until_ns < until_ns and time.monotonic() < deadline:
            self.settle(POLL_S)

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal() or error.code() == KafkaError._FATAL:
            self.fatal = error

    def _refused(self, sequence: int, error: KafkaError) -> None:
        """A send that the client did not take: it never left this process."""
        self._on_error(error)
        result = outcome(error, handed_over=False)
        self._end(np.array([sequence]), [result], [error], time.monotonic_ns())

    def _end(
        self,
        sequences: NDArray[np.int64],
        results: Sequence[Outcome],
        errors: Sequence[KafkaError],
        now_ns: int,
    ) -> None:
        """Report sends that ended with an error each."""
        column, names = np.array(results, np.int8), [error_name(error.code()) for error in errors]
        for result, report in (
            (Outcome.FAIL, self._reports.failed),
            (Outcome.INFO, self._reports.indeterminate),
        ):
            rows = np.flatnonzero(column == result)
            if len(rows):
                report(sequences[rows], [names[row] for row in rows.tolist()], now_ns)


class ProducerLoop:
    """What one producer thread does: instance after instance until it is stopped."""

    def __init__(
        self, plan: WorkloadPlan, bootstrap: str, reports: ClientReports, make: MakeProducer = Producer
    ) -> None:
        self.counts = SendCounts(plan.partitions, offsets_known=plan.acks != "0")
        self.finish_within_s = plan.delivery_timeout_s
        self._plan, self._bootstrap, self._reports, self._make = plan, bootstrap, reports, make

    def __call__(self, stop: Event) -> None:
        """Run until `stop` is set; then flush for `finish_within_s` seconds and purge the rest."""
        rate = self._plan.rate_per_s
        share = None if rate is None else rate / self._plan.producers
        settings = producer_settings(self._plan, self._bootstrap)
        while not stop.is_set():
            reports = self._reports.sends(acks=self._plan.acks, idempotent=self._plan.idempotent)
            lanes_of = partial(self._plan.lanes, producer=reports.producer)
            counted = CountedSends(reports, self.counts, lanes_of)
            instance = Instance(self._plan, settings, self._make, counted)
            try:
                instance.drive(stop, share)
            except BaseException:
                instance.finish(lambda: 0.0)
                raise
            instance.finish(lambda: self.finish_within_s)
