"""Who holds which edge, and how its proxies are changed because of it."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from compose.errors import MeshError
from compose.impairments import Delayed, Impairment, Reset, Sliced, Swallowed, Throttled
from compose.mesh.mesh import ToxiproxyMesh
from compose.mesh.probe import EdgeProbe
from compose.mesh.toxics import Setting, Toxic
from compose.mesh.toxiproxy import ProxyState
from compose.mesh.traffic import Traffic
from compose.protocols import Edge, RoundTrip, Transfer
from compose.spec.mesh_plan import proxies
from compose.spec.topology import Topology

EDGE = Edge.parse("1->2")
BLACKHOLE = "timeout_downstream+timeout_upstream"
LATE = "latency_downstream"


class FakeServer:
    """Remembers what each proxy was brought to; one named in `broken` cannot be changed."""

    def __init__(self) -> None:
        self.changes: list[str] = []
        self.settings: dict[str, Setting] = {}
        self.broken: set[str] = set()
        self.reported: dict[str, ProxyState] = {}

    def bring(self, name: str, setting: Setting) -> None:
        toxics = "+".join(sorted(setting.toxics)) or "open"
        self._note(toxics if setting.enabled else "refuse", name)
        self.settings[name] = setting

    def move(self, name: str, upstream: str) -> None:
        self._note(f"move to {upstream}", name)

    def states(self) -> dict[str, ProxyState]:
        return self.reported

    def _note(self, what: str, name: str) -> None:
        if name in self.broken:
            raise MeshError(f"{name} is broken")
        self.changes.append(f"{what} {name}")


def make_mesh(server: FakeServer, topology: Topology | None = None) -> ToxiproxyMesh:
    """A mesh of `topology` over `server`, in which nothing flows."""
    return ToxiproxyMesh(
        proxies(topology or Topology()), server, Traffic({}, str), EdgeProbe({}, {}, lambda argv: "")
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
    assert [change.split()[0] for change in server.changes] == [BLACKHOLE, "refuse", BLACKHOLE, "open"]


def test_owner_changes_its_mode() -> None:
    """An owner that cuts again in another mode has that mode."""
    server = FakeServer()
    mesh = make_mesh(server)
    mesh.cut([EDGE], mode="refuse", owner="a")
    mesh.cut([EDGE], mode="blackhole", owner="a")
    assert server.changes == ["refuse 1->2:10002", f"{BLACKHOLE} 1->2:10002"]


def test_delays_of_two_owners_add_up() -> None:
    """A slow edge is not cut; it is as slow as all its owners want, and open when the last is gone."""
    server = FakeServer()
    mesh, shown = make_mesh(server), list[object]()
    mesh.impair([EDGE], Delayed(delay_s=0.25, jitter_s=0.05), owner="a")
    mesh.impair([EDGE], Delayed(delay_s=0.5, jitter_s=0.25), owner="b")
    assert not mesh.is_cut(EDGE)
    shown.append(server.settings["1->2:10002"].toxics[LATE].attributes)
    mesh.mend([EDGE], owner="a")
    shown.append(server.settings["1->2:10002"].toxics[LATE].attributes)
    mesh.mend([EDGE], owner="b")
    assert shown == [{"latency": 750, "jitter": 300}, {"latency": 500, "jitter": 250}]
    assert server.changes == [f"{each} 1->2:10002" for each in (LATE, LATE, LATE, "open")]


def test_a_cut_outranks_a_delay() -> None:
    """An edge that is slowed while it is cut is slow when it opens; and is cut while it is slow."""
    server = FakeServer()
    mesh = make_mesh(server)
    mesh.cut([EDGE], mode="refuse", owner="cut")
    mesh.impair([EDGE], Delayed(delay_s=0.25), owner="slow")
    mesh.mend([EDGE], owner="cut")
    mesh.cut([EDGE], mode="blackhole", owner="cut")
    mesh.mend([EDGE], owner="slow")
    mesh.mend([EDGE], owner="cut")
    assert server.changes == [f"{each} 1->2:10002" for each in ("refuse", LATE, BLACKHOLE, "open")]


def test_impairments_of_several_owners_are_there_at_once() -> None:
    """And healing one takes away its own only."""
    server = FakeServer()
    mesh = make_mesh(server)
    mesh.impair([EDGE], Throttled(bytes_per_s=50_000), owner="a")
    mesh.impair([EDGE], Sliced(size_bytes=100, delay_s=0.002, direction="to"), owner="b")
    mesh.cut([EDGE], mode="blackhole", owner="c", directions=("to",))
    mesh.mend([EDGE], owner="a")
    mesh.mend([EDGE], owner="c")
    assert server.changes == [
        "bandwidth_downstream 1->2:10002",
        "bandwidth_downstream+slicer_upstream 1->2:10002",
        "bandwidth_downstream+timeout_upstream 1->2:10002",
        "timeout_upstream 1->2:10002",
        "slicer_upstream 1->2:10002",
    ]


@pytest.mark.parametrize(
    ("impairment", "is_cut"),
    [
        (Swallowed(directions=("to",)), True),
        (Swallowed(directions=("from",)), True),
        (Reset(), True),
        (Delayed(delay_s=1), False),
        (Throttled(bytes_per_s=10_000), False),
        (Sliced(size_bytes=100, delay_s=0.01), False),
    ],
)
def test_an_edge_is_cut_if_no_request_is_answered(impairment: Impairment, is_cut: bool) -> None:
    mesh = make_mesh(FakeServer())
    mesh.impair([EDGE], impairment, owner="a")
    assert mesh.is_cut(EDGE) is is_cut


def test_mend_all_ends_impairments() -> None:
    """Whoever held the edge."""
    server = FakeServer()
    mesh = make_mesh(server)
    mesh.impair([EDGE], Delayed(delay_s=0.25), owner="a")
    mesh.mend_all()
    mesh.mend([EDGE], owner="a")
    assert [change for change in server.changes if change.endswith(" 1->2:10002")] == [
        f"{LATE} 1->2:10002",
        "open 1->2:10002",
    ]


def test_round_trips() -> None:
    """By edge, and past it; of an edge of two proxies the sooner one; of none that is silent."""
    asked: list[list[str]] = []

    def run(argv: Sequence[str]) -> str:
        asked.append(list(argv))
        past = "x:1 0.03\ny:1 0.01\n" if "x:1" in argv else ""
        return f"a:1 0.26\na:2 0.02\nb:1 0.00\n{past}"

    one, other, silent = Edge.parse("1->2"), Edge.parse("1->3"), Edge.parse("2->3")
    places = {"a:1": one, "a:2": one, "b:1": other, "c:1": silent, "d:1": Edge.parse("3->1")}
    upstreams = {"a:1": "x:1", "a:2": "x:1", "b:1": "y:1", "c:1": "y:1", "d:1": "z:1"}
    probe = EdgeProbe(places, upstreams, run)
    trips = probe.round_trips([one, other, silent], within_s=0.5)
    assert trips == {one: RoundTrip(took_s=0.02, direct_s=0.03), other: RoundTrip(took_s=0.0, direct_s=0.01)}
    assert [each.added_s for each in trips.values()] == [0.0, 0.0]
    assert probe.probe([one, other, silent], within_s=0.5) == {one, other}
    through = ["perl", "/highwater/probe.pl", "0.5", "a:1", "a:2", "b:1", "c:1"]
    assert asked == [[*through, "x:1", "y:1"], through]
    assert probe.round_trips([], within_s=0.5) == {}


def test_how_far_requests_came() -> None:
    """By edge; of an edge of two proxies the farther one; an unknown word is an error."""
    one, other = Edge.parse("1->2"), Edge.parse("1->3")
    places = {"a:1": one, "a:2": one, "b:1": other}
    probe = EdgeProbe(places, {}, lambda argv: "a:1 target\na:2 proxy\nb:1 reset\n")
    assert probe.reached([one, other], within_s=0.5) == {one: "target", other: "reset"}
    with pytest.raises(MeshError, match="unknown answer 'lost'"):
        EdgeProbe(places, {}, lambda argv: "a:1 lost\n").reached([one], within_s=0.5)


def test_transfers() -> None:
    """By edge, with the bytes that passed; of an edge of two proxies the sooner one."""
    asked: list[list[str]] = []

    lines = [
        "a:1 850 900 0.05 0.50",
        "a:2 900 1000 0.04 0.40",
        "b:1 800 700 0.01 0.10",
        "x:1 800 700 0.02 0.20",
        "x:2 800 800 0.01 0.15",
    ]

    def run(argv: Sequence[str]) -> str:
        asked.append(list(argv))
        return "\n".join(lines)

    one, silent = Edge.parse("1->2"), Edge.parse("1->3")
    places = {"a:1": one, "a:2": one, "b:1": silent}
    probe = EdgeProbe(places, {"a:1": "x:1", "a:2": "x:2", "b:1": "y:1"}, run)
    (transfer,) = probe.transfers([one, silent], 800, within_s=2.5).items()
    small = RoundTrip(took_s=0.04, direct_s=0.01)
    passed = Transfer(request_bytes=900, answer_bytes=1000, small=small, took_s=0.4, direct_s=0.15)
    assert transfer == (one, passed)
    assert transfer[1].added_s == 0.25
    words = ["perl", "/highwater/transfer.pl", "2.5", "800"]
    assert asked == [[*words, "a:1", "a:2", "b:1", "x:1", "x:2", "y:1"]]


def test_where_an_edge_leads_moves_with_its_node() -> None:
    asked: list[list[str]] = []

    def run(argv: Sequence[str]) -> str:
        asked.append(list(argv))
        return ""

    to_it, to_another = Edge.parse("1->2"), Edge.parse("1->3")
    probe = EdgeProbe({"a:1": to_it, "b:1": to_another}, {"a:1": "x:7", "b:1": "y:8"}, run)
    mesh = ToxiproxyMesh(proxies(Topology()), FakeServer(), Traffic({}, str), probe)
    mesh.moved(2, "z")
    assert mesh.round_trips([to_it, to_another], within_s=1) == {}
    assert asked[0][3:] == ["a:1", "b:1", "z:7", "y:8"]


def test_an_edge_that_takes_long_delays_no_other() -> None:
    """Other faults go on meanwhile; one on the same edge waits, and both are there then."""

    class Slow(FakeServer):
        def bring(self, name: str, setting: Setting) -> None:
            if name == "1->2:10002":
                begun.set()
                assert go_on.wait(10)
            super().bring(name, setting)

    server, begun, go_on = Slow(), Event(), Event()
    mesh = make_mesh(server)
    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(mesh.impair, [EDGE], Delayed(delay_s=0.25), owner="a")
        assert begun.wait(10)
        mesh.cut(edges("1->3"), mode="refuse", owner="b")
        other = threads.submit(mesh.impair, [EDGE], Reset(direction="to"), owner="c")
        assert not mesh.is_cut(Edge.parse("2->1"))
        assert server.changes == ["refuse 1->3:10003"]
        go_on.set()
        one.result(10)
        other.result(10)
    assert server.settings["1->2:10002"].toxics.keys() == {LATE, "reset_peer_upstream"}


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


def state(*, enabled: bool = True, toxics: Iterable[str] = ()) -> ProxyState:
    return ProxyState(
        listen="",
        upstream="",
        enabled=enabled,
        toxics={name: Toxic(type=name, stream="", attributes={}) for name in toxics},
    )


def test_an_edge_is_disturbed_by_the_server_s_own_word_whatever_the_mesh_believes() -> None:
    server = FakeServer()
    mesh = make_mesh(server)
    plan = proxies(Topology())
    server.reported = {one.name: state() for one in plan}
    assert mesh.disturbed() == {}
    names = {str(one.edge): one.name for one in plan}
    server.reported[names["1->2"]] = state(enabled=False)
    server.reported[names["2->1"]] = state(toxics=["slow"])
    del server.reported[names["client->3"]]
    assert {str(edge): how for edge, how in mesh.disturbed().items()} == {
        "client->3": "its proxy is gone",
        "1->2": "its proxy is disabled",
        "2->1": "its proxy has slow",
    }


def test_an_edge_that_is_held_is_disturbed_and_by_whom() -> None:
    server = FakeServer()
    mesh = make_mesh(server)
    server.reported = {one.name: state() for one in proxies(Topology())}
    mesh.cut([EDGE], mode="refuse", owner="cut")
    mesh.impair([EDGE], Delayed(delay_s=1), owner="lag")
    assert mesh.disturbed() == {EDGE: "held by cut, lag"}
    mesh.mend_all()
    assert mesh.disturbed() == {}
