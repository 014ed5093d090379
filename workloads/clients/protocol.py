"""What any client reports, whatever library it is made of.

    SendReports         of each producer instance: sent, then acknowledged, failed or indeterminate; and what
                        went wrong with its connections, if it knows
    TransactionReports  of all producers: how far each transaction has come, and who was fenced
    ReadReports         of each reader: delivered
    LogReader           what a client that reads logs from given offsets has fetched

librdkafka speaks it (producer.py, transactions.py, reader.py, consumer.py), and a consumer group or a Java
client can. The recorder knows nothing else of clients.

Reports come in columns, a batch in one call, so that no object is made for a record. A *lane* is an index
into the partitions of the run (or of the log reader); a *sequence* numbers the sends of one producer instance
from 0 in the order sent. Times are `time.monotonic_ns()`. An error is Kafka's name of it, as
"NOT_ENOUGH_REPLICAS"; where Kafka has none it is the client's own, as "_MSG_TIMED_OUT".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from checkers.contract.realised.settings import Acks
from checkers.history.records.payload import Header
from checkers.history.rows import Fencing, TopicPartition, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What went wrong between a client and one broker from `since_ns` on; broker -1: not known which.

    `timeouts` are requests that were not answered in time. `retries` are requests, or records, that were sent
    again, as far as the client counts them.
    """

    since_ns: int
    broker: int
    disconnects: int = 0
    timeouts: int = 0
    retries: int = 0


class ConnectionReports(Protocol):
    """What became of the connections of a producer instance, if its client can report it.

    Where a record was written twice, this decides whether the client can have sent it twice.
    """

    def connected(self, since_ns: int, at_ns: int, trouble: Sequence[Trouble]) -> None:
        """What is known of all connections up to `at_ns`; empty: nothing went wrong since `since_ns`.

        Of times that are in no such report nothing is known.
        """


class SendReports(ConnectionReports, Protocol):
    """What one producer instance did, reported by its one thread."""

    @property
    def producer(self) -> int:
        """The number of this instance in the run; each of its records carries it."""

    def sent(self, lanes: NDArray[np.int16], at_ns: int, checksums: NDArray[np.int64]) -> None:
        """The next sends in the order of their sequences. Reported *before* the client gets the first."""

    def acknowledged(self, sequences: NDArray[np.int64], offsets: NDArray[np.int64], at_ns: int) -> None:
        """The cluster has acknowledged these sends; offset -1 where the client does not know it."""

    def failed(self, sequences: NDArray[np.int64], errors: Sequence[str], at_ns: int) -> None:
        """These sends were certainly not written; one error each."""

    def indeterminate(self, sequences: NDArray[np.int64], errors: Sequence[str], at_ns: int) -> None:
        """These sends may or may not have been written; one error each."""

    def flush_if_due(self, now_ns: int) -> None:
        """To be called whenever the client was served: reports are held back for a moment only."""

    def close(self) -> None:
        """The instance has ended; what it sent and has not reported by now is indeterminate."""


class TransactionReports(Protocol):
    """The transactions of all producers of a run; from any thread.

    A send of a transaction is acknowledged when its commit is, and not before: of one that was not committed
    it is indeterminate.
    """

    def transaction(self, row: Transaction) -> None:
        """How far a transaction has come: reported *before* its first send, then *before* its client asks for
        its end, with what it will ask for, and again when the outcome is known. The last one counts."""

    def fencing(self, row: Fencing) -> None:
        """The same of a fencing: when another instance begins to take over, when it has, and when the older
        one was told. Of each older instance there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """Records in the order of their delivery, a column each, all of one length.

    `leader_epochs` are -1 where the client does not know them. A key, value or headers may be None.
    """

    lanes: NDArray[np.int16]
    offsets: NDArray[np.int64]
    leader_epochs: NDArray[np.int32]
    timestamps_ms: NDArray[np.int64]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Sequence[Header] | None]

    def __len__(self) -> int:
        return len(self.offsets)


class ReadReports(Protocol):
    """What one reader was given, reported by its one thread."""

    def delivered(self, generation: int, records: Delivered, at_ns: int) -> None:
        """These records were delivered by `at_ns`. A generation begins whenever the reader is placed."""


class ClientReports(Protocol):
    """Where the clients of a run report to."""

    def sends(self, *, acks: Acks, idempotent: bool) -> SendReports:
        """The reports of a new producer instance, which gets the next number."""

    def reads(self, reader: int) -> ReadReports:
        """The reports of one reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What one fetch brought.

    `ends` has the offset at which the broker reports the end of a partition, by lane; `truncated` has the
    lanes whose log is no longer the one that was being read.
    """

    records: Delivered
    ends: Mapping[int, int] = field(default_factory=dict)
    truncated: frozenset[int] = frozenset()


class LogReader(Protocol):
    """A client that reads partitions from given offsets, in no group, and never moves by itself."""

    def place(self, offsets: Sequence[int]) -> None:
        """Read each partition, by lane, from its offset on; -1: from its beginning."""

    def fetch(self, most: int, within_s: float) -> Fetched:
        """At most `most` records and events, waiting for them at most `within_s` seconds."""

    def close(self) -> None:
        """Release the client."""


OpenLogReader = Callable[[Sequence[TopicPartition]], LogReader]
"""Opens a reader of these partitions; a lane is an index into them."""
