"""Delivery reports as they come in: the one function that runs for every record, and what it leaves.

It keeps no `Message`: those are tracked by the garbage collector, and keeping thousands at a time makes it
run through all of them again and again (measured: a fifth of a producer's CPU time). Numbers and bytes are
not tracked.
"""

from collections.abc import Callable, Sequence

import numpy as np
from confluent_kafka import KafkaError, Message
from numpy.typing import NDArray

from checkers.contract.realised.settings import Acks
from checkers.history.records.payload import row_type
from checkers.history.tables import NONE


class DeliveryReports:
    """The reports since they were last taken; used by the one thread that polls the client."""

    def __init__(self, record_bytes: int, *, acks: Acks) -> None:
        """`record_bytes` is the size of every value sent.

        With acks=0 no broker answers, and librdkafka numbers the records of a batch upwards from -1001, what
        it calls an invalid offset: from the 1,002nd on that looks like an offset, and is none.
        """
        self._row, self._offsets_known = row_type(record_bytes), acks != "0"
        self._offsets: list[int | None] = []
        self._acked: list[bytes | None] = []
        self._failed: list[bytes | None] = []
        self._errors: list[KafkaError] = []
        self.deliver = self._callback()

    def _callback(self) -> Callable[[KafkaError | None, Message], None]:
        """`on_delivery`; a closure, for each attribute access costs at a million calls a second."""
        add_offset, add_acked = self._offsets.append, self._acked.append
        add_error, add_failed = self._errors.append, self._failed.append

        def deliver(error: KafkaError | None, message: Message) -> None:
            if error is None:
                add_offset(message.offset())
                add_acked(message.value())
            else:
                add_error(error)
                add_failed(message.value())

        return deliver

    def take_acked(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sequences and offsets acknowledged since the last call; -1 for one without an offset."""
        sequences = self._sequences(self._acked)
        raw = self._offsets
        known = raw if None not in raw else [NONE if offset is None else offset for offset in raw]
        offsets = np.maximum(np.array(known, np.int64), NONE)
        if not self._offsets_known:
            offsets[:] = NONE
        self._acked.clear()
        self._offsets.clear()
        return sequences, offsets

    def take_failed(self) -> tuple[NDArray[np.int64], list[KafkaError]]:
        """Sequences that ended with an error since the last call, and the errors."""
        sequences, errors = self._sequences(self._failed), self._errors.copy()
        self._failed.clear()
        self._errors.clear()
        return sequences, errors

    def _sequences(self, values: Sequence[bytes | None]) -> NDArray[np.int64]:
        """Which sends these are: librdkafka gives the payload back as it was given."""
        joined = b"".join([value or b"" for value in values])
        return np.ascontiguousarray(np.frombuffer(joined, self._row)["sequence"])
