"""Who held which offset when: every replica reports its own log end, and no change of it is left out."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fakes.world.replica_brokers import ReplicaBrokers

from checkers.history.rows import TopicPartition
from compose.kafka.brokers import Brokers
from workloads.observe.leaders import BrokerReport, state_of
from workloads.observe.replica_offsets import ReplicaOffsets, ReplicaState
from workloads.observe.sampler import Sampler
from workloads.record.recorder import Recorder, table_journal
from workloads.record.seal import seal
from workloads.watched_thread import Worker, end

TP = TopicPartition("t", 0)
SECOND = 1_000_000_000


def replica(log_end: int, *, broker: int = 1, tp: TopicPartition = TP, epoch: int = 4) -> ReplicaState:
    return ReplicaState(tp=tp, broker=broker, leader_epoch=epoch, log_start=0, log_end=log_end)


def ask_all(brokers: ReplicaBrokers) -> dict[int, BrokerReport]:
    with Brokers(brokers.bootstrap, within_s=2) as asked:
        return dict(asked.ask_all(state_of([TP])).given)


def sealed(run: Path) -> list[dict[str, Any]]:
    seal(run)
    rows: list[dict[str, Any]] = pq.read_table(run / "history/replica_offsets.parquet").to_pylist()
    return rows


def written(run: Path, observe: Callable[[ReplicaOffsets], None]) -> list[tuple[int, int, int]]:
    """Time, broker and log end of the rows that are written for what is observed."""
    with Recorder(run, [TP]) as recorder:
        observe(ReplicaOffsets(recorder.replica_offsets()))
    return [(row["at_ns"], row["broker"], row["log_end"]) for row in sealed(run)]


def test_every_replica_reports_its_own_log_and_only_the_leader_the_rest() -> None:
    ends = {1: 150, 2: 100, 3: 90}
    with ReplicaBrokers(log_ends=ends, high_watermark=90, log_start=5, isr=(1,)) as brokers:
        reports = ask_all(brokers)
    assert {n: [(r.broker, r.leader_epoch, r.log_start, r.log_end) for r in report.replicas]
            for n, report in reports.items()} == {
        1: [(1, 4, 5, 150)], 2: [(2, 4, 5, 100)], 3: [(3, 4, 5, 90)]
    }  # fmt: skip
    led = {n: [(s.log_start, s.high_watermark, s.log_end) for s in r.led] for n, r in reports.items()}
    assert led == {1: [(5, 90, 150)], 2: [], 3: []}


def test_without_a_leader_the_replicas_still_report_their_logs() -> None:
    with ReplicaBrokers(leader=-1, log_ends={1: 150, 2: 100, 3: 90}) as brokers:
        reports = ask_all(brokers)
    assert [(n, r.led, [s.log_end for s in r.replicas]) for n, r in sorted(reports.items())] == [
        (1, (), [150]),
        (2, (), [100]),
        (3, (), [90]),
    ]


def test_a_release_that_refuses_the_question_leaves_the_table_without_rows(tmp_path: Path) -> None:
    with ReplicaBrokers(refuses_debugging=True) as brokers:
        reports = ask_all(brokers)
    assert [(s.high_watermark, s.log_end) for s in reports[1].led] == [(10, -1)]
    assert [report.replicas for report in reports.values()] == [(), (), ()]
    assert written(tmp_path, lambda offsets: offsets.sampled(1, reports[2].replicas)) == []


def test_a_change_is_written_with_how_it_was_until_then(tmp_path: Path) -> None:
    def observe(offsets: ReplicaOffsets) -> None:
        for at_ns, log_end in ((1, 10), (2, 10), (3, 10), (4, 11), (5, 12), (6, 12), (7, 9)):
            offsets.sampled(at_ns, [replica(log_end)])

    assert written(tmp_path, observe) == [
        (1, 1, 10),
        (3, 1, 10),
        (4, 1, 11),
        (5, 1, 12),
        (6, 1, 12),
        (7, 1, 9),
    ]


def test_another_epoch_is_a_change(tmp_path: Path) -> None:
    def observe(offsets: ReplicaOffsets) -> None:
        offsets.sampled(1, [replica(10)])
        offsets.sampled(2, [replica(10, epoch=5)])

    assert written(tmp_path, observe) == [(1, 1, 10), (2, 1, 10)]


def test_what_stands_still_is_written_once_every_five_seconds(tmp_path: Path) -> None:
    def observe(offsets: ReplicaOffsets) -> None:
        for quarter in range(45):
            offsets.sampled(quarter * SECOND // 4, [replica(10)])

    assert written(tmp_path, observe) == [(0, 1, 10), (5 * SECOND, 1, 10), (10 * SECOND, 1, 10)]


def test_the_last_sample_before_a_broker_falls_silent_is_written_and_the_first_after_it(
    tmp_path: Path,
) -> None:
    def observe(offsets: ReplicaOffsets) -> None:
        for at_ns in (1, 2, 3):
            offsets.sampled(at_ns, [replica(10)])
            offsets.sampled(at_ns, [replica(10, broker=2)])
        offsets.interrupted(1)
        offsets.interrupted(1)
        offsets.sampled(8, [replica(10, broker=2)])
        offsets.sampled(9, [replica(10)])

    assert written(tmp_path, observe) == [(1, 1, 10), (1, 2, 10), (3, 1, 10), (9, 1, 10)]


def test_what_is_held_does_not_grow_with_time(tmp_path: Path) -> None:
    with Recorder(tmp_path, [TP]) as recorder:
        offsets = ReplicaOffsets(recorder.replica_offsets())
        for at_ns in range(1000):
            offsets.sampled(at_ns, [replica(at_ns, broker=broker) for broker in (1, 2)])
        assert (len(offsets._newest), len(offsets._written)) == (2, 2)


def test_the_rows_of_every_journal_are_in_the_history(tmp_path: Path) -> None:
    with Recorder(tmp_path, [TP]) as recorder:
        ReplicaOffsets(recorder.replica_offsets()).sampled(1, [replica(10)])
        with table_journal(tmp_path, [TP], "replica_offsets", of="final-read") as journal:
            ReplicaOffsets(journal).sampled(2, [replica(11)])
    assert [(row["at_ns"], row["log_end"], row["source"]) for row in sealed(tmp_path)] == [
        (2, 11, "live"),
        (1, 10, "live"),
    ]


def test_a_run_without_samples_of_replicas_does_not_claim_to_have_collected_them(tmp_path: Path) -> None:
    with Recorder(tmp_path, [TP]) as recorder:
        recorder.watermarks()
    seal(tmp_path)
    assert not (tmp_path / "history/replica_offsets.parquet").exists()


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def test_samples_follow_each_replica_and_stand_beside_the_watermarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader goes on alone, then a follower catches up; broker 3 is silent for a while."""
    monkeypatch.setattr("workloads.observe.sampler.EVERY_S", 0.02)
    with (
        ReplicaBrokers() as cluster,
        Recorder(tmp_path, [TP]) as recorder,
        Brokers(cluster.bootstrap, within_s=1) as brokers,
    ):
        sampler = Sampler(brokers, [TP], recorder.watermarks(), ReplicaOffsets(recorder.replica_offsets()))
        workers = [Worker(str(n), sampler.sampling(n)) for n in brokers.numbers]
        wait_for(lambda: sampler.samples >= 3)
        cluster.log_ends[1] = 60
        wait_for(lambda: sampler.states()[0].log_end == 60)
        cluster.silent = {3}
        cluster.log_ends[2] = 60
        cluster.high_watermark = 60
        wait_for(lambda: sampler.high_watermark(TP) == 60)
        silent_ns = time.monotonic_ns()
        time.sleep(0.3)
        back_ns = time.monotonic_ns()
        cluster.silent = set()
        time.sleep(0.3)
        end(workers, within_s=5)
    rows = sealed(tmp_path)
    by_broker = {n: [row for row in rows if row["broker"] == n] for n in (1, 2, 3)}
    ends = {n: list(dict.fromkeys(row["log_end"] for row in of)) for n, of in by_broker.items()}
    assert ends == {1: [10, 60], 2: [10, 60], 3: [10]}
    times = [row["at_ns"] for row in by_broker[3]]
    assert [sum(at_ns < silent_ns for at_ns in times), sum(at_ns > back_ns for at_ns in times)] == [2, 2]
    assert len(times) == 4
    watermarks = {
        row["at_ns"]: row["high_watermark"]
        for row in pq.read_table(tmp_path / "history/watermarks.parquet").to_pylist()
    }
    beside = [(watermarks[row["at_ns"]], row["log_end"]) for row in by_broker[1]]
    assert (10, 60) in beside
    assert beside[-1] == (60, 60)
    assert all(high_watermark <= log_end for high_watermark, log_end in beside)
