"""One transactional producer of the load: instance after instance of one transactional id, in one thread.

A transaction is journalled before its first send, before its end is asked for, and when its outcome is known.
Its sends are acknowledged with its commit, and not before.

    committed       commit_transaction has returned
    aborted         abort_transaction has returned, and no commit can have been asked for
    fenced          the client was told that its producer epoch is an old one
    indeterminate   anything else: the answer never came, or the client gave up after it may have asked for
                    the commit. Only the log knows. A new instance goes on: its initialization makes the
                    coordinator end what the older one has left.

The commit is asked for in short calls, which the client resumes, so that the thread can end. librdkafka
flushes before it sends EndTxn, and sends none after a record of the transaction has failed; so an abort that
follows a commit proves something only then.

A takeover is fencing on purpose: in the middle of a transaction a second instance is initialized, and then
the first one sends the rest, and asks for its commit.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any, Literal, Protocol

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Producer
from numpy.typing import NDArray

from checkers.history.rows import Fencing, Transaction
from checkers.history.tables import NONE
from workloads.clients.outcome import TRANSACTION_ABORTED, TRANSACTION_UNKNOWN, error_name
from workloads.clients.producer import (
    POLL_S,
    STATISTICS_WITHIN_S,
    Instance,
    ProducerClient,
    producer_settings,
)
from workloads.clients.protocol import ClientReports, SendReports, TransactionReports
from workloads.clients.retired import Retired, RetiredClients, keep_for_ever
from workloads.clients.send_counts import CountedSends, LanesOf, SendCounts
from workloads.pace import Pace
from workloads.plan import TransactionPlan, WorkloadPlan

CALL_S = 0.5
"""The longest a thread stays in one call that asks a coordinator for something; then it asks again."""

COORDINATOR_WITHIN_S = 15.0
"""Beyond the transaction's time-out: for a coordinator that takes over, and loads its part of the log."""

PAUSE_S = 0.2
"""Before the next instance, where one could not be initialized."""

RELEASED_WITHIN_S = 3.0
"""At the end of the load, for what retired clients have in flight."""

FENCED = frozenset(
    {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH},
)
"""Codes of the errors by which a client is told that another instance has its place, or its coordinator has
ended its transaction for it."""

Request = Literal["commit", "abort"]
ERROR_OF: Mapping[str, str] = {
    "aborted": TRANSACTION_ABORTED,
    "indeterminate": TRANSACTION_UNKNOWN,
    "fenced": error_name(KafkaError._FENCED),
}
"""What the delivered sends of a transaction end with that was not committed, by its outcome."""


class TransactionalClient(ProducerClient, Protocol):
    """The part of confluent_kafka.Producer that is used; what fails raises KafkaException.

    A call that has timed out, or whose error is retriable, is resumed by the next one.
    """

    def init_transactions(self, timeout: float, /) -> None:
        """Take over the transactional id: whoever has it is fenced, and its open transaction ended."""

    def begin_transaction(self) -> None:
        """Begin one; nobody is asked."""

    def commit_transaction(self, timeout: float, /) -> None:
        """Deliver what is outstanding, then commit."""

    def abort_transaction(self, timeout: float, /) -> None:
        """Purge what is outstanding, then abort."""


MakeTransactional = Callable[[dict[str, Any]], TransactionalClient]


def transactional_settings(plan: WorkloadPlan, bootstrap: str, transactional_id: str) -> dict[str, Any]:
    """Settings of one transactional producer of a plan that has transactions."""
    assert plan.transactions is not None
    return {
        **producer_settings(plan, bootstrap),
        "transactional.id": transactional_id,
        "transaction.timeout.ms": round(plan.transactions.timeout_s * 1000),
    }


class HeldSends(CountedSends):
    """Keeps acknowledgements until their transaction is committed; all else is passed on at once."""

    def __init__(self, reports: SendReports, counts: SendCounts, lanes_of: LanesOf) -> None:
        super().__init__(reports, counts, lanes_of)
        self._held: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._held_count = self._first = 0
        self.is_broken = False
        """Whether a send of the transaction that is open was given to the client and not delivered."""

    def begin(self, first: int) -> None:
        """From the sequence `first` on they are of another transaction."""
        self._first, self.is_broken = first, False

    @property
    def undelivered(self) -> int:
        """Sends that still take room in the client."""
        return self.outstanding - self._held_count

    def acknowledged(self, sequences: NDArray[np.int64], offsets: NDArray[np.int64], at_ns: int) -> None:
        """Keep them."""
        self._held.append((sequences, offsets))
        self._held_count += len(sequences)

    def indeterminate(self, sequences: NDArray[np.int64], errors: Sequence[str], at_ns: int) -> None:
        """Count, and pass on."""
        self.is_broken = self.is_broken or bool((sequences >= self._first).any())
        super().indeterminate(sequences, errors, at_ns)

    def committed(self, at_ns: int) -> None:
        """Pass on what was held as acknowledged."""
        for sequences, offsets in self._taken():
            super().acknowledged(sequences, offsets, at_ns)

    def not_committed(self, error: str, at_ns: int) -> None:
        """Pass on what was held as indeterminate."""
        for sequences, _ in self._taken():
            super().indeterminate(sequences, [error] * len(sequences), at_ns)

    def _taken(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        held, self._held, self._held_count = self._held, [], 0
        return held


class TransactionalInstance(Instance[TransactionalClient]):
    """One client of a transactional id from its making until it is retired; used by one thread."""

    def __init__(
        self,
        plan: WorkloadPlan,
        settings: Mapping[str, Any],
        make: MakeTransactional,
        reports: HeldSends,
        rows: TransactionReports,
    ) -> None:
        assert plan.transactions is not None
        super().__init__(plan, settings, make, reports)
        self._transactions = plan.transactions
        self._id = str(settings["transactional.id"])
        self._held, self._rows = reports, rows
        self._open: Transaction | None = None
        self._count = 0
        self._gave_up = False

    @property
    def producer(self) -> int:
        """The number of this instance in the run."""
        return self._held.producer

    @property
    def is_usable(self) -> bool:
        """Whether it can begin another transaction."""
        return self.fatal is None and not self._gave_up

    def initialize(self, stop: Event, meanwhile: Callable[[], None]) -> bool:
        """Take over the transactional id; False if `stop` was set first, or the client cannot go on.

        `meanwhile` is called between the calls of the client. Its producer id is known on return, if the
        client's statistics tell it.
        """
        while not stop.is_set() and self.is_usable:
            error = self._ask(self._client.init_transactions)
            meanwhile()
            self.settle(0.0)
            if error is None:
                self._wait_for_id(stop, meanwhile)
                return True
            self._gave_up = not _passes(error)
        return False

    def _wait_for_id(self, stop: Event, meanwhile: Callable[[], None]) -> None:
        deadline = time.monotonic() + STATISTICS_WITHIN_S
        while self._connections.producer_id == NONE and time.monotonic() < deadline and not stop.is_set():
            self.settle(POLL_S)
            meanwhile()

    def begin(self) -> bool:
        """Begin a transaction; False if the client does not."""
        begun_ns = time.monotonic_ns()
        if self._ask(lambda _: self._client.begin_transaction()) is not None:
            self._gave_up = True
            return False
        self._open = Transaction(
            producer=self.producer,
            number=self._count,
            first_sequence=self._next,
            last_sequence=self._next + self._transactions.records - 1,
            transactional_id=self._id,
            producer_id=self._connections.producer_id,
            timeout_ms=round(self._transactions.timeout_s * 1000),
            begun_ns=begun_ns,
        )
        self._count += 1
        self._held.begin(self._next)
        self._rows.transaction(self._open)
        return True

    def fill(self, stop: Event, pace: Pace, most: int) -> None:
        """Send up to `most` records of the open transaction at the load's pace, until `stop` is set.

        A transaction that has lost a record can only be aborted, and gets no more.
        """
        assert self._open is not None
        end = min(self._next + most, self._open.last_sequence + 1)
        while self._next < end and self.fatal is None and not (stop.is_set() or self._held.is_broken):
            self.step(pace, end - self._next)

    def end(self, wanted: Request, is_time_up: Callable[[], bool]) -> Transaction:
        """Ask for the end of the open transaction, which now has what was sent; how it has ended.

        A client that is fatal can ask for nothing: it is asked to abort, and tells why it is. What is to be
        aborted is delivered first, as far as that is quick: it would be purged.
        """
        assert self._open is not None
        if wanted == "abort" and self.fatal is None:
            self._serve(self._client.flush, CALL_S)
        self.settle(0.0)
        asked = replace(
            self._open,
            last_sequence=self._next - 1,
            request=wanted if self.fatal is None else "abort",
            requested_ns=time.monotonic_ns(),
        )
        self._rows.transaction(asked)
        outcome, error = self._result(asked.request == "commit", is_time_up)
        ended = replace(asked, outcome=outcome, error=error, completed_ns=time.monotonic_ns())
        self._rows.transaction(ended)
        self._open = None
        if outcome == "committed":
            self._held.committed(ended.completed_ns)
        else:
            self._held.not_committed(ERROR_OF[outcome], ended.completed_ns)
        return ended

    def _result(self, commit: bool, is_time_up: Callable[[], bool]) -> tuple[str, str]:
        """The outcome, and the last error there was."""
        may_be_committed, last = False, ""
        while (error := self._ask_for_end(commit=commit)) is not None:
            self.settle(0.0)
            last = error_name(error.code())
            if error.fatal() or self.fatal is not None:
                why = self.fatal = error if self.fatal is None else self.fatal
                its = why if why.code() in FENCED else error
                return "fenced" if its.code() in FENCED else "indeterminate", error_name(its.code())
            if commit and error.txn_requires_abort():
                commit, may_be_committed = False, not self._held.is_broken
            elif is_time_up() or not _passes(error):
                self._gave_up = True
                return "indeterminate", last
        self.settle(0.0)
        if commit:
            return "committed", last
        return "indeterminate" if may_be_committed else "aborted", last

    def _ask_for_end(self, *, commit: bool) -> KafkaError | None:
        return self._ask(self._client.commit_transaction if commit else self._client.abort_transaction)

    def _ask(self, call: Callable[[float], None]) -> KafkaError | None:
        """One call; None if it has succeeded."""
        try:
            call(CALL_S)
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            return error
        return None

    def retire(self, *, orderly: bool) -> Retired:
        """Give up what is left in the client, and end the reports. Its client is no longer this one's.

        `orderly`: what went wrong with its connections is waited for.
        """
        client = self._client
        try:
            self.give_up()
            if orderly and self.fatal is None:
                self._report_connections(time.monotonic_ns())
            self._held.not_committed(TRANSACTION_UNKNOWN, time.monotonic_ns())
            self._connections.end_reports()
            self._reports.close()
        except BaseException:
            keep_for_ever(client)
            raise
        del self._client
        return Retired(client=client, connections=self._connections, since_ns=time.monotonic_ns())


def _passes(error: KafkaError) -> bool:
    """Whether to ask again."""
    return error.retriable() or error.code() == KafkaError._TIMED_OUT


class TransactionalLoop:
    """What one producer thread does: transaction after transaction until it is stopped."""

    def __init__(
        self,
        plan: WorkloadPlan,
        bootstrap: str,
        reports: ClientReports,
        rows: TransactionReports,
        transactional_id: str,
        make: MakeTransactional = Producer,
    ) -> None:
        assert plan.transactions is not None
        self.counts = SendCounts(plan.partitions, offsets_known=True)
        self.finish_within_s = plan.delivery_timeout_s
        self._plan, self._transactions = plan, plan.transactions
        self._reports, self._rows, self._make = reports, rows, make
        self._id = transactional_id
        self._settings = transactional_settings(plan, bootstrap, self._id)
        self._chance = random.Random(f"{plan.seed} {self._id}")
        self._retired = RetiredClients()
        self._stopped_s: float | None = None

    def __call__(self, stop: Event) -> None:
        """Run until `stop` is set; then end the open transaction, within `finish_within_s` seconds."""
        rate = self._plan.rate_per_s
        pace = Pace(None if rate is None else rate / self._plan.producers, time.monotonic_ns())
        takeovers = _Takeovers(self._transactions, time.monotonic())
        instance: TransactionalInstance | None = None
        try:
            while not stop.is_set():
                self._retired.serve()
                if instance is None:
                    instance = self._initialized(self._new_instance(), stop, self._retired.serve)
                    continue
                older, instance = instance, self._one_transaction(instance, stop, pace, takeovers)
                if older is not instance:
                    self._retire(older, orderly=False)
        except BaseException:
            self._leave(instance, orderly=False)
            raise
        self._leave(instance, orderly=self.finish_within_s > 0)

    def _leave(self, instance: TransactionalInstance | None, *, orderly: bool) -> None:
        """Retire the last instance, and release what can be released."""
        try:
            if instance is not None:
                self._retire(instance, orderly=orderly)
        finally:
            self._retired.end(RELEASED_WITHIN_S)

    def _new_instance(self) -> TransactionalInstance:
        reports = self._reports.sends(acks=self._plan.acks, idempotent=self._plan.idempotent)
        lanes_of = partial(self._plan.lanes, producer=reports.producer)
        held = HeldSends(reports, self.counts, lanes_of)
        return TransactionalInstance(self._plan, self._settings, self._make, held, self._rows)

    def _initialized(
        self, instance: TransactionalInstance, stop: Event, meanwhile: Callable[[], None]
    ) -> TransactionalInstance | None:
        """This instance when it has taken over its id; None, and it is retired, if it never has."""
        try:
            if instance.initialize(stop, meanwhile):
                return instance
        except BaseException:
            self._retire(instance, orderly=False)
            raise
        self._retire(instance, orderly=False)
        stop.wait(PAUSE_S)
        return None

    def _retire(self, instance: TransactionalInstance, *, orderly: bool) -> None:
        self._retired.add(instance.retire(orderly=orderly))

    def _one_transaction(
        self, instance: TransactionalInstance, stop: Event, pace: Pace, takeovers: "_Takeovers"
    ) -> TransactionalInstance | None:
        """Who is to make the next one: the same, the one that has taken over, or nobody yet."""
        if not instance.begin():
            return None
        wanted: Request = "abort" if self._chance.random() < self._transactions.aborts else "commit"
        if not takeovers.is_due(time.monotonic()):
            instance.fill(stop, pace, self._transactions.records)
            self._end(instance, wanted, stop, Fencing(transactional_id=self._id, producer=instance.producer))
            return instance if instance.is_usable else None
        instance.fill(stop, pace, self._transactions.records // 2)
        successor, fencing = self._take_over(instance, stop)
        try:
            instance.fill(stop, pace, self._transactions.records)
            self._end(instance, "commit", stop, fencing)
        except BaseException:
            if successor is not None:
                self._retire(successor, orderly=False)
            raise
        return successor

    def _take_over(
        self, older: TransactionalInstance, stop: Event
    ) -> tuple[TransactionalInstance | None, Fencing]:
        """A new instance of the id, while an older one is in the middle of a transaction; None: it cannot."""
        newer = self._new_instance()
        fencing = Fencing(
            transactional_id=self._id,
            producer=older.producer,
            by=newer.producer,
            begun_ns=time.monotonic_ns(),
        )
        self._rows.fencing(fencing)
        successor = self._initialized(newer, stop, lambda: older.settle(0.0))
        if successor is not None:
            fencing = replace(fencing, done_ns=time.monotonic_ns())
            self._rows.fencing(fencing)
        return successor, fencing

    def _end(self, instance: TransactionalInstance, wanted: Request, stop: Event, fencing: Fencing) -> None:
        """End its transaction; if it was fenced, its `fencing` gets the end of it."""
        begin_s = time.monotonic()
        ended = instance.end(wanted, lambda: self._is_time_up(stop, begin_s))
        if ended.outcome == "fenced":
            self._rows.fencing(replace(fencing, at_ns=ended.completed_ns, error=ended.error))
            self.counts.last_fencing_ns = ended.completed_ns

    def _is_time_up(self, stop: Event, begin_s: float) -> bool:
        now_s = time.monotonic()
        if stop.is_set():
            self._stopped_s = now_s if self._stopped_s is None else self._stopped_s
            if now_s >= self._stopped_s + self.finish_within_s:
                return True
        return now_s >= begin_s + self._transactions.timeout_s + COORDINATOR_WITHIN_S


class _Takeovers:
    """When the next takeover is due; the first one a whole interval after the start."""

    def __init__(self, plan: TransactionPlan, now_s: float) -> None:
        self._every_s = plan.takeover_s
        self._last_s = now_s

    def is_due(self, now_s: float) -> bool:
        """Whether it is; then the next one is so much later."""
        if self._every_s is None or now_s < self._last_s + self._every_s:
            return False
        self._last_s = now_s
        return True
