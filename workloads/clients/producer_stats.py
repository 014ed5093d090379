"""What one producer has done so far: written by its thread, read by others at any time."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from checkers.history.rows import TopicPartition
from checkers.history.tables import NONE, Outcome


class Progress:
    """Counts since the start, over all instances of the producer. Reading takes no lock: each is one word."""

    def __init__(self, partitions: Sequence[TopicPartition], *, offsets_told: bool) -> None:
        """`offsets_told`: not acks=0, so that an acknowledgement without an offset proves no write."""
        self.sent = self.acked = self.acked_without_offset = self.failed = self.unknown_sends = 0
        self.instances = 0
        self._offsets_told = offsets_told
        self.errors: Counter[int] = Counter()
        self.last_ack_ns = np.full(len(partitions), NONE, np.int64)
        self._warm: NDArray[np.bool_] = np.zeros(len(partitions), np.bool_)

    @property
    def warm(self) -> bool:
        """Whether the present instance has an acknowledgement on every partition."""
        return bool(self._warm.all())

    @property
    def cold_lanes(self) -> list[int]:
        """Lanes on which the present instance has no acknowledgement yet."""
        return [int(lane) for lane in np.flatnonzero(~self._warm)]

    def begin_instance(self) -> None:
        """A new client starts cold."""
        self.instances += 1
        self._warm[:] = False

    def acknowledge(self, lanes: NDArray[np.int16], offsets: NDArray[np.int64], now_ns: int) -> None:
        """Count acknowledgements that came just now."""
        self.acked += len(lanes)
        self.acked_without_offset += int(np.count_nonzero(offsets == NONE))
        self.last_ack_ns[lanes] = now_ns
        self._warm[lanes[offsets > NONE] if self._offsets_told else lanes] = True

    def fail(self, results: Sequence[Outcome], codes: Sequence[int]) -> None:
        """Count sends that ended with an error."""
        definite = results.count(Outcome.FAIL)
        self.failed += definite
        self.unknown_sends += len(results) - definite
        self.errors.update(codes)

    def unknown(self, count: int) -> None:
        """Count sends that never ended."""
        self.unknown_sends += count
