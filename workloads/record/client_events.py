"""Writes down what went wrong with the producers' connections, and when it is known that nothing did.

The rows of a producer cover the time of which something is known: each has trouble since its `since_ns`, or
has broker -1 and no counts, if nothing went wrong. Such calm is written once every CALM_NS.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict

from checkers.history.rows import ClientEvent
from checkers.history.tables import NONE
from workloads.clients.protocol import Trouble
from workloads.record.journal import Journal

CALM_NS = 5_000_000_000


class ClientEvents:
    """The journal of all producers; it is opened with the first row. Safe to use from threads."""

    def __init__(self, open_journal: Callable[[], Journal]) -> None:
        self._open_journal = open_journal
        self._journal: Journal | None = None
        self._calm: dict[int, ClientEvent] = {}
        self._lock = threading.Lock()

    def connected(self, producer: int, since_ns: int, at_ns: int, trouble: Sequence[Trouble]) -> None:
        """What is known of a producer's connections; its reports follow each other in time."""
        calm = self._calm.pop(producer, None)
        begin_ns = calm.since_ns if calm is not None and calm.at_ns == since_ns else since_ns
        now = ClientEvent(at_ns=at_ns, since_ns=begin_ns, producer=producer, broker=NONE)
        if trouble:
            self._write([*([calm] if calm else []), *(_row(producer, at_ns, each) for each in trouble)])
        elif calm is not None and begin_ns == since_ns:
            self._write([calm])
            self._calm[producer] = now
        elif at_ns - begin_ns >= CALM_NS:
            self._write([now])
        else:
            self._calm[producer] = now

    def ended(self, producer: int) -> None:
        """There are no more reports of a producer: write what is left."""
        if calm := self._calm.pop(producer, None):
            self._write([calm])

    def _write(self, rows: Sequence[ClientEvent]) -> None:
        with self._lock:
            if self._journal is None:
                self._journal = self._open_journal()
            self._journal.write_rows([asdict(row) for row in rows])


def _row(producer: int, at_ns: int, trouble: Trouble) -> ClientEvent:
    return ClientEvent(at_ns=at_ns, producer=producer, **asdict(trouble))
