"""The rows of a producer cover the time of which something is known, and no other."""

from pathlib import Path

import pyarrow.parquet as pq

from checkers.history.rows import TopicPartition
from workloads.clients.protocol import Trouble
from workloads.record.recorder import Recorder, SendRecorder
from workloads.record.seal import seal

SECOND = 1_000_000_000


def recorded(tmp_path: Path, *reports: tuple[int, int, list[Trouble]]) -> list[tuple[int, ...]]:
    """since, until, broker, disconnects, timeouts and retries of the rows of one producer."""
    with Recorder(tmp_path, [TopicPartition("t", 0)]) as recorder:
        producer: SendRecorder = recorder.sends(acks="1", idempotent=False)
        for since_ns, at_ns, trouble in reports:
            producer.connected(since_ns, at_ns, trouble)
        producer.close()
    seal(tmp_path)
    names = ("since_ns", "at_ns", "broker", "disconnects", "timeouts", "retries")
    rows = pq.read_table(tmp_path / "history/client_events.parquet").to_pylist()
    assert {row["producer"] for row in rows} == {1}
    return [tuple(row[name] for name in names) for row in rows]


def test_calm_is_put_together_and_trouble_is_not(tmp_path: Path) -> None:
    trouble = [
        Trouble(since_ns=20, broker=2, disconnects=1, timeouts=3),
        Trouble(since_ns=5, broker=3, retries=7),
    ]
    assert recorded(tmp_path, (0, 10, []), (10, 20, []), (20, 30, trouble), (30, 40, []), (40, 50, [])) == [
        (0, 20, -1, 0, 0, 0),
        (20, 30, 2, 1, 3, 0),
        (5, 30, 3, 0, 0, 7),
        (30, 50, -1, 0, 0, 0),
    ]


def test_a_time_of_which_nothing_is_known_is_not_calm(tmp_path: Path) -> None:
    assert recorded(tmp_path, (0, 10, []), (30, 40, []), (40, 50, [])) == [
        (0, 10, -1, 0, 0, 0),
        (30, 50, -1, 0, 0, 0),
    ]


def test_a_long_calm_is_written_every_five_seconds(tmp_path: Path) -> None:
    seconds = [(n * SECOND, (n + 1) * SECOND, list[Trouble]()) for n in range(12)]
    assert [(since // SECOND, at // SECOND) for since, at, *_ in recorded(tmp_path, *seconds)] == [
        (0, 5),
        (5, 10),
        (10, 12),
    ]


def test_a_run_whose_clients_report_nothing_does_not_claim_that_they_did(tmp_path: Path) -> None:
    with Recorder(tmp_path, [TopicPartition("t", 0)]) as recorder:
        recorder.sends(acks="1", idempotent=False).close()
    seal(tmp_path)
    assert not (tmp_path / "history/client_events.parquet").exists()
