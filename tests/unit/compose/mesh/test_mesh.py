"""Who holds which edge, and how its proxies are changed because of it."""

from collections.abc import Iterable

import pytest

from compose.errors import MeshError
from compose.mesh.mesh import ToxiproxyMesh
from compose.mesh.probe import EdgeProbe
from compose.mesh.traffic import Traffic
from compose.protocols import Edge
from compose.spec.mesh_plan import proxies
from compose.spec.topology import Topology

EDGE = Edge.parse("1->2")


class FakeServer:
    """Remembers how each proxy was changed; one named in `broken` cannot be changed."""

    def __init__(self) -> None:
        self.changes: list[str] = []
        self.broken: set[str] = set()

    def refuse(self, name: str) -> None:
        self._tell("refuse", name)

    def blackhole(self, name: str) -> None:
        self._tell("blackhole", name)

    def open(self, name: str) -> None:
        self._tell("open", name)

    def move(self, name: str, upstream: str) -> None:
        self._tell(f"move to {upstream}", name)

    def _tell(self, what: str, name: str) -> None:
        if name in self.broken:
            raise MeshError(f"{name} is broken")
        self.changes.append(f"{what} {name}")


def make_mesh(server: FakeServer, topology: Topology | None = None) -> ToxiproxyMesh:
    """A mesh of `topology` over `server`, in which nothing flows."""
    return ToxiproxyMesh(
        proxies(topology or Topology()), server, Traffic({}, str), EdgeProbe({}, lambda argv: "")
    )


def edges(*texts: str) -> Iterable[Edge]:
    """Edges from their texts."""
    return [Edge.parse(text) for text in texts]


def test_cut_and_mend() -> None:
    """Each change reaches the edge's proxy once."""
    server = FakeServer()
    mesh = make_mesh(server)
    mesh.cut([EDGE], mode="refuse", owner="a")
    mesh.cut([EDGE], mode="refuse", owner="a")
    assert mesh.is_cut(EDGE)
    mesh.mend([EDGE], owner="a")
    mesh.mend([EDGE], owner="a")
    assert not mesh.is_cut(EDGE)
    assert server.changes == ["refuse 1->2:10002", "open 1->2:10002"]


def test_last_owner_opens() -> None:
    """An edge stays cut while anybody holds it."""
    server = FakeServer()
    mesh = make_mesh(server)
    mesh.cut([EDGE], mode="refuse", owner="kill#3")
    mesh.cut([EDGE], mode="refuse", owner="partition#2")
    mesh.mend([EDGE], owner="kill#3")
    assert mesh.is_cut(EDGE)
    assert server.changes == ["refuse 1->2:10002"]
    mesh.mend([EDGE], owner="partition#2")
    assert server.changes[-1] == "open 1->2:10002"


def test_modes_of_two_owners() -> None:
    """Refusal outranks the black hole while both are wanted; what is left then counts."""
    server = FakeServer()
    mesh = make_mesh(server)
    mesh.cut([EDGE], mode="blackhole", owner="a")
    mesh.cut([EDGE], mode="refuse", owner="b")
    mesh.cut([EDGE], mode="blackhole", owner="c")
    mesh.mend([EDGE], owner="b")
    mesh.mend([EDGE], owner="a")
    mesh.mend([EDGE], owner="c")
    assert [change.split()[0] for change in server.changes] == ["blackhole", "refuse", "blackhole", "open"]


def test_owner_changes_its_mode() -> None:
    """An owner that cuts again in another mode has that mode."""
    server = FakeServer()
    mesh = make_mesh(server)
    mesh.cut([EDGE], mode="refuse", owner="a")
    mesh.cut([EDGE], mode="blackhole", owner="a")
    assert server.changes == ["refuse 1->2:10002", "blackhole 1->2:10002"]


def test_combined_edge() -> None:
    """Both proxies of an edge between combined nodes are changed."""
    server = FakeServer()
    make_mesh(server, Topology(combined=True)).cut([EDGE], mode="refuse", owner="a")
    assert server.changes == ["refuse 1->2:10002", "refuse 1->2:20002"]


def test_mend_goes_on_after_an_error() -> None:
    """One proxy that fails does not keep the others cut; and it is tried again next time."""
    server = FakeServer()
    mesh = make_mesh(server)
    mesh.cut(edges("1->2", "1->3"), mode="refuse", owner="a")
    server.broken = {"1->2:10002"}
    with pytest.raises(MeshError, match="1->2:10002 is broken"):
        mesh.mend(edges("1->2", "1->3"), owner="a")
    assert server.changes[-1] == "open 1->3:10003"
    server.broken = set()
    mesh.mend([EDGE], owner="a")
    assert server.changes[-1] == "open 1->2:10002"


def test_half_cut_edge_is_opened() -> None:
    """An edge of which one proxy was cut before the other failed is opened by the mend."""
    server = FakeServer()
    mesh = make_mesh(server, Topology(combined=True))
    server.broken = {"1->2:20002"}
    with pytest.raises(MeshError):
        mesh.cut([EDGE], mode="refuse", owner="a")
    server.broken = set()
    mesh.mend([EDGE], owner="a")
    assert server.changes[-2:] == ["open 1->2:10002", "open 1->2:20002"]


def test_mend_all() -> None:
    """Every edge is opened whoever holds it, also those that seem to be open."""
    server = FakeServer()
    mesh = make_mesh(server)
    mesh.cut([EDGE], mode="blackhole", owner="a")
    mesh.mend_all()
    assert not mesh.is_cut(EDGE)
    assert sum(change.startswith("open") for change in server.changes) == 24


def test_moved_node() -> None:
    """Every edge to a node that has moved leads to its new address."""
    server = FakeServer()
    make_mesh(server).moved(1, "10.0.0.9")
    assert sorted(server.changes) == [
        "move to 10.0.0.9:10001 2->1:10001",
        "move to 10.0.0.9:10001 3->1:10001",
        "move to 10.0.0.9:9092 client->1:9092",
    ]


def test_unknown_edge() -> None:
    """An edge that this cluster does not have is named, and nothing is changed."""
    server = FakeServer()
    with pytest.raises(MeshError, match="no edge 101->1 in this cluster"):
        make_mesh(server).cut(edges("1->2", "101->1"), mode="refuse", owner="a")
    assert server.changes == []
