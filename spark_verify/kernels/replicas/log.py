"""The batches of one replica as arrays, and runs of offsets that are wrong in it.

A *row* is a place in these arrays: int64, in the order of the log. n is the number of batches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from checkers.errors import MalformedHistory
from checkers.history.load import read_unit
from checkers.history.rows import ProducerState, Replica, TopicPartition
from checkers.history.tables import NONE, REPLICA_BATCHES
from checkers.places import Place
from spark_verify.partition_task import Bools, Columns, Ints

COLUMNS = (
    *("topic", "partition", "broker", "segment", "position", "base_offset", "last_offset_delta"),
    *("leader_epoch", "crc", "crc_ok", "attributes", "producer_id", "producer_epoch", "base_sequence"),
    "digest",
)
_PLACE = ("topic", "partition", "broker")
_CONTROL = 1 << 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs of offsets [first, last] that are wrong in one broker's log; arrays of shape (runs,).

    `evidence` has what a note is made of: integers for each run, or texts.
    """

    broker: int
    first: Ints
    last: Ints
    evidence: Mapping[str, npt.NDArray[Any]]


def runs(broker: int, first: Ints, last: Ints, kind: Ints, evidence: Mapping[str, npt.NDArray[Any]]) -> Runs:
    """Join k flaws whose offsets touch or overlap; all arrays have shape (k,).

    A run has the evidence of its flaw with the least (first, kind), of several the one that came first.
    """
    order = np.lexsort((kind, first))
    first, last = first[order], last[order]
    fresh = np.ones(len(first), bool)
    fresh[1:] = first[1:] > np.maximum.accumulate(last)[:-1] + 1
    starts = np.flatnonzero(fresh)
    return Runs(
        broker=broker,
        first=first[starts],
        last=np.maximum.reduceat(last, starts) if starts.size else last[:0],
        evidence={name: column[order][starts] for name, column in evidence.items()},
    )


class BatchLog:
    """The n batches of one replica in 75 bytes a batch.

    Fields, each of shape (n,):
        base, last       int64: the offsets that it spans
        last_offset_delta, leader_epoch, producer_epoch, base_sequence   int32
        crc, producer_id, digest, segment, position                      int64
        crc_ok, control                                                  bool
    """

    def __init__(self, columns: Columns) -> None:
        self.base: Ints = columns["base_offset"]
        self.last_offset_delta: npt.NDArray[np.int32] = columns["last_offset_delta"]
        self.last: Ints = self.base + np.maximum(self.last_offset_delta, 0)
        self.leader_epoch: npt.NDArray[np.int32] = columns["leader_epoch"]
        self.crc: Ints = columns["crc"]
        self.crc_ok: Bools = columns["crc_ok"]
        self.control: Bools = (columns["attributes"] & _CONTROL) != 0
        self.producer_id: Ints = columns["producer_id"]
        self.producer_epoch: npt.NDArray[np.int32] = columns["producer_epoch"]
        self.base_sequence: npt.NDArray[np.int32] = columns["base_sequence"]
        self.digest: Ints = columns["digest"]
        self.segment: Ints = columns["segment"]
        self.position: Ints = columns["position"]

    def __len__(self) -> int:
        return len(self.base)

    @cached_property
    def in_place(self) -> Bools:
        """Which rows begin above every offset before them; shape (n,)."""
        found = np.ones(len(self), bool)
        if len(self):
            found[0] = self.base[0] > NONE
            found[1:] = self.base[1:] > np.maximum(np.maximum.accumulate(self.last)[:-1], NONE)
        return found

    @cached_property
    def rising(self) -> Ints:
        """Those rows; shape (r,), int64. Their offsets ascend and do not overlap."""
        return np.flatnonzero(self.in_place)

    @cached_property
    def rising_base(self) -> Ints:
        """Their base offsets; shape (r,)."""
        return self.base if len(self.rising) == len(self) else self.base[self.rising]

    @cached_property
    def rising_last(self) -> Ints:
        """Their last offsets; shape (r,)."""
        return self.last if len(self.rising) == len(self) else self.last[self.rising]


@dataclass(frozen=True, kw_only=True)
class ReplicaLog:
    """A judged replica: its row, its producer snapshot, its batches without a tail that a crash has torn."""

    replica: Replica
    states: Sequence[ProducerState]
    batches: BatchLog
    read: int
    """How many batches its files have, with such a tail."""
    high_watermark: int
    """Of its partition, as proven."""

    @property
    def broker(self) -> int:
        """Whose it is."""
        return self.replica.broker

    @cached_property
    def limit(self) -> int:
        """The offset from which on nothing is decided about it."""
        if self.replica.clean:
            return self.high_watermark
        return min(self.high_watermark, int(self.batches.last.max(initial=NONE)) + 1)


def read_columns(
    paths: Sequence[Place], tp: TopicPartition, broker: int, columns: Sequence[str] = COLUMNS
) -> Columns:
    """Columns of a replica's files, one behind the other; raises MalformedHistory."""
    parts = [_piece(path, tp, broker, columns) for path in paths]
    return {
        name: np.concatenate([part[name] for part in parts]) if parts else np.empty(0, np.int64)
        for name in columns
        if name not in _PLACE
    }


def _piece(path: Place, tp: TopicPartition, broker: int, columns: Sequence[str]) -> Columns:
    table = read_unit(path, REPLICA_BATCHES, *tp, columns=list({*columns, *_PLACE}))
    found = {
        name: table[name].to_numpy() for name in {*columns, "broker"} if name not in ("topic", "partition")
    }
    others = found["broker"][found["broker"] != broker]
    if others.size:
        raise MalformedHistory(path, f"a row has broker {others[0]}, the file is of {broker}")
    return found


def whole(columns: Columns, *, clean: bool) -> Columns:
    """The same without the tail that a crash may have torn: after it, the last batches with a wrong CRC."""
    right = np.flatnonzero(columns["crc_ok"])
    end = len(columns["crc_ok"]) if clean else (int(right[-1]) + 1 if right.size else 0)
    return {name: column[:end] for name, column in columns.items()}
