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
from compose.mesh import toxiproxy
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


def test_black_hole_is_dark_before_it_opens(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """From refusing to swallowing, both toxics are there before the proxy listens again."""
    server.refuse("1->2")
    server.blackhole("1->2")
    kinds = [asked.split()[1] + ("on" if "true" in asked else "") for asked in fake.asked]
    assert kinds == ["/proxies/1->2", "/proxies/1->2/toxics", "/proxies/1->2/toxics", "/proxies/1->2on"]
    assert {toxic["stream"] for toxic in fake.proxies["1->2"]["toxics"]} == {"upstream", "downstream"}
    assert all(toxic["attributes"] == {"timeout": 0} for toxic in fake.proxies["1->2"]["toxics"])


def test_open(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """Opening takes the toxics away and listens."""
    server.blackhole("1->2")
    server.refuse("1->2")
    server.open("1->2")
    assert server.states()["1->2"].enabled
    assert server.states()["1->2"].toxics == frozenset()


def test_slow(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """One toxic delays the answers; it replaces what the proxy had before, and is there before it listens."""
    server.blackhole("1->2")
    server.refuse("1->2")
    server.slow("1->2", delay_s=0.25, jitter_s=0.05)
    (toxic,) = fake.proxies["1->2"]["toxics"]
    assert (toxic["type"], toxic["stream"], toxic["toxicity"]) == ("latency", "downstream", 1.0)
    assert toxic["attributes"] == {"latency": 250, "jitter": 50}
    assert fake.asked[-1] == 'POST /proxies/1->2 {"enabled": true}'
    server.slow("1->2", delay_s=0.5, jitter_s=0.0)
    state = server.states()["1->2"]
    assert (state.enabled, state.delay_ms, state.jitter_ms) == (True, 500, 0)
    server.open("1->2")
    assert server.states()["1->2"].toxics == frozenset()


def test_another_delay_that_did_not_take(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """A toxic of the right name with the wrong delay is noticed."""
    server.slow("1->2", delay_s=0.25, jitter_s=0.05)
    fake.deaf = True
    with pytest.raises(
        MeshError, match="proxy 1->2: should be slow by 500 ms, give or take 50 ms; the server"
    ):
        server.slow("1->2", delay_s=0.5, jitter_s=0.05)


def test_a_change_that_did_not_take(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """A server that answers with success and changes nothing is noticed."""
    fake.deaf = True
    for change, wanted in ((server.refuse, "disabled"), (server.blackhole, "a black hole")):
        with pytest.raises(MeshError, match=f"proxy 1->2: should be {wanted}; the server has"):
            change("1->2")
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
        server.refuse("1->2")
    assert not server.answers()


def test_unknown_proxy(server: ToxiproxyServer) -> None:
    """A proxy that the server does not have is an error of ours, with its name."""
    with pytest.raises(MeshError, match=r"opening proxy 9->9: .* refuses: .*not found"):
        server.open("9->9")


def test_silence(fake: FakeToxiproxy, server: ToxiproxyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer is given up after the time-out."""
    monkeypatch.setattr(toxiproxy, "HTTP_TIMEOUT_S", 0.1)
    fake.hang.clear()
    with pytest.raises(MeshError, match="timed out"):
        server.refuse("1->2")


def test_nobody_there() -> None:
    """A server that is not there does not answer."""
    assert not ToxiproxyServer("127.0.0.1", 1).answers()


def test_two_servers(fake: FakeToxiproxy, server: ToxiproxyServer) -> None:
    """Two servers in one process do not get each other's calls."""
    with FakeToxiproxy() as other:
        threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        ToxiproxyServer(*other.server_address[:2]).create({"a": ("127.0.0.1:5", "127.0.0.1:6")})
        server.refuse("1->2")
        other.shutdown()
    assert list(other.proxies) == ["a"]
    assert list(fake.proxies) == ["1->2"]


def test_library_unpatched(server: ToxiproxyServer) -> None:
    """The library's own module and class are as it ships them, also while a server is in use."""
    server.states()
    assert api.requests is requests
    assert (api.APIConsumer.host, api.APIConsumer.port) == ("127.0.0.1", 8474)
