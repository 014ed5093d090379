"""Commands inside a container, run by a process that stands there, and not by a new exec of the engine each.

An exec costs the engine several processes, some 0.15 s of a core; probes ask several times a second. What
stands there is recipes/programs/serve.pl, and its head says what goes to and fro.
"""

import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from compose.docker.api import asking, client
from compose.docker.containers import ExecResult
from compose.errors import NodeStateError, Unanswered

SERVER = "/highwater/serve.pl"
GRACE_S = 5.0
"""How much later than the command's own end its answer may come: it is killed twice, a second apart."""

FRAME = struct.Struct(">BxxxL")
"""What the engine puts before each piece of an exec's output: which stream, how many bytes."""

MOST = 1 << 16


class StandingExec:
    """Runs commands in the container `container_id`, which has recipes/programs/serve.pl as SERVER.

    Safe to use from threads: each command has a session of its own while it runs; idle ones are kept.
    """

    def __init__(self, container_id: str) -> None:
        self._container_id = container_id
        self._idle: list[Session] = []
        self._lock = threading.Lock()
        self.unanswered = ""

    def run(self, argv: Sequence[str], *, within_s: float) -> ExecResult:
        """Run `argv`; after `within_s` seconds it is killed and its exit code is 124 or 137.

        Raises ComposeError if the engine or the container does not answer: Unanswered if it is only late,
        and then `unanswered` keeps what that says, as it may be in the kernel for good.
        """
        what = f"running {' '.join(argv)[:80]} in container {self._container_id[:12]}"
        session = self._take(what)
        try:
            result = session.run(argv, within_s=within_s)
        except TimeoutError as error:
            session.close()
            self.unanswered = f"{what}: no answer within {within_s + GRACE_S:g} s"
            raise Unanswered(self.unanswered) from error
        except OSError as error:
            session.close()
            raise NodeStateError(f"{what}: {error}") from error
        with self._lock:
            self._idle.append(session)
        return result

    def _take(self, what: str) -> "Session":
        while (session := self._kept()) is not None:
            if session.waits:
                return session
            session.close()
        with asking(what):
            api = client().api
            handle = api.exec_create(self._container_id, ["perl", SERVER], stdin=True)["Id"]
            stream = api.exec_start(handle, socket=True)
        connection: socket.socket = getattr(stream, "_sock", stream)  # type: ignore[arg-type]
        return Session(stream=stream, connection=connection)

    def _kept(self) -> "Session | None":
        with self._lock:
            return self._idle.pop() if self._idle else None


@dataclass(slots=True)
class Session:
    """One exec that stands; `stream` is what the SDK gave and owns the `connection`."""

    stream: object
    connection: socket.socket
    _read: bytearray = field(default_factory=bytearray)

    def run(self, argv: Sequence[str], *, within_s: float) -> ExecResult:
        """Ask and wait for the answer. OSError if there is none, TimeoutError if it is late."""
        deadline = time.monotonic() + within_s + GRACE_S
        words = (f"x{word.encode().hex()}" for word in argv)
        self._limit(deadline)
        self.connection.sendall(f"{within_s:g} {' '.join(words)}\n".encode())
        while (end := self._read.find(b"\n")) < 0:
            self._receive(deadline)
        code, length = map(int, self._read[:end].split())
        while len(self._read) < end + 1 + length:
            self._receive(deadline)
        output = bytes(self._read[end + 1 : end + 1 + length])
        del self._read[: end + 1 + length]
        return ExecResult(exit_code=code, output=output.decode(errors="replace"))

    @property
    def waits(self) -> bool:
        """Whether it is there for a next question: it ended with its container, which may run again since."""
        self.connection.settimeout(0)
        try:
            self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """End it: the server ends when nobody can ask it any more."""
        self.connection.close()

    def _receive(self, deadline: float) -> None:
        """Read one frame; what the server itself says on stderr is an error."""
        stream, size = FRAME.unpack(self._exactly(FRAME.size, deadline))
        piece = self._exactly(size, deadline)
        if stream != 1:
            raise OSError(piece.decode(errors="replace").strip())
        self._read += piece

    def _exactly(self, size: int, deadline: float) -> bytes:
        got = bytearray()
        while len(got) < size:
            self._limit(deadline)
            piece = self.connection.recv(min(size - len(got), MOST))
            if not piece:
                raise OSError("the container ended the session")
            got += piece
        return bytes(got)

    def _limit(self, deadline: float) -> None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("time is over")
        self.connection.settimeout(left_s)
