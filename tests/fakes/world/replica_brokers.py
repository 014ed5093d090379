"""Brokers of one topic, each with a log end of its own, as librdkafka's mock cluster has none.

They speak what `compose.kafka.broker_api` asks: Metadata v12, ListOffsets v7, DescribeLogDirs v3 and
ApiVersions v0, each broker on a port of loopback. Asked as a consumer only the leader answers, with the high
watermark; asked with the debugging id each broker answers with its own log end, unless `refuses_debugging`,
as a release might.
"""

import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from compose.kafka.wire import Reader, Writer

NOT_LEADER, INVALID_REQUEST, UNKNOWN_LEADER_EPOCH = 6, 42, 75
METADATA, LIST_OFFSETS, LOG_DIRS = 3, 2, 35
EARLIEST, READ_COMMITTED = -2, 1


@dataclass
class ReplicaBrokers:
    """Partition 0 of `topic`, on brokers 1..n; the test may change any of it at any time."""

    topic: str = "t"
    leader: int = 1
    epoch: int = 4
    isr: tuple[int, ...] = (1, 2, 3)
    log_start: int = 0
    log_ends: dict[int, int] = field(default_factory=lambda: {1: 10, 2: 10, 3: 10})
    high_watermark: int = 10
    last_stable: int | None = None
    refuses_debugging: bool = False
    lists: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The brokers that a broker lists as not fenced; without an entry it lists all."""
    log_dirs: dict[str, int] = field(default_factory=lambda: {"/data/kafka": 0})
    """The error code of each log directory, by path; each broker has the same."""
    silent: set[int] = field(default_factory=set)
    after_each: Callable[[int, int], None] = lambda _broker, _api: None
    """Called with the broker and the API key when an answer was made, before it is sent."""

    def __post_init__(self) -> None:
        self._servers = {node: socket.create_server(("127.0.0.1", 0)) for node in self.log_ends}
        for node, server in self._servers.items():
            threading.Thread(target=self._accept, args=(node, server), daemon=True).start()

    @property
    def bootstrap(self) -> str:
        return ",".join("{}:{}".format(*server.getsockname()) for server in self._servers.values())

    def _accept(self, node: int, server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(node, connection), daemon=True).start()

    def _serve(self, node: int, connection: socket.socket) -> None:
        with connection:
            while head := connection.recv(4, socket.MSG_WAITALL):
                (size,) = struct.unpack(">i", head)
                request = Reader(connection.recv(size, socket.MSG_WAITALL))
                if node in self.silent:
                    return
                key, _version, asked = (request.fixed(layout) for layout in "hhi")
                request.take(request.fixed("h"))
                body = Writer().fixed("i", asked)
                if key == METADATA:
                    self._metadata(node, body.tags())
                elif key == LIST_OFFSETS:
                    request.tags()
                    self._list_offsets(node, request, body.tags())
                elif key == LOG_DIRS:
                    self._log_dirs(body.tags())
                else:
                    body.fixed("hi", 0, 1).fixed("hhh", METADATA, 0, 12)
                self.after_each(node, key)
                connection.sendall(struct.pack(">i", len(body.raw)) + body.raw)

    def _metadata(self, asked: int, body: Writer) -> None:
        body.fixed("i", 0)
        alive = self.lists.get(asked, tuple(self.log_ends))
        body.array(alive, lambda node: body.fixed("i", node).text("b").fixed("i", 1).count(0).tags())
        body.text("cluster").fixed("i", 1)

        def ids(nodes: tuple[int, ...]) -> None:
            body.array(nodes, lambda node: body.fixed("i", node))

        def partition(_: int) -> None:
            body.fixed("hiii", 0, 0, self.leader, self.epoch)
            for nodes in (tuple(self.log_ends), self.isr, ()):
                ids(nodes)
            body.tags()

        def topic(name: str) -> None:
            body.fixed("h", 0).text(name).raw.extend(bytes(16))
            body.fixed("?", False).array([0], partition).fixed("i", 0).tags()

        body.array([self.topic], topic).tags()

    def _list_offsets(self, node: int, request: Reader, body: Writer) -> None:
        replica, isolation = request.fixed("i"), request.fixed("b")
        _, name = request.count(), request.text()
        _, number = request.count(), request.fixed("i")
        epoch, which = request.fixed("i"), request.fixed("q")
        error, offset = self._offset(node, replica, isolation, epoch, which)
        body.fixed("i", 0).count(2).text(name).count(2)
        body.fixed("ihqqi", number, error, -1, offset, self.epoch).tags().tags().tags()

    def _log_dirs(self, body: Writer) -> None:
        def log_dir(path: str) -> None:
            body.fixed("h", self.log_dirs[path]).text(path).count(1).tags()

        body.fixed("ih", 0, 0).array(self.log_dirs, log_dir).tags()

    def _offset(self, node: int, replica: int, isolation: int, epoch: int, which: int) -> tuple[int, int]:
        debugging = replica == -2
        if debugging and self.refuses_debugging:
            return INVALID_REQUEST, -1
        if epoch != self.epoch:
            return UNKNOWN_LEADER_EPOCH, -1
        if node != self.leader and not debugging:
            return NOT_LEADER, -1
        if which == EARLIEST:
            return 0, self.log_start
        if debugging:
            return 0, self.log_ends[node]
        stable = self.high_watermark if self.last_stable is None else self.last_stable
        return 0, stable if isolation == READ_COMMITTED else self.high_watermark

    def __enter__(self) -> "ReplicaBrokers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers.values():
            server.shutdown(socket.SHUT_RDWR)
            server.close()
