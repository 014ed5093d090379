"""Each transaction ends for certain or is left to the log, and a replaced client is not released too soon."""

import json
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaError, Producer
from fakes.world.mock_kafka import MockKafka
from fakes.world.transactional_client import (
    PRODUCER_ID,
    Coordinator,
    fenced,
    requires_abort,
    timed_out,
)

from checkers.history.rows import TopicPartition
from workloads.clients import transactions
from workloads.clients.connections import Connections
from workloads.clients.retired import Retired, RetiredClients
from workloads.clients.send_counts import SendCounts
from workloads.clients.transactions import HeldSends, MakeTransactional, TransactionalLoop
from workloads.errors import PlanRefused
from workloads.plan import TransactionPlan, WorkloadPlan
from workloads.record.recorder import Recorder
from workloads.record.seal import seal
from workloads.watched_thread import Worker

OK, FAIL, INFO = 0, 1, 2
END_TXN = 26
Rows = list[dict[str, Any]]


def plan(**changes: Any) -> WorkloadPlan:
    """One producer whose transactions have ten records in two partitions."""
    of_transactions = {"ids": ("payments-1",), "records": 10, "aborts": 0.0, "timeout_s": 1.0, **changes}
    return WorkloadPlan(
        topics={"t": 2}, producers=1, rate_per_s=1000.0, transactions=TransactionPlan(**of_transactions)
    )


@contextmanager
def producing(
    asked: WorkloadPlan, run: Path, make: MakeTransactional, bootstrap: str = "x:1"
) -> Iterator[TransactionalLoop]:
    """A transactional producer at work."""
    with Recorder(run, asked.partitions) as recorder:
        loop = TransactionalLoop(asked, bootstrap, recorder, recorder.transactions(), "payments-1", make)
        loop.finish_within_s = 2.0
        worker = Worker("producer", loop)
        try:
            yield loop
        finally:
            worker.stop()
            worker.join(time.monotonic() + 20)
        worker.check()


def until(what: Callable[[], object], within_s: float = 10.0) -> None:
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.005)


def sealed(run: Path) -> tuple[Rows, Rows, Rows]:
    """The sends, the transactions and the fencings; asserts that each send is in one transaction."""
    seal(run)
    sends: Rows = ds.dataset(run / "history/sends").to_table().to_pylist()
    ended, fencings = (
        pq.read_table(run / f"history/{name}.parquet").to_pylist() for name in ("transactions", "fencings")
    )
    for producer, count in Counter(row["producer"] for row in sends).items():
        its = sorted((r for r in ended if r["producer"] == producer), key=lambda row: row["number"])
        assert [row["number"] for row in its] == list(range(len(its)))
        covered = [n for row in its for n in range(row["first_sequence"], row["last_sequence"] + 1)]
        assert covered == list(range(count))
    return sends, ended, fencings


def of(sends: Rows, row: dict[str, Any]) -> Rows:
    """The sends of a transaction."""
    its = range(row["first_sequence"], row["last_sequence"] + 1)
    return [send for send in sends if send["producer"] == row["producer"] and send["sequence"] in its]


def outcomes(sends: Rows) -> set[tuple[int, str]]:
    return {(send["outcome"], send["error"]) for send in sends}


def test_a_send_is_acknowledged_when_its_transaction_is_committed(tmp_path: Path) -> None:
    coordinator = Coordinator()
    with producing(plan(), tmp_path, coordinator.make) as loop:
        until(lambda: loop.counts.acked >= 50)
    sends, ended, fencings = sealed(tmp_path)
    assert {(row["outcome"], row["request"], row["error"]) for row in ended} == {("committed", "commit", "")}
    assert {(row["transactional_id"], row["producer_id"]) for row in ended} == {("payments-1", PRODUCER_ID)}
    assert {row["timeout_ms"] for row in ended} == {1000}
    assert outcomes(sends) == {(OK, "")}
    assert all(row["begun_ns"] <= row["requested_ns"] <= row["completed_ns"] for row in ended)
    for row in ended:
        assert {send["completed_ns"] for send in of(sends, row)} <= {row["completed_ns"]}
        assert all(row["begun_ns"] <= send["invoked_ns"] <= row["requested_ns"] for send in of(sends, row))
    assert {send["partition"] for send in of(sends, ended[0])} == {0, 1}
    assert fencings == []


def test_what_is_aborted_on_purpose_is_not_acknowledged(tmp_path: Path) -> None:
    with producing(plan(aborts=1.0), tmp_path, Coordinator().make) as loop:
        until(lambda: loop.counts.indeterminate >= 30)
    sends, ended, _ = sealed(tmp_path)
    assert {(row["outcome"], row["request"]) for row in ended} == {("aborted", "abort")}
    assert outcomes(sends) == {(INFO, "_TRANSACTION_ABORTED")}


def test_of_a_commit_without_an_answer_nobody_knows_and_another_instance_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "COORDINATOR_WITHIN_S", -0.9)
    coordinator = Coordinator(answers={"commit": [None, *(timed_out() for _ in range(100_000))]})
    with producing(plan(), tmp_path, coordinator.make) as loop:
        until(lambda: coordinator.made == 2)
        coordinator.answers.clear()
        acked = loop.counts.acked
        until(lambda: loop.counts.acked > acked)
    sends, ended, fencings = sealed(tmp_path)
    first = [row for row in ended if row["producer"] == 1]
    assert [row["outcome"] for row in first] == ["committed", "indeterminate"]
    assert (first[1]["request"], first[1]["error"]) == ("commit", "_TIMED_OUT")
    assert outcomes(of(sends, first[1])) == {(INFO, "_TRANSACTION_UNKNOWN")}
    assert {row["outcome"] for row in ended if row["producer"] == 2} == {"committed"}
    assert fencings == [], "it was not told anything"


@pytest.mark.parametrize(("fails", "outcome"), [(1, "aborted"), (0, "indeterminate")])
def test_an_abort_after_a_commit_proves_something_only_if_a_record_had_failed(
    tmp_path: Path, fails: int, outcome: str
) -> None:
    """Then the client has not sent the commit; else it may have. It goes on, either way."""
    coordinator = Coordinator(answers={"commit": [requires_abort()]}, fails=fails)
    with producing(plan(), tmp_path, coordinator.make) as loop:
        until(lambda: loop.counts.acked >= 10)
    sends, ended, _ = sealed(tmp_path)
    assert [row["outcome"] for row in ended[:2]] == [outcome, "committed"]
    assert (ended[0]["request"], coordinator.made) == ("commit", 1)
    error = "_TRANSACTION_ABORTED" if fails else "_TRANSACTION_UNKNOWN"
    assert outcomes(of(sends, ended[0])) - {(INFO, "_MSG_TIMED_OUT")} <= {(INFO, error)}


def test_an_instance_that_is_fenced_is_replaced(tmp_path: Path) -> None:
    """As when its coordinator has ended its transaction for it: nobody of the load has taken over."""
    coordinator = Coordinator(answers={"commit": [None, fenced()]})
    with producing(plan(), tmp_path, coordinator.make) as loop:
        until(lambda: coordinator.made == 2 and loop.counts.acked >= 30)
        assert loop.counts.last_fencing_ns > 0
    sends, ended, (fencing,) = sealed(tmp_path)
    (row,) = [row for row in ended if row["outcome"] == "fenced"]
    assert (row["producer"], row["error"]) == (1, "_FENCED")
    assert outcomes(of(sends, row)) == {(INFO, "_FENCED")}
    assert (fencing["producer"], fencing["by"], fencing["done_ns"]) == (1, -1, -1)
    assert (fencing["at_ns"], fencing["error"]) == (row["completed_ns"], "_FENCED")


def test_another_error_that_is_fatal_leaves_the_commit_unknown(tmp_path: Path) -> None:
    fatal = KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "no", fatal=True)
    coordinator = Coordinator(answers={"commit": [fatal]})
    with producing(plan(), tmp_path, coordinator.make) as loop:
        until(lambda: loop.counts.acked >= 10)
    _, ended, fencings = sealed(tmp_path)
    assert (ended[0]["outcome"], ended[1]["producer"]) == ("indeterminate", 2)
    assert fencings == []


def test_a_second_instance_takes_over_and_the_first_one_is_fenced_when_it_commits(tmp_path: Path) -> None:
    coordinator = Coordinator()
    with producing(plan(takeover_s=0.2), tmp_path, coordinator.make) as loop:
        until(lambda: coordinator.made >= 5)
        acked = loop.counts.acked
        until(lambda: loop.counts.acked > acked)
    sends, ended, fencings = sealed(tmp_path)
    lost = {row["producer"]: row for row in ended if row["outcome"] == "fenced"}
    *whole, _ = fencings  # the last one may have been broken off
    assert len(whole) >= 3
    for row in whole:
        zombie = lost[row["producer"]]
        assert row["by"] == row["producer"] + 1
        assert zombie["begun_ns"] <= row["begun_ns"] <= row["done_ns"] <= zombie["requested_ns"]
        assert (row["at_ns"], row["error"]) == (zombie["completed_ns"], "_FENCED")
        assert zombie["last_sequence"] - zombie["first_sequence"] == 9, "it has sent the rest"
        late = [send for send in of(sends, zombie) if send["invoked_ns"] > row["done_ns"]]
        assert late
        assert outcomes(of(sends, zombie)) == {(INFO, "_FENCED")}


def test_a_coordinator_that_is_not_there_at_first_is_asked_again(tmp_path: Path) -> None:
    coordinator = Coordinator(answers={"init": [timed_out(), timed_out()]})
    with producing(plan(), tmp_path, coordinator.make) as loop:
        until(lambda: loop.counts.acked >= 10)
    assert coordinator.calls[:4] == ["init 1", "init 1", "init 1", "begin 1"]


def test_a_load_that_is_stopped_ends_its_transaction_with_what_was_sent(tmp_path: Path) -> None:
    slow = plan(records=1000, timeout_s=20.0)
    with producing(slow, tmp_path, Coordinator().make) as loop:
        until(lambda: loop.counts.sent > 0)
    sends, ended, _ = sealed(tmp_path)
    assert [row["outcome"] for row in ended] == ["committed"]
    assert 0 < len(sends) < 1000
    assert outcomes(sends) == {(OK, "")}


def test_a_load_that_is_abandoned_asks_for_nothing_twice(tmp_path: Path) -> None:
    """Within no time at all: the answer that does not come leaves the commit unknown."""
    coordinator = Coordinator(answers={"commit": [timed_out() for _ in range(1000)]})
    with producing(plan(records=1000, timeout_s=20.0), tmp_path, coordinator.make) as loop:
        loop.finish_within_s = 0.0
        until(lambda: loop.counts.sent > 0)
    _, ended, _ = sealed(tmp_path)
    assert [row["outcome"] for row in ended] == ["indeterminate"]
    assert coordinator.calls.count("commit 1") == 1


def test_librdkafka_commits_its_transactions(tmp_path: Path) -> None:
    """The real client, against a mock of Kafka that knows no markers."""
    asked = plan(aborts=0.3, timeout_s=10.0)
    with MockKafka(3, t=2) as kafka, producing(asked, tmp_path, Producer, kafka.bootstrap) as loop:
        until(lambda: loop.counts.acked >= 50 and loop.counts.indeterminate >= 10, within_s=20)
    sends, ended, _ = sealed(tmp_path)
    assert {row["outcome"] for row in ended} == {"committed", "aborted"}
    assert {row["producer_id"] for row in ended} != {-1}
    for row in ended:
        assert {send["outcome"] for send in of(sends, row)} <= {OK if row["outcome"] == "committed" else INFO}


def test_librdkafka_is_told_that_it_is_fenced(tmp_path: Path) -> None:
    asked = plan(timeout_s=10.0)
    with MockKafka(3, t=2) as kafka, producing(asked, tmp_path, Producer, kafka.bootstrap) as loop:
        until(lambda: loop.counts.acked >= 10, within_s=20)
        kafka.answer(END_TXN, KafkaError.INVALID_PRODUCER_EPOCH)
        until(lambda: loop.counts.instances == 2, within_s=20)
        acked = loop.counts.acked
        until(lambda: loop.counts.acked > acked, within_s=20)
    _, ended, (fencing,) = sealed(tmp_path)
    assert [row["outcome"] for row in ended if row["producer"] == fencing["producer"]][-1] == "fenced"


@dataclass
class Held:
    """A client whose statistics the test controls."""

    connections: Connections
    in_flight: int = 1
    late_s: float = 0.0

    def poll(self, timeout: float) -> int:
        broker = {"nodeid": 1, "state": "UP", "stateage": 0, "waitresp_cnt": self.in_flight, "outbuf_cnt": 0}
        counters = dict.fromkeys(("disconnects", "req_timeouts", "txretries", "txerrs"), 0)
        ts = int((time.monotonic() - self.late_s) * 1e6) + 1
        brokers = {"h:1/1": broker | counters}
        self.connections.take(json.dumps({"ts": ts, "msg_cnt": 0, "brokers": brokers, "topics": {}}))
        return 0

    flush = poll
    produce = property(lambda self: None)

    def purge(self) -> None:
        """There is nothing."""


class NoReports:
    def connected(self, *_: object) -> None:
        raise AssertionError("its producer has ended")


def retired(**facts: Any) -> tuple[RetiredClients, Held]:
    """A client that was retired just now."""
    connections = Connections(NoReports(), made_ns=0)
    connections.end_reports()
    client = Held(connections, **facts)
    clients = RetiredClients()
    clients.add(Retired(client=client, connections=connections, since_ns=time.monotonic_ns()))  # type: ignore[arg-type]
    return clients, client


def test_a_late_answer_keeps_its_client() -> None:
    """It is released with the statistics that show that it has come, and not before."""
    clients, client = retired()
    for _ in range(3):
        clients.serve()
    assert len(clients) == 1
    client.in_flight = 0
    clients.serve()
    assert len(clients) == 0


def test_statistics_from_before_it_was_retired_release_no_client() -> None:
    clients, client = retired(in_flight=0, late_s=60.0)
    clients.serve()
    assert len(clients) == 1
    client.late_s = 0.0
    clients.serve()
    assert len(clients) == 0


def test_a_client_whose_answer_never_comes_is_never_released() -> None:
    clients, client = retired()
    alive = weakref.ref(client)
    del client
    clients.end(within_s=0.05)
    assert len(clients) == 0
    del clients
    assert alive() is not None


def test_a_fenced_client_is_kept_while_something_of_it_is_in_flight(tmp_path: Path) -> None:
    coordinator = Coordinator(answers={"commit": [None, fenced()]}, in_flight=1)
    alive: list[weakref.ref[Any]] = []

    def make(config: dict[str, Any]) -> Any:
        client = coordinator.make(config)
        alive.append(weakref.ref(client))
        return client

    with producing(plan(), tmp_path, make) as loop:
        until(lambda: coordinator.made == 2 and loop.counts.acked >= 30)
        assert alive[0]() is not None
        coordinator.in_flight = 0
        until(lambda: alive[0]() is None)


class NoSends:
    """Takes reports of sends, by name."""

    producer = 3

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[int]]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda sequences, *_: self.calls.append((name, list(sequences)))


def held() -> tuple[HeldSends, SendCounts, NoSends]:
    counts, passed_on = SendCounts([TopicPartition("t", 0)], offsets_known=True), NoSends()
    return HeldSends(passed_on, counts, lambda s: (s * 0).astype(np.int16)), counts, passed_on


def test_what_was_delivered_waits_for_the_commit_and_takes_no_room_in_the_client() -> None:
    sends, counts, passed_on = held()
    sends.begin(0)
    sends.sent(np.zeros(4, np.int16), 1, np.zeros(4, np.int64))
    sends.acknowledged(np.array([0, 1]), np.array([5, 6]), at_ns=9)
    assert (sends.outstanding, sends.undelivered, counts.acked) == (4, 2, 0)
    sends.acknowledged(np.array([2, 3]), np.array([7, 8]), at_ns=9)
    sends.committed(at_ns=20)
    assert (sends.outstanding, sends.undelivered, counts.acked) == (0, 0, 4)
    assert counts.last_ack_ns.tolist() == [20]
    assert [name for name, _ in passed_on.calls] == ["sent", "acknowledged", "acknowledged"]


def test_a_transaction_is_broken_by_its_own_records_only() -> None:
    """A late report of the one before says nothing of this one."""
    sends, _, _ = held()
    sends.begin(10)
    sends.indeterminate(np.array([9]), ["_PURGE_INFLIGHT"], at_ns=9)
    assert not sends.is_broken
    sends.indeterminate(np.array([10]), ["_MSG_TIMED_OUT"], at_ns=9)
    assert sends.is_broken
    sends.begin(20)
    assert not sends.is_broken


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"ids": ("a", "b")}, "the transactional ids ('a', 'b') of 1 producers; one for each"),
        ({"records": 0}, "transactions of 0 records; at least 1"),
        ({"aborts": 1.5}, "a share of 1.5 aborted transactions; from 0 to 1"),
        ({"takeover_s": 0.0}, "a takeover every 0.0 s; above 0"),
        ({"timeout_s": 0.0}, "a transaction time-out of 0.0 s; above 0"),
    ],
)
def test_a_plan_that_no_client_can_follow_is_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(PlanRefused) as refused:
        plan(**changes)
    assert str(refused.value) == text
