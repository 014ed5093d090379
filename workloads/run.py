"""The load of a run: starts the producers, readers and samplers of a plan, and ends them.

    with start(plan, bootstrap, run_dir) as load:
        load.wait_warm(within_s=30)
        ...                       # faults
        load.stop_producers()     # every send has its outcome now
        ...                       # heal, settle, final read
    seal(run_dir)

Topics must exist and be settled (every broker knows every leader) before: an idempotent producer that meets
a topic too early gets records acknowledged that were never written (librdkafka ≤ 2.16).
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from compose.kafka.brokers import Brokers
from workloads.clients.check_settings import check_settings
from workloads.clients.consumer import tailing_reader
from workloads.clients.producer import PURGED_WITHIN_S, ProducerLoop
from workloads.clients.reader import ReaderLoop
from workloads.clients.transactions import TransactionalLoop
from workloads.errors import NotWarm
from workloads.observe.leaders import LeaderState
from workloads.observe.replica_offsets import ReplicaOffsets
from workloads.observe.sampler import ANSWER_WITHIN_S, Sampler
from workloads.plan import WorkloadPlan
from workloads.record.recorder import RecordedSends, Recorder
from workloads.watched_thread import Worker, end

LAST_CALL_S = 10.0
"""How long a thread may take to leave its last call of a client, beyond what it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The load at one moment; counts are since the start, over all producers and their instances.

    `acked_without_offset` is part of `acked`. `last_ack_ns` is -1 where there was none; `errors` are counted
    by Kafka's name of them. `last_fencing_ns` is when an instance was told last that it is fenced; -1: never.
    """

    at_ns: int
    sent: int
    acked: int
    acked_without_offset: int
    failed: int
    unknown: int
    instances: int
    last_ack_ns: Mapping[TopicPartition, int]
    errors: Mapping[str, int]
    delivered: int
    replaced_readers: int
    samples: int
    last_fencing_ns: int = NONE

    @property
    def outstanding(self) -> int:
        """Sends whose outcome is not known yet."""
        return self.sent - self.acked - self.failed - self.unknown


class Workload:
    """A running load. Leaving it ends every thread: in an orderly way, or at once if something was raised."""

    def __init__(self, plan: WorkloadPlan, bootstrap: str, run_dir: Path, run: str) -> None:
        self._plan = plan
        self._stack = ExitStack()
        recorder = self._stack.enter_context(Recorder(run_dir, plan.partitions, run))
        self._recorder = recorder
        brokers = self._stack.enter_context(Brokers(bootstrap, within_s=ANSWER_WITHIN_S))
        self._sampler = Sampler(
            brokers, plan.partitions, recorder.watermarks(), ReplicaOffsets(recorder.replica_offsets())
        )
        self._reader_loops = [*self._readers(bootstrap), *self._committed_readers(bootstrap)]
        self._producer_loops = self._loops(bootstrap)
        self._observers = [
            *(Worker(f"sampler of broker {n}", self._sampler.sampling(n)) for n in brokers.numbers),
            *(Worker(f"reader {n}", loop) for n, loop in enumerate(self._reader_loops, 1)),
        ]
        self._producers = [Worker(f"producer {n}", loop) for n, loop in enumerate(self._producer_loops, 1)]

    def _loops(self, bootstrap: str) -> Sequence[ProducerLoop | TransactionalLoop]:
        plan, recorder = self._plan, self._recorder
        if plan.transactions is None:
            return [ProducerLoop(plan, bootstrap, recorder) for _ in range(plan.producers)]
        rows = recorder.transactions()
        return [TransactionalLoop(plan, bootstrap, recorder, rows, each) for each in plan.transactions.ids]

    def _readers(self, bootstrap: str) -> Iterator[ReaderLoop]:
        """Those that read all; markers, which are no records, are behind the last one of a transaction."""
        open_reader = tailing_reader(bootstrap, reports_ends=self._plan.transactions is not None)
        for n in range(1, self._plan.readers + 1):
            reports = self._recorder.reads(n)
            yield ReaderLoop(self._plan.partitions, open_reader, reports, self._sampler.high_watermark)

    def _committed_readers(self, bootstrap: str) -> Iterator[ReaderLoop]:
        count = 0 if self._plan.transactions is None else self._plan.transactions.readers
        open_reader = tailing_reader(bootstrap, committed=True, reports_ends=True)
        for n in range(1, count + 1):
            reports = self._recorder.committed_reads(n)
            yield ReaderLoop(self._plan.partitions, open_reader, reports, self._sampler.last_stable)

    def check(self) -> None:
        """Raise WorkloadDied if a thread has died."""
        for worker in (*self._producers, *self._observers):
            worker.check()

    def wait_warm(self, *, within_s: float = 30.0) -> None:
        """Return when every producer has an acknowledgement on every partition; NotWarm after `within_s`."""
        deadline = time.monotonic() + within_s
        while cold := self._cold():
            self.check()
            if time.monotonic() > deadline:
                raise NotWarm(f"no acknowledgement after {within_s:g} s: {'; '.join(cold)}; {self._errors()}")
            time.sleep(0.02)
        self.check()

    def _cold(self) -> list[str]:
        names = [str(tp) for tp in self._plan.partitions]
        cold = {n: p.counts.cold_lanes for n, p in enumerate(self._producer_loops, 1)}
        return [f"producer {n} on {', '.join(names[i] for i in lanes)}" for n, lanes in cold.items() if lanes]

    def _errors(self) -> str:
        return f"errors so far: {dict(self.stats().errors) or 'none'}"

    def stats(self) -> Stats:
        """The figures of this moment; raises nothing."""
        counts = [loop.counts for loop in self._producer_loops]
        errors = sum((each.errors.copy() for each in counts), Counter[str]())
        last = np.max([each.last_ack_ns for each in counts], axis=0).tolist()
        return Stats(
            at_ns=time.monotonic_ns(),
            sent=sum(each.sent for each in counts),
            acked=sum(each.acked for each in counts),
            acked_without_offset=sum(each.acked_without_offset for each in counts),
            failed=sum(each.failed for each in counts),
            unknown=sum(each.indeterminate for each in counts),
            instances=sum(each.instances for each in counts),
            last_ack_ns=dict(zip(self._plan.partitions, last, strict=True)),
            errors=dict(errors.most_common()),
            delivered=sum(loop.delivered for loop in self._reader_loops),
            replaced_readers=sum(loop.replaced for loop in self._reader_loops),
            samples=self._sampler.samples,
            last_fencing_ns=max(each.last_fencing_ns for each in counts),
        )

    def recorded(self) -> Mapping[int, RecordedSends]:
        """What each producer instance has sent so far, as counted in memory."""
        return self._recorder.recorded()

    def states(self) -> tuple[LeaderState, ...]:
        """The last sample of each partition: leader, in-sync replicas, high watermark."""
        return self._sampler.states()

    def stop_producers(self, *, within_s: float | None = None) -> None:
        """End the sending: wait for what is outstanding `within_s` (else the delivery time-out) seconds.

        What is then still outstanding is purged and indeterminate. A second call does nothing.
        """
        wait_s = self._plan.delivery_timeout_s if within_s is None else within_s
        for loop in self._producer_loops:
            loop.finish_within_s = wait_s
        end(self._producers, within_s=wait_s + PURGED_WITHIN_S + LAST_CALL_S)

    def wait_read(self, *, within_s: float) -> None:
        """Return when every reader was given what the last samples show, or after `within_s`."""
        deadline = time.monotonic() + within_s
        while any(loop.is_behind for loop in self._reader_loops) and time.monotonic() < deadline:
            time.sleep(0.02)

    def stop(self, *, within_s: float | None = None) -> None:
        """End everything; what was recorded is in the journals, and closed, when this returns."""
        with self._stack:
            try:
                self.stop_producers(within_s=within_s)
            finally:
                end(self._observers, within_s=LAST_CALL_S)

    def __enter__(self) -> "Workload":
        """It has started already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything; at once, and without hiding what was raised, if something was."""
        if error is None:
            self.stop()
            return
        try:
            self.stop(within_s=0.0)
        except Exception as another:
            error.add_note(f"while ending the workload: {another}")


def start(plan: WorkloadPlan, bootstrap: str, run_dir: Path, run: str = "") -> Workload:
    """Start the load of `plan` against the brokers at `bootstrap`, recorded under `run_dir`/journal.

    `run` is the run's id, which every journal carries. Raises PlanRefused, before anything is connected to,
    for client settings that the client does not take.
    """
    check_settings(plan)
    return Workload(plan, bootstrap, run_dir, run)
