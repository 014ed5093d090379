"""Processes of their own read what this one would have read, and end with who asks; their end is told."""

import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from threading import Event, Timer

import psutil
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from fakes.world.mock_kafka import MockKafka

from checkers.history.rows import TopicPartition
from workloads.clients.consumer import exact_reader
from workloads.errors import ReadEnded
from workloads.observe import final_read as module
from workloads.observe.final_read import final_read
from workloads.observe.leaders import LeaderState
from workloads.observe.partition_logs import LogsHere
from workloads.observe.read_apart import LogsApart, dealt
from workloads.payload import Encoder

COUNTS = {TopicPartition("t", 0): 700, TopicPartition("t", 1): 300, TopicPartition("t", 2): 0}
FOREVER = 10**6


def fill(kafka: MockKafka) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    for tp, count in COUNTS.items():
        for value in Encoder(3, 60, keyed=False).block(0, count, 1).values if count else ():
            producer.produce(tp.topic, value, partition=tp.partition)
    assert producer.flush(5) == 0


def state(tp: TopicPartition, end: int) -> LeaderState:
    return LeaderState(
        tp=tp,
        leader=1,
        leader_epoch=1,
        replicas=(1,),
        isr=(1,),
        log_start=0,
        high_watermark=end,
        last_stable=end,
    )


def apart(kafka: MockKafka, history: Path) -> LogsApart:
    return LogsApart(COUNTS, kafka.bootstrap, history, "r1", count=2)


def test_they_read_what_this_process_would(tmp_path: Path) -> None:
    states = [state(tp, count) for tp, count in COUNTS.items()]
    with MockKafka(1, t=3) as kafka:
        fill(kafka)
        reading = apart(kafka, tmp_path / "apart")
        here = LogsHere(list(COUNTS), tmp_path / "here", exact_reader(kafka.bootstrap), "r1")
        for logs in (here, reading):
            reached = logs.read(states, time.monotonic() + 20, Event())
            assert reached == {tp: (count, "") for tp, count in COUNTS.items()}
            logs.finish()
            logs.close()
    for tp, count in COUNTS.items():
        tables = [pq.read_table(tmp_path / place / f"final_log/{tp}.parquet") for place in ("here", "apart")]
        assert [table.num_rows for table in tables] == [count, count]
        assert tables[0].equals(tables[1])
        assert tables[0].schema.equals(tables[1].schema, check_metadata=True)


def test_a_partition_that_is_not_there_in_time_is_told(tmp_path: Path) -> None:
    tp = TopicPartition("t", 0)
    with MockKafka(1, t=3) as kafka:
        fill(kafka)
        logs = apart(kafka, tmp_path)
        reached = logs.read([state(tp, FOREVER)], time.monotonic() + 3, Event())
        assert reached == {tp: (700, "read up to 700 of 1000000 when the time was up")}
        assert logs.read([state(tp, 700)], time.monotonic() + 20, Event()) == {tp: (700, "")}
        logs.finish()
    assert pq.read_table(tmp_path / "final_log/t-0.parquet").num_rows == 700


def test_a_process_that_has_ended_is_named_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "final_log").write_text("where a directory should be")
    with MockKafka(1, t=3) as kafka:
        fill(kafka)
        logs = apart(kafka, tmp_path)
        with pytest.raises(ReadEnded, match=r"(?s)exit code 1.*final_log"):
            logs.read([state(tp, count) for tp, count in COUNTS.items()], time.monotonic() + 20, Event())
        logs.close()


def children() -> list[psutil.Process]:
    """The processes that read. The kernel has no command line of one that has only just begun."""
    begin = time.monotonic()
    while time.monotonic() < begin + 5:
        commands = {each: each.cmdline() for each in psutil.Process().children()}
        if all(commands.values()):
            break
    return [each for each, command in commands.items() if "workloads.observe.read_apart" in command]


def test_closed_in_the_middle_they_are_gone(tmp_path: Path) -> None:
    with MockKafka(1, t=3) as kafka:
        logs = apart(kafka, tmp_path)
        assert len(children()) == 2
        logs.close()
        logs.close()
        assert children() == []


def test_a_read_is_broken_off_at_once(tmp_path: Path) -> None:
    """Also where it would wait for minutes."""
    stop, begin = Event(), time.monotonic()
    with MockKafka(1, t=3) as kafka:
        fill(kafka)
        logs = apart(kafka, tmp_path)
        Timer(1.0, stop.set).start()
        with pytest.raises(ReadEnded, match="broken off"):
            logs.read([state(TopicPartition("t", 0), FOREVER)], begin + 600, stop)
        logs.close()
        assert children() == []
    assert time.monotonic() - begin < 60


def test_they_end_with_who_asks(tmp_path: Path) -> None:
    """In the middle of a read, without being told."""
    tp = TopicPartition("t", 0)
    with MockKafka(1, t=3) as kafka:
        fill(kafka)
        program = [sys.executable, "-m", "workloads.observe.read_apart", kafka.bootstrap, str(tmp_path), "r1"]
        reader = subprocess.Popen([*program, json.dumps([tp])], stdin=subprocess.PIPE, text=True)
        assert reader.stdin is not None
        reader.stdin.write(
            json.dumps({"deadline": time.monotonic() + 120, "states": [asdict(state(tp, FOREVER))]}) + "\n"
        )
        reader.stdin.flush()
        time.sleep(1.5)
        assert reader.poll() is None, "it reads"
        reader.stdin.close()
        assert reader.wait(timeout=5) == 0


def test_a_long_final_read_is_made_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And proves the same."""
    opened: list[int] = []

    class Counted(LogsApart):
        def __init__(self, *given: object, count: int) -> None:
            super().__init__(*given, count=count)  # type: ignore[arg-type]
            opened.append(len(children()))

    monkeypatch.setattr(module, "LogsApart", Counted)
    monkeypatch.setattr(module, "processors", lambda: 2)
    with MockKafka(1, t=3) as kafka:
        fill(kafka)
        few = final_read(kafka.bootstrap, list(COUNTS), tmp_path / "few", within_s=20)
        assert opened == []
        monkeypatch.setattr(module, "APART_RECORDS", 1000)
        many = final_read(kafka.bootstrap, list(COUNTS), tmp_path / "many", within_s=20)
    assert opened == [2]
    assert [(proof.tp, proof.complete, proof.read_to) for proof in many] == [
        (tp, True, count) for tp, count in COUNTS.items()
    ]
    assert [proof.read_to for proof in few] == [proof.read_to for proof in many]
    assert children() == []


def test_each_process_gets_about_as_much() -> None:
    names = [TopicPartition("t", number) for number in range(5)]
    records = dict(zip(names, (50, 10, 40, 20, 5), strict=True))
    parts = dealt(records, 2)
    assert sorted(sum(records[tp] for tp in part) for part in parts) == [60, 65]
    assert sorted(tp for part in parts for tp in part) == names
    assert dealt({names[0]: 3}, 4) == [[names[0]]]
