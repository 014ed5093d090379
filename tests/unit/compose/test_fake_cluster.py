"""The fakes keep the protocols that the real cluster keeps."""

import pytest
from fakes.world.cluster import FakeCluster, full_mesh
from fakes.world.view import FakeView, partition

from compose.admin_protocol import Admin
from compose.errors import NodeStateError
from compose.protocols import Cluster, Edge, Mesh, View


def test_members() -> None:
    """The fakes have every member of the protocols."""
    cluster = FakeCluster()
    fakes = ((cluster, Cluster), (cluster.mesh, Mesh), (cluster.admin, Admin), (FakeView(), View))
    for fake, protocol in fakes:
        wanted = {name for name in vars(protocol) if not name.startswith("_")}
        assert {name for name in wanted if not hasattr(fake, name)} == set()


def test_full_mesh() -> None:
    """Three brokers and three controllers have 24 edges."""
    assert len(full_mesh((1, 2, 3), (101, 102, 103))) == 24


def test_two_owners() -> None:
    """An edge held by two owners opens with the last of them."""
    mesh, edge = FakeCluster().mesh, Edge.parse("2->1")
    mesh.cut([edge], mode="refuse", owner="kill#3")
    mesh.cut([edge], mode="blackhole", owner="partition#2")
    mesh.mend([edge], owner="kill#3")
    assert mesh.is_cut(edge)
    mesh.mend([edge], owner="partition#2")
    assert not mesh.is_cut(edge)


def test_kill_and_start() -> None:
    """A killed node comes back with another process and one restart more."""
    cluster = FakeCluster()
    before = cluster.state(1)
    cluster.kill(1)
    assert (cluster.state(1).status, cluster.state(1).exit_code) == ("exited", 137)
    cluster.start(1)
    assert cluster.state(1).status == "running"
    assert cluster.state(1).restarts == before.restarts + 1
    assert cluster.state(1).pid != before.pid


def test_what_is_down_cannot_be_paused() -> None:
    """It stays down."""
    cluster = FakeCluster()
    cluster.pause(1)
    cluster.pause(1)
    assert cluster.state(1).status == "paused"
    cluster.kill(1)
    with pytest.raises(NodeStateError, match="node 1 is exited"):
        cluster.pause(1)
    assert cluster.state(1).status == "exited"


def test_power_cut() -> None:
    """A power cut takes what was not synced, and every file system answers with an error since."""
    cluster = FakeCluster(log_dir_count=2)
    assert cluster.drop_unsynced(2) == ("Input/output error", "Input/output error")
    assert (cluster.log_bytes(2), cluster.unsynced_bytes(2)) == (900, 0)


def test_view() -> None:
    """A view answers with what it was given."""
    view = FakeView()
    view.put(partition("orders", 0, leader=2))
    assert view.leaders() == {("orders", 0): 2}
