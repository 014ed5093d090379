"""The adapter against a server that may lie, fail, or not answer."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest
import requests
from toxiproxy import api

from compose.errors import MeshError
from compose.impairments import Delayed, Refused, Reset, Sliced, Swallowed, Throttled
from compose.mesh import toxiproxy
from compose.mesh.toxics import setting_of
from compose.mesh.toxiproxy import ToxiproxyServer


class FakeToxiproxy(ThreadingHTTPServer):
    """Toxiproxy's API as far as we use it. `fails`: a status to answer with; `deaf`: it ignores changes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.proxies: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.fails = 0
        self.deaf = False
        self.hang = threading.Event()
        self.hang.set()


class Handler(BaseHTTPRequestHandler):
    server: FakeToxiproxy

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def do_DELETE(self) -> None:
        self._answer(None)

    def log_message(self, *_: object) -> None:
        """Keep the terminal quiet."""

    def _answer(self, body: dict[str, Any] | None) -> None:
        self.server.hang.wait(5)
        change = self.command != "GET"
        if change:
            self.server.asked.append(
                f"{self.command} {unquote(self.path)} {json.dumps(body) if body else ''}".strip()
            )
        status, answer = (
            (self.server.fails, {"error": "broken"}) if self.server.fails else self._do(change, body)
        )
        raw = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _do(self, change: bool, body: dict[str, Any] | None) -> tuple[int, Any]:
        match unquote(self.path).strip("/").split("/"):
            case ["proxies"] if not change:
                return 200, self.server.proxies
            case ["proxies"] if body:
                self.server.proxies[body["name"]] = {"enabled": True, "toxics": [], **body}
                return 201, self.server.proxies[body["name"]]
            case ["proxies", name, *rest] if name in self.server.proxies:
                return 200, self._of_proxy(self.server.proxies[name], rest, change, body)
        return 404, {"error": "proxy not found"}

    def _of_proxy(
        self, proxy: dict[str, Any], rest: list[str], change: bool, body: dict[str, Any] | None
    ) -> Any:
        if change and not self.server.deaf:
            if rest == ["toxics"] and body:
                proxy["toxics"].append(body)
            elif rest and body:
                (toxic,) = (toxic for toxic in proxy["toxics"] if toxic["name"] == rest[1])
                toxic.update(body)
            elif rest:
                proxy["toxics"] = [toxic for toxic in proxy["toxics"] if toxic["name"] != rest[1]]
            elif body:
                proxy.update(body)
        return proxy["toxics"] if rest == ["toxics"] and not change else proxy


@pytest.fixture
def fake() -> Iterator[FakeToxiproxy]:
    """A server with one open proxy."""
    with FakeToxiproxy() as server:
        server.proxies["1->2"] = {
            "name": "1->2", "listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": True, "toxics": [],
        }  # fmt: skip
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.hang.set()
        server.shutdown()


@pytest.fixture
def server(fake: FakeToxiproxy) -> ToxiproxyServer:
    """The adapter to that server."""
    return ToxiproxyServer(*fake.server_address[:2])


BLACKHOLE = setting_of([Swallowed()])
LATE = setting_of([Delayed(delay_s=0.25, jitter_s=0.05)])
REFUSED = setting_of([Refused()])
OPEN = setting_of([])


def test_black_hole_is_dark_before_it_opens(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """From refusing to swallowing, both toxics are there before the proxy listens again."""
    server.bring("1->2", REFUSED)
    server.bring("1->2", BLACKHOLE)
    kinds = [asked.split()[1] + ("on" if "true" in asked else "") for asked in fake.asked]
    assert kinds == ["/proxies/1->2", "/proxies/1->2/toxics", "/proxies/1->2/toxics", "/proxies/1->2on"]
    assert {toxic["stream"] for toxic in fake.proxies["1->2"]["toxics"]} == {"upstream", "downstream"}
    assert all(toxic["attributes"] == {"timeout": 0} for toxic in fake.proxies["1->2"]["toxics"])


def test_open(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """Opening takes the toxics away and listens."""
    server.bring("1->2", BLACKHOLE)
    server.bring("1->2", REFUSED)
    server.bring("1->2", OPEN)
    assert server.states()["1->2"].enabled
    assert server.states()["1->2"].toxics == {}


def test_what_refuses_keeps_its_toxics(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """While connections end, no toxic of theirs is waited for."""
    server.bring("1->2", LATE)
    fake.asked.clear()
    server.bring("1->2", REFUSED)
    assert fake.asked == ['POST /proxies/1->2 {"enabled": false}']


def test_a_toxic_as_it_is_sent(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """With everything that Toxiproxy would else choose."""
    server.bring("1->2", LATE)
    assert fake.proxies["1->2"]["toxics"] == [
        {
            "name": "latency_downstream",
            "type": "latency",
            "stream": "downstream",
            "toxicity": 1.0,
            "attributes": {"latency": 250, "jitter": 50},
        }
    ]


def test_bringing_changes_what_differs_only(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """One toxic is taken away, one changed in its place, one stays, and one is added, in this order."""
    before = [Delayed(delay_s=0.25), Sliced(size_bytes=100, delay_s=0.002), Throttled(bytes_per_s=50_000)]
    server.bring("1->2", setting_of(before))
    fake.asked.clear()
    after = [
        Delayed(delay_s=0.5),
        Throttled(bytes_per_s=50_000),
        Throttled(bytes_per_s=20_000, direction="to"),
    ]
    server.bring("1->2", setting_of(after))
    assert [asked.split(" {")[0] for asked in fake.asked] == [
        "DELETE /proxies/1->2/toxics/slicer_downstream",
        "POST /proxies/1->2/toxics/latency_downstream",
        "POST /proxies/1->2/toxics",
    ]
    state = server.states()["1->2"]
    assert state.toxics == setting_of(after).toxics
    fake.asked.clear()
    server.bring("1->2", setting_of(after))
    assert fake.asked == []


def test_a_new_toxic_comes_before_those_that_it_precedes(
    fake: FakeToxiproxy, server: ToxiproxyServer
) -> None:
    """A rate goes in front of the delay that was there first; the other direction is not touched."""
    before = [Delayed(delay_s=0.25), Delayed(delay_s=0.25, direction="to")]
    server.bring("1->2", setting_of(before))
    fake.asked.clear()
    server.bring("1->2", setting_of([*before, Throttled(bytes_per_s=50_000)]))
    assert [asked.split(" {")[0] for asked in fake.asked] == [
        "DELETE /proxies/1->2/toxics/latency_downstream",
        "POST /proxies/1->2/toxics",
        "POST /proxies/1->2/toxics",
    ]
    assert [toxic["name"] for toxic in fake.proxies["1->2"]["toxics"]] == [
        "latency_upstream",
        "bandwidth_downstream",
        "latency_downstream",
    ]


def test_a_black_hole_swallows_before_anything_else_is_taken_away(
    fake: FakeToxiproxy, server: ToxiproxyServer
) -> None:
    """And a reset comes after: what is in front of it would wait for ever."""
    server.bring("1->2", LATE)
    fake.asked.clear()
    server.bring("1->2", setting_of([Swallowed(directions=("from",))]))
    server.bring("1->2", setting_of([Reset()]))
    assert [asked.split(" {")[0] for asked in fake.asked] == [
        "POST /proxies/1->2/toxics",
        "DELETE /proxies/1->2/toxics/latency_downstream",
        "DELETE /proxies/1->2/toxics/timeout_downstream",
        "POST /proxies/1->2/toxics",
    ]


def test_another_delay_that_did_not_take(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """A toxic of the right name with the wrong delay is noticed."""
    server.bring("1->2", LATE)
    fake.deaf = True
    wanted = r"open with latency_downstream \{'latency': 500, 'jitter': 0\}"
    with pytest.raises(MeshError, match=f"proxy 1->2: should be {wanted}; the server has"):
        server.bring("1->2", setting_of([Delayed(delay_s=0.5)]))


def test_a_change_that_did_not_take(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """A server that answers with success and changes nothing is noticed."""
    fake.deaf = True
    for setting, wanted in ((REFUSED, "disabled"), (BLACKHOLE, "open with timeout_downstream")):
        with pytest.raises(MeshError, match=f"proxy 1->2: should be {wanted}.*; the server has"):
            server.bring("1->2", setting)
    with pytest.raises(MeshError, match=r"forwarding to 10\.0\.0\.1:1"):
        server.move("1->2", "10.0.0.1:1")


def test_create(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """New proxies are compared with what was asked for."""
    server.create({"2->1": ("127.0.0.1:3", "127.0.0.1:4")})
    assert server.states()["2->1"].upstream == "127.0.0.1:4"


def test_server_error(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """A status that the library would take for success is an error."""
    fake.fails = 500
    with pytest.raises(MeshError, match=r"disabling proxy 1->2: Toxiproxy at .* fails: 500"):
        server.bring("1->2", REFUSED)
    assert not server.answers()


def test_unknown_proxy(server: ToxiproxyServer) -> None:
    """A proxy that the server does not have is an error of ours, with its name."""
    with pytest.raises(
        MeshError, match=r"bringing proxy 9->9 to be open without toxics: .* refuses: .*not found"
    ):
        server.bring("9->9", OPEN)


def test_silence(fake: FakeToxiproxy, server: ToxiproxyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer is given up after the time-out."""
    monkeypatch.setattr(toxiproxy, "HTTP_TIMEOUT_S", 0.1)
    fake.hang.clear()
    with pytest.raises(MeshError, match="timed out"):
        server.bring("1->2", REFUSED)


def test_nobody_there() -> None:
    """A server that is not there does not answer."""
    assert not ToxiproxyServer("127.0.0.1", 1).answers()


def test_two_servers(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """Two servers in one process do not get each other's calls."""
    with FakeToxiproxy() as other:
        threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        ToxiproxyServer(*other.server_address[:2]).create({"a": ("127.0.0.1:5", "127.0.0.1:6")})
        server.bring("1->2", REFUSED)
        other.shutdown()
    assert list(other.proxies) == ["a"]
    assert list(fake.proxies) == ["1->2"]


def test_library_unpatched(server: ToxiproxyServer) -> None:
    """The library's own module and class are as it ships them, also while a server is in use."""
    server.states()
    assert api.requests is requests
    assert (api.APIConsumer.host, api.APIConsumer.port) == ("127.0.0.1", 8474)
