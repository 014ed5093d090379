"""What one producer has done so far: counted from its reports, read by other threads at any time."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE
from workloads.clients.protocol import SendReports, Trouble

LanesOf = Callable[[NDArray[np.int64]], NDArray[np.int16]]


class SendCounts:
    """Counts since the start, over all instances of the producer. Reading takes no lock: each is one word."""

    def __init__(self, partitions: Sequence[TopicPartition], *, offsets_known: bool) -> None:
        """`offsets_known`: not acks=0, so that an acknowledgement without an offset proves no write."""
        self.sent = self.acked = self.acked_without_offset = self.failed = self.indeterminate = 0
        self.instances = 0
        self.last_fencing_ns = NONE
        """When an instance was told last that it is fenced; -1: none was."""

        self.been_warm = False
        """Whether an instance has had an acknowledgement on every lane."""

        self.errors: Counter[str] = Counter()
        self.last_ack_ns = np.full(len(partitions), NONE, np.int64)
        self._offsets_known = offsets_known
        self._warm: NDArray[np.bool_] = np.zeros(len(partitions), np.bool_)

    @property
    def cold_lanes(self) -> list[int]:
        """Lanes on which the present instance has no acknowledgement yet."""
        return [int(lane) for lane in np.flatnonzero(~self._warm)]

    def begin_instance(self) -> None:
        """A new client starts cold."""
        self.instances += 1
        self._warm[:] = False

    def acknowledge(self, lanes: NDArray[np.int16], offsets: NDArray[np.int64], at_ns: int) -> None:
        """Count acknowledgements."""
        self.acked += len(lanes)
        self.acked_without_offset += int(np.count_nonzero(offsets == NONE))
        self.last_ack_ns[lanes] = at_ns
        self._warm[lanes[offsets > NONE] if self._offsets_known else lanes] = True
        self.been_warm = self.been_warm or bool(self._warm.all())


class CountedSends:
    """The reports of one producer instance, counted and passed on to `reports`; implements SendReports."""

    def __init__(self, reports: SendReports, counts: SendCounts, lanes_of: LanesOf) -> None:
        """`lanes_of` gives the lane of each send of this instance by its sequence."""
        self._reports, self._counts, self._lanes_of = reports, counts, lanes_of
        self.outstanding = 0
        """Sends of this instance that have not ended."""
        counts.begin_instance()

    @property
    def undelivered(self) -> int:
        """Those of them that still take room in the client."""
        return self.outstanding

    @property
    def been_warm(self) -> bool:
        """Whether this producer, in this instance or one before, has had an acknowledgement on every lane."""
        return self._counts.been_warm

    @property
    def producer(self) -> int:
        """The number of this instance in the run."""
        return self._reports.producer

    def sent(self, lanes: NDArray[np.int16], at_ns: int, checksums: NDArray[np.int64]) -> None:
        """Pass on, then count."""
        self._reports.sent(lanes, at_ns, checksums)
        self.outstanding += len(lanes)
        self._counts.sent += len(lanes)

    def acknowledged(self, sequences: NDArray[np.int64], offsets: NDArray[np.int64], at_ns: int) -> None:
        """Pass on, then count."""
        self._reports.acknowledged(sequences, offsets, at_ns)
        self.outstanding -= len(sequences)
        self._counts.acknowledge(self._lanes_of(sequences), offsets, at_ns)

    def failed(self, sequences: NDArray[np.int64], errors: Sequence[str], at_ns: int) -> None:
        """Pass on, then count."""
        self._reports.failed(sequences, errors, at_ns)
        self.outstanding -= len(sequences)
        self._counts.failed += len(sequences)
        self._counts.errors.update(errors)

    def indeterminate(self, sequences: NDArray[np.int64], errors: Sequence[str], at_ns: int) -> None:
        """Pass on, then count."""
        self._reports.indeterminate(sequences, errors, at_ns)
        self.outstanding -= len(sequences)
        self._counts.indeterminate += len(sequences)
        self._counts.errors.update(errors)

    def connected(self, since_ns: int, at_ns: int, trouble: Sequence[Trouble]) -> None:
        """Pass on."""
        self._reports.connected(since_ns, at_ns, trouble)

    def flush_if_due(self, now_ns: int) -> None:
        """Pass on."""
        self._reports.flush_if_due(now_ns)

    def close(self) -> None:
        """Count what never ended as indeterminate, and pass on."""
        self._counts.indeterminate += self.outstanding
        self._reports.close()
