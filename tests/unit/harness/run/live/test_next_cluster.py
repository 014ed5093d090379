"""The cluster that boots beside a run: when it begins, who takes it down, what becomes of its troubles."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest
from fakes.world.cluster import FakeCluster

from compose.docker.containers import LEAST_SHARES
from compose.errors import CleanupError, ComposeError, NodeNotReady, NodeStateError
from compose.host.waiting import wait_until
from compose.spec.topology import Topology
from harness.run.live import kept_cluster, next_cluster
from harness.run.live.kept_cluster import OTHER, KeptCluster
from harness.run.live.next_cluster import NextCluster
from harness.run_directory import layout

LATER_S, SOON_S = 600.0, 10.0
TOPOLOGY, ANOTHER = Topology(), Topology(broker_config={"replica.lag.time.max.ms": "5000"})


class Cluster(FakeCluster):
    """A cluster that says when its run began."""

    def begin_run(self) -> None:
        self.calls.append("begin run")

    def collect(self, into: object) -> None:
        self.calls.append("collect")


@dataclass
class Engine:
    """Boots clusters of no containers; `events` has what was done, in order."""

    events: list[str] = field(default_factory=list)
    may_boot: Event = field(default_factory=Event)
    never_ready: ComposeError | None = None
    stays: ComposeError | None = None
    clusters: list[Cluster] = field(default_factory=list)

    def ready(self) -> Cluster:
        self.events.append("asked")
        if self.never_ready:
            raise self.never_ready
        return self.clusters[-1]

    @contextmanager
    def boot(
        self, topology: Topology, *, run_id: str, cpu_shares: int, unwanted: Event
    ) -> Iterator["Engine"]:
        assert (cpu_shares, bool(run_id)) == (LEAST_SHARES, True)
        self.events.append("begun")
        assert self.may_boot.wait(SOON_S)
        if unwanted.is_set():
            raise NodeStateError("not wanted")
        self.clusters.append(Cluster())
        yield self
        self.events.append(f"down in {threading.current_thread().name}")
        if self.stays:
            raise self.stays

    @contextmanager
    def start(self, topology: Topology, *, run_id: str, workdir: object) -> Iterator[Cluster]:
        self.events.append("started")
        self.clusters.append(Cluster())
        yield self.clusters[-1]


DOWN = "down in next-cluster"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    its = Engine()
    its.may_boot.set()
    monkeypatch.setattr(next_cluster, "boot", its.boot)
    monkeypatch.setattr(kept_cluster, "start", its.start)
    return its


def test_it_begins_when_it_is_asked_for_if_that_is_earlier(engine: Engine) -> None:
    following = NextCluster(TOPOLOGY, in_s=LATER_S)
    assert engine.events == []
    assert following.ready() is engine.clusters[0]
    assert following.ahead_s == 0.0
    following.close()
    assert engine.events == ["begun", "asked", DOWN]


def test_it_begins_by_itself_and_says_how_long_before(engine: Engine) -> None:
    following = NextCluster(TOPOLOGY, in_s=0.0)
    wait_until("it boots", lambda: engine.clusters, bool, within_s=SOON_S, every_s=0.01)
    following.ready()
    assert following.ahead_s > 0.0
    following.close()


def test_one_that_nobody_asks_for_is_never_begun(engine: Engine) -> None:
    following = NextCluster(TOPOLOGY, in_s=LATER_S)
    following.close()
    assert engine.events == []
    with pytest.raises(NodeStateError, match="not wanted"):
        following.ready()


def test_it_is_given_up_in_the_midst_of_its_start(engine: Engine) -> None:
    engine.may_boot.clear()
    following = NextCluster(TOPOLOGY, in_s=0.0)
    following.abandon()
    engine.may_boot.set()
    following.close()
    assert engine.clusters == []


def test_what_stays_of_it_is_raised_by_who_closes_it(engine: Engine) -> None:
    engine.stays = CleanupError("a loop device stays")
    following = NextCluster(TOPOLOGY, in_s=0.0)
    following.ready()
    with pytest.raises(CleanupError, match="a loop device stays"):
        following.close()


def lease(kept: KeptCluster, topology: Topology, run: layout.RunDir) -> tuple[str, float | None, bool]:
    """Why the cluster of a run is new, for how long it had booted, and whether it was there before."""
    with kept.lease(topology, run) as cluster:
        return kept.why_new(cluster), kept.ahead_s(cluster), kept.lived_before(cluster)


def test_a_run_gets_the_cluster_that_was_begun_for_it(engine: Engine, tmp_path: Path) -> None:
    kept, run = KeptCluster(), layout.create(tmp_path, "demo", 1)
    kept.begin_next(TOPOLOGY, in_s=0.0)
    why, ahead_s, lived_before = lease(kept, TOPOLOGY, run)
    assert (why, lived_before) == (OTHER, True)
    assert ahead_s is not None
    assert engine.events == ["begun", "asked", DOWN]
    assert engine.clusters[0].calls == ["begin run", "collect"]
    kept.close()


def test_a_run_of_another_topology_does_not(engine: Engine, tmp_path: Path) -> None:
    kept, run = KeptCluster(), layout.create(tmp_path, "demo", 1)
    kept.begin_next(TOPOLOGY, in_s=LATER_S)
    _, ahead_s, lived_before = lease(kept, ANOTHER, run)
    assert (ahead_s, lived_before, engine.events) == (None, False, ["started"])
    kept.close()


def test_one_that_does_not_come_up_is_taken_down_and_replaced(engine: Engine, tmp_path: Path) -> None:
    engine.never_ready = NodeNotReady("node 2 does not run\nits log")
    kept, run = KeptCluster(), layout.create(tmp_path, "demo", 1)
    kept.begin_next(TOPOLOGY, in_s=0.0)
    why, ahead_s, lived_before = lease(kept, TOPOLOGY, run)
    assert why == f"{OTHER}; the one that was begun beside it: node 2 does not run"
    assert (ahead_s, lived_before) == (None, False)
    assert engine.events == ["begun", "asked", DOWN, "started"]
    kept.close()


def test_fixed_ports_are_not_taken_before_the_run_under_way_has_ended(engine: Engine) -> None:
    kept = KeptCluster()
    kept.begin_next(Topology(client_port=19000), in_s=0.0)
    kept.close()
    assert engine.events == []
