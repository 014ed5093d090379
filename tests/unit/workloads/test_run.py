"""A load is warm when it is, reports when it has died, and leaves no thread behind."""

import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaError
from fakes.world.mock_kafka import PRODUCE, MockKafka

from checkers.history.rows import TopicPartition
from workloads.clients.check_settings import check_settings
from workloads.errors import NotWarm, PlanRefused, ThreadStuck, WorkloadDied
from workloads.plan import TransactionPlan, WorkloadPlan
from workloads.record.journal import Journal
from workloads.record.seal import seal
from workloads.run import start
from workloads.watched_thread import Worker, end


def plan(**changes: Any) -> WorkloadPlan:
    return WorkloadPlan(**({"topics": {"t": 2}, "producers": 2, "readers": 1, "rate_per_s": 500.0} | changes))


def own_threads() -> set[str]:
    ours = ("producer", "reader", "sampler")
    return {thread.name for thread in threading.enumerate() if thread.name.startswith(ours)}


def test_every_send_read_and_sample_of_a_load_is_counted_and_recorded(tmp_path: Path) -> None:
    with MockKafka(3, t=2) as kafka:
        with start(plan(), kafka.bootstrap, tmp_path) as load:
            load.wait_warm()
            time.sleep(0.6)
            load.stop_producers()
            stats = load.stats()
            deadline = time.monotonic() + 5
            while load.stats().delivered < stats.acked and time.monotonic() < deadline:
                time.sleep(0.02)
        assert own_threads() == set()
    assert (stats.outstanding, stats.failed, stats.unknown, stats.instances) == (0, 0, 0, 2)
    assert stats.sent == stats.acked > 100
    assert set(stats.last_ack_ns) == {TopicPartition("t", 0), TopicPartition("t", 1)}
    assert min(stats.last_ack_ns.values()) > 0
    sealed = seal(tmp_path)
    assert (sealed.sends, sealed.reads) == (stats.sent, stats.acked)
    assert [facts.producer for facts in sealed.producers] == [1, 2]


def test_a_load_with_transactions_records_them_and_what_is_committed(tmp_path: Path) -> None:
    """The mock knows no aborts; so both readers are given every record."""
    asked = plan(transactions=TransactionPlan(ids=("a-1", "a-2"), records=10, aborts=0.0))
    with MockKafka(3, t=2) as kafka, start(asked, kafka.bootstrap, tmp_path) as load:
        load.wait_warm()
        time.sleep(0.6)
        load.stop_producers()
        stats = load.stats()
        deadline = time.monotonic() + 5
        while load.stats().delivered < 2 * stats.acked and time.monotonic() < deadline:
            time.sleep(0.02)
    assert (stats.outstanding, stats.failed, stats.unknown, stats.last_fencing_ns) == (0, 0, 0, -1)
    sealed = seal(tmp_path)
    assert (sealed.sends, sealed.reads) == (stats.sent, stats.acked)
    ended = pq.read_table(tmp_path / "history/transactions.parquet").to_pylist()
    assert {(row["transactional_id"], row["outcome"]) for row in ended} == {
        ("a-1", "committed"),
        ("a-2", "committed"),
    }
    reads = pq.read_table(tmp_path / "history/transaction_reads.parquet").to_pylist()
    assert (len(reads), {row["reader"] for row in reads}) == (stats.acked, {1})
    assert pq.read_table(tmp_path / "history/fencings.parquet").num_rows == 0


def test_a_time_out_that_no_transactional_client_takes_is_refused() -> None:
    with pytest.raises(PlanRefused, match=r"a transactional client: .*transaction\.timeout\.ms"):
        check_settings(plan(transactions=TransactionPlan(ids=("a-1", "a-2"), timeout_s=0.5)))


def test_not_warm_says_who_lacks_what_and_which_errors_there_were(tmp_path: Path) -> None:
    with MockKafka(1, t=2) as kafka:
        kafka.answer(PRODUCE, *[KafkaError.MSG_SIZE_TOO_LARGE] * 1000)
        with start(plan(producers=1), kafka.bootstrap, tmp_path) as load:
            with pytest.raises(NotWarm) as cold:
                load.wait_warm(within_s=3.0)
            load.stop_producers(within_s=0.0)
    assert str(cold.value).startswith(
        "no acknowledgement after 3 s: producer 1 on t-0, t-1; errors so far: {'"
    )
    assert "MSG_SIZE_TOO_LARGE" in str(cold.value)


def test_a_thread_that_dies_is_reported_and_the_others_end(tmp_path: Path, monkeypatch: Any) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def go_on_without_a_disk(bootstrap: str) -> None:
        with start(plan(), bootstrap, tmp_path) as load:
            load.wait_warm()
            monkeypatch.setattr(Journal, "write", full)
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline:
                load.check()
                time.sleep(0.01)

    with MockKafka(1, t=2) as kafka, pytest.raises(WorkloadDied, match=r"thread '.*died: .*No space left"):
        go_on_without_a_disk(kafka.bootstrap)
    assert own_threads() == set()


def test_leaving_a_load_by_an_error_ends_it_at_once_and_keeps_the_error(tmp_path: Path) -> None:
    def fail_while_all_is_down(kafka: MockKafka) -> None:
        with start(plan(), kafka.bootstrap, tmp_path) as load:
            load.wait_warm()
            kafka.down(1)
            raise ZeroDivisionError

    with MockKafka(1, t=2) as kafka:
        begin = time.monotonic()
        with pytest.raises(ZeroDivisionError):
            fail_while_all_is_down(kafka)
        assert time.monotonic() - begin < 10
    assert own_threads() == set()
    assert seal(tmp_path).sends > 0


def test_a_thread_that_ends_by_itself_is_an_error() -> None:
    worker = Worker("brief", lambda _stop: None)
    worker.join(time.monotonic() + 5)
    with pytest.raises(WorkloadDied, match="thread 'brief' of the workload ended before it was stopped"):
        worker.check()


def test_a_thread_that_does_not_end_is_named() -> None:
    release = threading.Event()
    with pytest.raises(ThreadStuck, match="thread 'deaf' of the workload has not ended"):
        end([Worker("deaf", lambda _stop: release.wait() and None)], within_s=0.05)
    release.set()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"record_bytes": 19}, "a record of 19 bytes cannot carry its id, which takes 20"),
        ({"topics": {}}, r"no partition to write to among the topics \{\}"),
        ({"acks": "1", "idempotence": True}, "idempotence with acks=1; it needs all"),
        ({"rate_per_s": 0.0}, "a rate of 0.0/s; above 0"),
        ({"producers": 0}, "0 producers; at least 1"),
    ],
)
def test_a_load_that_cannot_be_made_is_refused_before_anything_starts(wrong: Any, message: str) -> None:
    with pytest.raises(PlanRefused, match=message):
        plan(**wrong)


@pytest.mark.parametrize("setting", [{"no.such.setting": 1}, {"linger.ms": "soon"}])
def test_client_settings_that_the_client_does_not_know_are_refused(
    tmp_path: Path, setting: dict[str, Any]
) -> None:
    check_settings(plan(client={"linger.ms": "7"}))
    with pytest.raises(PlanRefused, match=next(iter(setting))):
        start(plan(client=setting), "nowhere:1", tmp_path)
    assert not (tmp_path / "journal").exists()
