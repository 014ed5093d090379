"""A node that gets another release: another container under its name, and what must outlive the old one."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from compose.cluster.docker_cluster import DockerCluster
from compose.docker import containers as docker_containers
from compose.docker.containers import Container
from compose.errors import NodeStateError, Refused, Vanished
from compose.mesh.mesh import ToxiproxyMesh
from compose.nodes.clocks.clocks import Clocks
from compose.nodes.disks.disks import Disks
from compose.nodes.node import Node
from compose.spec.topology import Topology

TOPOLOGY = Topology(brokers=1, controllers=1, combined=True, kafka="4.0.0", later=("4.3.1",))
STARTED_AT = "2026-11-22T00:19:16Z"


@dataclass
class OneContainer:
    """A container as the engine knows it."""

    id: str
    status: str
    address: str
    log: str
    limits: dict[str, Any] = field(default_factory=dict)


@dataclass
class Engine:
    """Containers by name; each that is made gets another id and another address."""

    by_name: dict[str, OneContainer] = field(default_factory=dict)
    made: int = 0
    breaks: list[Exception] = field(default_factory=list)

    def make(self, name: str, release: str, status: str = "running") -> OneContainer:
        if name in self.by_name:
            raise Refused(f"the name {name} is in use")
        self.made += 1
        log = f"[2026-11-22 00:19:17,000] INFO Kafka version: {release} (k)\n"
        one = OneContainer(id=f"c{self.made}", status=status, address=f"10.0.0.{self.made}", log=log)
        self.by_name[name] = one
        return one

    def _of(self, container_id: str) -> OneContainer:
        for name, one in self.by_name.items():
            if container_id in (name, one.id):
                return one
        raise Vanished(f"no container {container_id}")

    def inspect(self, container_id: str) -> dict[str, Any]:
        one = self._of(container_id)
        state = {"Status": one.status, "ExitCode": 143, "Pid": 42, "StartedAt": STARTED_AT}
        host = {"CpuQuota": one.limits.get("cpu", 0), "Memory": one.limits.get("memory", 0)}
        return {"State": state, "HostConfig": host}

    def addresses(self, container_id: str) -> dict[str, str]:
        one = self._of(container_id)
        return {"net-1": one.address if one.status == "running" else ""}

    def logs(self, container_id: str, *, lines: int | None = None, since_ns: int = 0) -> str:
        return self._of(container_id).log

    def act(self, container_id: str, action: str, *, name: str) -> None:
        self._of(container_id).status = {"start": "running", "kill": "exited"}[action]

    def remove(self, container_id: str, *, name: str) -> None:
        self._of(container_id)
        self.by_name.pop(name)

    def set_cpu_quota(self, container_id: str, cpus: float | None, *, name: str) -> None:
        self._of(container_id).limits["cpu"] = 0 if cpus is None else round(cpus * 100_000)

    def set_memory_limit(self, container_id: str, most_bytes: int | None, *, name: str) -> None:
        self._of(container_id).limits["memory"] = most_bytes or 0

    def start_node(self, node: int, release: str) -> Node:
        if self.breaks:
            self.make("hw-r-1", release, status="created")
            raise self.breaks.pop(0)
        one = self.make("hw-r-1", release)
        return Node(
            number=node,
            container_id=one.id,
            name="hw-r-1",
            network="net-1",
            release=release,
            properties=f"# of {release}\n",
        )


@dataclass
class MovedMesh:
    """Notes where a node's edges are to lead."""

    moves: list[tuple[int, str]] = field(default_factory=list)

    def moved(self, node: int, address: str) -> None:
        self.moves.append((node, address))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    for name in ("inspect", "addresses", "logs", "act", "remove", "set_cpu_quota", "set_memory_limit"):
        monkeypatch.setattr(docker_containers, name, getattr(made, name))
    made.by_name["hw-r-proxy"] = OneContainer(id="cp", status="running", address="10.0.0.99", log="")
    return made


def cluster_of(engine: Engine) -> DockerCluster:
    """A cluster of one node that runs 4.0.0."""
    return DockerCluster(
        topology=TOPOLOGY,
        labels={"highwater.run": "r"},
        proxy=Container(id="cp", name="hw-r-proxy", addresses={}),
        clients={},
        nodes={1: engine.start_node(1, "4.0.0")},
        start_node=engine.start_node,
        disks=cast(Disks, None),
        clocks=cast(Clocks, None),
        mesh=cast(ToxiproxyMesh, MovedMesh()),
    )


def ended(cluster: DockerCluster, engine: Engine) -> None:
    """Node 1 has exited."""
    engine.by_name["hw-r-1"].status = "exited"
    assert cluster.state(1).status == "exited"


def test_the_next_start_is_of_the_new_release_and_the_edges_follow(engine: Engine, tmp_path: Path) -> None:
    cluster = cluster_of(engine)
    assert (cluster.release_of(1), cluster.reported_release(1)) == ("4.0.0", "4.0.0")
    ended(cluster, engine)
    cluster.change_release(1, "4.3.1")
    cluster.start(1)
    assert (cluster.release_of(1), cluster.reported_release(1)) == ("4.3.1", "4.3.1")
    assert cluster.state(1).status == "running"
    assert cluster.state(1).restarts == 1
    assert cast(MovedMesh, cluster.mesh).moves == [(1, "10.0.0.2")]
    cluster.collect(tmp_path)
    log = (tmp_path / "1/server.log").read_text()
    assert [line.split()[-2] for line in log.splitlines()] == ["4.0.0", "4.3.1"]
    assert (tmp_path / "1/server.properties").read_text() == "# of 4.3.1\n"


def test_a_start_without_a_change_keeps_the_container(engine: Engine) -> None:
    cluster = cluster_of(engine)
    ended(cluster, engine)
    cluster.start(1)
    assert (engine.made, cluster.state(1).restarts) == (1, 1)


def test_limits_hold_over_the_change(engine: Engine) -> None:
    cluster = cluster_of(engine)
    cluster.limit_cpu(1, 0.5)
    cluster.limit_memory(1, 400 << 20)
    ended(cluster, engine)
    cluster.change_release(1, "4.3.1")
    cluster.start(1)
    assert (cluster.cpu_limit(1), cluster.memory_limit(1)) == (0.5, 400 << 20)


def test_a_start_that_fails_can_be_tried_again(engine: Engine, tmp_path: Path) -> None:
    """What it has left is removed first; the log of the old container is kept all the same."""
    cluster = cluster_of(engine)
    ended(cluster, engine)
    cluster.change_release(1, "4.3.1")
    engine.breaks.append(NodeStateError("the engine is busy"))
    with pytest.raises(NodeStateError, match="the engine is busy"):
        cluster.start(1)
    cluster.start(1)
    assert (cluster.reported_release(1), cluster.state(1).status) == ("4.3.1", "running")
    cluster.collect(tmp_path)
    log = (tmp_path / "1/server.log").read_text()
    assert [line.split()[-2] for line in log.splitlines()] == ["4.0.0", "4.3.1"]


def test_only_a_node_that_has_exited_changes_and_only_to_a_release_that_is_there(engine: Engine) -> None:
    cluster = cluster_of(engine)
    with pytest.raises(NodeStateError, match="node 1 is running; only one that has exited"):
        cluster.change_release(1, "4.3.1")
    ended(cluster, engine)
    with pytest.raises(NodeStateError, match=r"no image of 3\.9\.1; it has 4\.0\.0, 4\.3\.1"):
        cluster.change_release(1, "3.9.1")
    assert cluster.release_of(1) == "4.0.0"
