"""The end of a run's brokers: all are stopped, what they leave is kept, and what cannot be had is named."""

import json
from dataclasses import dataclass
from pathlib import Path

from fakes.world.cluster import FakeCluster

from compose.errors import EngineUnreachable, NodeStateError
from harness.run.live.brokers_end import broker_lines, copy_running, end_brokers
from harness.run_directory.layout import RunDir
from spark_verify.segments.data_directory import read_while_running

LOADED = (
    "[2026-11-21 22:34:40,849] INFO Completed load of Log(dir=/data/kafka/{0}-0, "
    "topicId=qdzd6suYR9iYowO0vqRiEQ, "
    "topic={0}, partition=0, highWatermark=4968, lastStableOffset=4968, logStartOffset=0, logEndOffset=9838) "
    "with 1 segments (kafka.log.LogManager)\n"
)


@dataclass
class Stubborn(FakeCluster):
    """Some brokers do not stop, and some cannot even be killed; some logs cannot be read."""

    deaf: tuple[int, ...] = ()
    immortal: tuple[int, ...] = ()
    no_logs: bool = False

    def stop(self, node: int, *, within_s: float) -> None:
        if node in self.deaf:
            raise NodeStateError(f"kafka-{node}: has stopped: not within {within_s:g} s")
        super().stop(node, within_s=within_s)

    def kill(self, node: int) -> None:
        if node in self.immortal:
            raise NodeStateError(f"kafka-{node}: the engine refuses")
        super().kill(node)

    def collect(self, into: Path) -> None:
        if self.no_logs:
            raise EngineUnreachable("no Docker Engine answers")
        super().collect(into)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_every_broker_is_stopped_before_any_replica_is_copied_and_no_controller_is(tmp_path: Path) -> None:
    cluster = FakeCluster()
    assert end_brokers(cluster, ["orders", "audit"], RunDir(path=tmp_path)) == ()
    assert sorted(cluster.calls[:-1]) == ["stop 1", "stop 2", "stop 3"]
    assert cluster.calls[-1] == "save_replicas orders,audit"
    assert names(tmp_path) == ["nodes", "replicas"]
    assert names(tmp_path / "replicas") == ["1", "2", "3"]


def test_a_broker_that_does_not_stop_is_killed_and_its_disk_is_read(tmp_path: Path) -> None:
    cluster = Stubborn(deaf=(2,))
    troubles = end_brokers(cluster, ["orders"], RunDir(path=tmp_path))
    assert troubles == ("broker 2: it did not stop, and was killed: kafka-2: has stopped: not within 15 s",)
    assert "kill 2" in cluster.calls
    assert names(tmp_path / "replicas") == ["1", "2", "3"]


def test_a_broker_that_does_not_end_costs_no_other_its_replicas(tmp_path: Path) -> None:
    cluster = Stubborn(deaf=(2,), immortal=(2,), unsaved={2: "it has not ended: running"})
    troubles = end_brokers(cluster, ["orders"], RunDir(path=tmp_path))
    assert troubles == (
        "broker 2: it does not end: kafka-2: the engine refuses",
        "broker 2: it has not ended: running",
    )
    assert names(tmp_path / "replicas") == ["1", "3", "not-read.json"]


def test_why_a_disk_is_not_there_is_kept_beside_those_that_are(tmp_path: Path) -> None:
    cluster = FakeCluster(unsaved={3: "its disk cannot be read: Input/output error"})
    troubles = end_brokers(cluster, ["orders"], RunDir(path=tmp_path))
    assert troubles == ("broker 3: its disk cannot be read: Input/output error",)
    kept = json.loads((tmp_path / "replicas/not-read.json").read_text())
    assert kept == {"3": "its disk cannot be read: Input/output error"}


def test_logs_that_cannot_be_had_cost_no_replica(tmp_path: Path) -> None:
    run = RunDir(path=tmp_path)
    assert end_brokers(Stubborn(no_logs=True), ["orders"], run) == ()
    assert names(tmp_path / "replicas") == ["1", "2", "3"]
    assert broker_lines(run, (1, 2, 3)) is None


def test_the_lines_of_all_logs_become_rows_by_node(tmp_path: Path) -> None:
    for node, text in (
        (101, "nothing of interest\n"),
        (2, LOADED.format("orders")),
        (1, LOADED.format("audit")),
    ):
        (tmp_path / "nodes" / str(node)).mkdir(parents=True)
        (tmp_path / "nodes" / str(node) / "server.log").write_text(text + LOADED.format("__consumer_offsets"))
    rows = broker_lines(RunDir(path=tmp_path), (1, 2, 3, 101))
    assert rows is not None
    assert [(row["node"], row["topic"], row["kind"], row["offset"]) for row in rows] == [
        (1, "audit", "loaded", 9838),
        (2, "orders", "loaded", 9838),
    ]


def test_logs_without_any_line_of_interest_were_collected_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "nodes/1").mkdir(parents=True)
    (tmp_path / "nodes/1/server.log").write_text("")
    assert broker_lines(RunDir(path=tmp_path), (1,)) == []


def test_running_brokers_are_copied_without_being_stopped_and_it_is_noted_of_which(tmp_path: Path) -> None:
    cluster = FakeCluster(unsaved={2: "its disk cannot be read: Input/output error"})
    troubles = copy_running(cluster, ["orders-r3"], RunDir(path=tmp_path))
    assert troubles == ("broker 2: its disk cannot be read: Input/output error",)
    assert cluster.calls == ["save_replicas orders-r3 running"]
    assert names(tmp_path / "replicas") == ["1", "3", "not-read.json", "read-while-running.json"]
    assert read_while_running(tmp_path / "replicas") == {1, 2, 3}
