"""The watch over a run: what it sees is written down at once, and what nobody planned is told at once."""

import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event

import pyarrow.parquet as pq
import pytest
from fakes.world.cluster import FakeCluster

from checkers.history.rows import TopicPartition
from compose.errors import DiskError, NodeStateError
from harness.errors import StepFailed
from harness.run.watch import helper_pulse, room
from harness.run.watch.room import Room
from harness.run.watch.run_watch import LiveWatch, watch
from workloads.errors import WorkloadDied
from workloads.record import journal
from workloads.record.seal import seal

PARTITIONS = (TopicPartition("orders", 0),)


def watched(
    cluster: FakeCluster, run: Path, on_event: Callable[[str], None] = print, *, new: bool = True
) -> AbstractContextManager[LiveWatch]:
    """A watch of `cluster`, with its journals in `run`."""
    return watch(cluster, run, PARTITIONS, on_event, "", room=Room(directories=(run,)), new=new)


def events(run: Path) -> list[tuple[int, str, int, bool, str]]:
    """The node events in the journal of a run that goes on."""
    events = journal.inspect(run / "journal/node_events.arrow")
    rows = [row for batch in journal.read(events) for row in batch.to_pylist()]
    return [(row["node"], row["event"], row["exit_code"], row["planned"], row["fault"]) for row in rows]


def test_every_start_and_end_is_in_the_journal_as_it_happens(tmp_path: Path) -> None:
    cluster, told = FakeCluster(), list[str]()
    with watched(cluster, tmp_path, told.append):
        cluster.kill(2, owner="kill-leader")
        cluster.start(2, owner="kill-leader")
        cluster.die(3, exit_code=137)
        assert events(tmp_path)[6:] == [
            (2, "exited", 137, True, "kill-leader"),
            (2, "started", -1, True, "kill-leader"),
            (3, "exited", 137, False, ""),
        ]


def test_only_what_nobody_planned_is_told_and_at_once(tmp_path: Path) -> None:
    cluster, told = FakeCluster(), list[str]()
    with watched(cluster, tmp_path, told.append):
        cluster.kill(2, owner="kill-leader")
        assert told == []
        cluster.die(3, exit_code=1, detail="all log dirs have failed")
        assert told == ["node 3 (broker) ended by itself just now with exit code 1: all log dirs have failed"]


def test_an_end_that_a_fault_allows_is_planned(tmp_path: Path) -> None:
    cluster, told = FakeCluster(), list[str]()
    with watched(cluster, tmp_path, told.append):
        cluster.allow_end(1, owner="disk-full")
        cluster.die(1, exit_code=1)
    assert (events(tmp_path)[-1], told) == ((1, "exited", 1, True, "disk-full"), [])


def test_what_was_watched_is_sealed_into_the_history(tmp_path: Path) -> None:
    cluster = FakeCluster()
    with watched(cluster, tmp_path) as watching:
        cluster.die(3)
        watching.stop()
        assert cluster.watches[0].closed
    seal(tmp_path)
    tables = {
        name: pq.read_table(tmp_path / f"history/{name}.parquet")
        for name in ("node_events", "clocks", "pressure")
    }
    assert tables["node_events"]["node"].to_pylist() == [1, 2, 3, 101, 102, 103, 3]
    assert tables["clocks"].num_rows >= 2
    assert tables["pressure"].num_rows >= 1


def test_a_watch_that_has_died_is_noticed(tmp_path: Path) -> None:
    cluster = FakeCluster()
    with watched(cluster, tmp_path) as watching:
        watching.check()
        cluster.watches[0].dead = NodeStateError("the watch of the nodes has died")
        with pytest.raises(NodeStateError):
            watching.check()
        cluster.watches[0].dead = None


def test_a_sampler_that_has_died_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, asked = FakeCluster(), Event()

    def fail() -> None:
        asked.set()
        raise OSError("no clock")

    monkeypatch.setattr(cluster, "read_clocks", fail)
    with pytest.raises(WorkloadDied, match="no clock"), watched(cluster, tmp_path):
        assert asked.wait(5)


def test_a_helper_that_answers_no_more_is_noticed_and_an_engine_that_does_not_is_no_word_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helper_pulse, "EVERY_S", 0.01)
    cluster = FakeCluster()
    with watched(cluster, tmp_path) as watching:
        cluster.helper_trouble = NodeStateError("the Docker Engine has not answered for 60 s")
        time.sleep(0.1)
        watching.check()
        cluster.helper_trouble = DiskError("the helper container 4f is paused")
        with pytest.raises(StepFailed, match="the helper container 4f is paused; without it no disk"):
            until_it_raises(watching.check)


def until_it_raises(check: Callable[[], None]) -> None:
    for _ in range(500):
        check()
        time.sleep(0.01)


def test_a_process_that_has_served_earlier_runs_is_seen_from_the_beginning_of_this_one(
    tmp_path: Path,
) -> None:
    """No time of a history lies before its run."""
    cluster, begin_ns = FakeCluster(at_ns=5), time.monotonic_ns()
    with watched(cluster, tmp_path, new=False):
        pass
    events = journal.inspect(tmp_path / "journal/node_events.arrow")
    rows = [row for batch in journal.read(events) for row in batch.to_pylist()]
    assert len(rows) == 6
    assert all(begin_ns <= row["at_ns"] <= time.monotonic_ns() for row in rows)


def test_without_its_proxy_a_run_cannot_go_on(tmp_path: Path) -> None:
    """No edge is left, and none can be cut or healed."""
    cluster, told = FakeCluster(), list[str]()
    with watched(cluster, tmp_path, told.append) as watching:
        watching.check()
        cluster.lose_proxy(exit_code=137)
        with pytest.raises(StepFailed, match="watch: the proxy was ended from outside just now: SIGKILL"):
            watching.check()
    assert events(tmp_path)[-1] == (-1, "exited", 137, False, "")


def test_an_engine_that_stands_still_is_noticed(tmp_path: Path) -> None:
    cluster = FakeCluster()
    with watched(cluster, tmp_path) as watching:
        cluster.watches[0].engine_silent_s = 19.0
        watching.check()
        cluster.watches[0].engine_silent_s = 21.4
        with pytest.raises(StepFailed, match="watch: the Docker Engine has not answered for 21 s"):
            watching.check()


def test_a_disk_that_is_nearly_full_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    with watched(cluster, tmp_path) as watching:
        watching.check()
        monkeypatch.setattr(room, "LEAST_FREE", shutil.disk_usage(tmp_path).total)
        with pytest.raises(StepFailed, match=rf"room: {tmp_path} has [\d,]+ MiB left, [\d,]+ MiB are needed"):
            watching.check()
