"""A Docker Engine behind a socket of this machine: it gives the answers that a test put there, and is silent
where the test wants it to be."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import BaseServer, TCPServer, ThreadingMixIn, UnixStreamServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

LONGEST_SILENCE_S = 10.0
"""Then the connection is closed: a caller without a deadline fails its test, and does not hang in it."""

GREETING = {"GET /version": {"ApiVersion": "1.41"}, "GET /_ping": "OK"}


@dataclass(frozen=True, slots=True)
class Pieces:
    """An answer in pieces, and then silence; None instead of them: not even the head of an answer."""

    pieces: Sequence[bytes] | None = ()
    head: Mapping[str, str] = field(default_factory=dict)
    silence_s: float = LONGEST_SILENCE_S


MUTE = Pieces(None)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: "POST /build", what its address says after the question mark, and its body."""

    what: str
    query: Mapping[str, str]
    body: bytes


@dataclass
class EngineServer:
    """`answers` by method and path: a `Pieces`, a text, or what becomes JSON; of a list of `Pieces` the first
    is taken away each time, until one is left."""

    address: str
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def of(self, what: str) -> list[Asked]:
        """The requests of one kind."""
        return [each for each in self.asked if each.what == what]

    def answer(self, what: str) -> Any:
        found = self.answers.get(what, GREETING.get(what))
        if isinstance(found, list) and found and isinstance(found[0], Pieces):
            return found.pop(0) if len(found) > 1 else found[0]
        return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine: EngineServer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        what = f"{self.command} /{parts.path.removeprefix('/v1.41').lstrip('/')}"
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.engine.asked.append(Asked(what, query, body))
        match self.engine.answer(what):
            case None:
                kind = "image" if "/images/" in what else "thing"
                self._whole(404, json.dumps({"message": f"No such {kind}: {what}"}))
            case Pieces() as answer:
                self._in_pieces(answer)
            case str(text):
                self._whole(200, text)
            case value:
                self._whole(200, json.dumps(value))

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """A test prints nothing."""

    def _whole(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def _in_pieces(self, answer: Pieces) -> None:
        if answer.pieces is not None:
            self.send_response(200)
            for name, value in (answer.head | {"Transfer-Encoding": "chunked"}).items():
                self.send_header(name, value)
            self.end_headers()
            for piece in answer.pieces:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.engine.closing.wait(answer.silence_s)
        self.close_connection = True


class _Quiet(ThreadingMixIn):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Who asked has given up, as it should."""


class _Tcp(_Quiet, TCPServer):
    pass


class _Unix(_Quiet, UnixStreamServer):
    pass


@contextmanager
def engine_server(socket: Path | None = None) -> Iterator[EngineServer]:
    """An engine at a Unix socket, or at a port of loopback."""
    handler = type("Handler", (_Handler,), {})
    server: BaseServer
    if socket is None:
        server = _Tcp(("127.0.0.1", 0), handler)
        handler.engine = EngineServer(f"tcp://127.0.0.1:{server.server_address[1]}")
    else:
        server = _Unix(str(socket), handler)
        handler.engine = EngineServer(f"unix://{socket}")
    serving = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    serving.start()
    try:
        yield handler.engine
    finally:
        handler.engine.closing.set()
        server.shutdown()
        server.server_close()
