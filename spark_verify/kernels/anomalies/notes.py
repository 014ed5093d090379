"""Notes of anomalies, made when somebody reads one: half a sentence each, in the words of the reference.

A note maker is called with the place of an anomaly in its block. It is picklable, for it comes from a worker.
Arrays have one entry for each anomaly of the block (shape (k,)) unless a docstring states another shape.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from checkers.history.rows import RecordId
from checkers.history.tables import NONE
from spark_verify.kernels.final_log import FinalLog
from spark_verify.partition_task import Bools, Ints, Window

Note: TypeAlias = Callable[[int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NowAt:
    """What the final log holds at each offset; reads "offset 5 now holds record 2/9"."""

    log_start: int
    offset: Ints
    there: Bools
    """Which offsets hold a record."""
    producer: npt.NDArray[np.int32]
    """Of the records that are there, in order: shape (count of `there`,), as the next."""
    sequence: Ints

    @classmethod
    def of(cls, log: FinalLog, window: Window, offset: Ints) -> "NowAt":
        """What the log holds at k offsets."""
        rows = log.rows_at(offset)
        there = rows >= 0
        found = rows[there]
        return cls(
            log_start=window.log_start,
            offset=offset,
            there=there,
            producer=log.producer[found],
            sequence=log.sequence[found],
        )

    def __call__(self, place: int) -> str:
        """Half a sentence."""
        offset = int(self.offset[place])
        if offset == NONE:
            return "no offset was reported"
        if offset < self.log_start:
            return f"the log now starts at offset {self.log_start}"
        if not self.there[place]:
            return f"nothing is at offset {offset} now"
        at = int(np.count_nonzero(self.there[:place]))
        return f"offset {offset} now holds {RecordId(int(self.producer[at]), int(self.sequence[at]))}"


@dataclass(frozen=True, slots=True)
class FixedNote:
    """The same of each anomaly."""

    words: str

    def __call__(self, place: int) -> str:
        """Half a sentence."""
        return self.words


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenNote:
    """Who was given a record that is not in the log there."""

    now_at: NowAt
    given: Bools
    """Whether a reader is the witness, not an acknowledgement."""
    committed: Bools
    """Whether the reader is a read_committed one."""
    reader: npt.NDArray[np.int32]
    producer: npt.NDArray[np.int32]
    sequence: Ints

    def __call__(self, place: int) -> str:
        """Half a sentence."""
        now = self.now_at(place)
        if not self.given[place]:
            return now
        record = RecordId(int(self.producer[place]), int(self.sequence[place]))
        who = "read_committed reader" if self.committed[place] else "reader"
        return f"{who} {self.reader[place]} was given {record} there, {now}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HoleNote:
    """That nothing is at the offsets [first, last] of each anomaly; `words` says it of them."""

    words: str
    """A template with `{nothing}`."""
    first: Ints
    last: Ints

    def __call__(self, place: int) -> str:
        """Half a sentence."""
        first, last = int(self.first[place]), int(self.last[place])
        where = f"offset {first}" if first == last else f"offsets {first} to {last}"
        return self.words.format(nothing=f"nothing is at {where}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedNote:
    """Under which epoch the high watermark was above the offsets [first, last] of each anomaly, and what is
    there now."""

    first: Ints
    last: Ints
    under_epoch: Ints
    leader_epoch: Ints

    def __call__(self, place: int) -> str:
        """Half a sentence."""
        first, last = int(self.first[place]), int(self.last[place])
        where = f"offset {first} holds" if first == last else f"offsets {first} to {last} hold"
        was = f"the high watermark was above under leader epoch {self.under_epoch[place]}"
        return f"{was}, {where} what was written under {self.leader_epoch[place]} now"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeapNote:
    """Which offset a reader was given before."""

    who: str
    reader: npt.NDArray[np.int32]
    before: Ints
    offset: Ints

    def __call__(self, place: int) -> str:
        """Half a sentence."""
        before, offset = self.before[place], self.offset[place]
        return f"{self.who} {self.reader[place]} was given offset {before}, then {offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DisagreementNote:
    """Which records readers were given at each offset: those of [edges[i], edges[i + 1])."""

    edges: Ints
    """Shape (k + 1,)."""
    producer: npt.NDArray[np.int32]
    """Shape (r,), sorted by producer, sequence and checksum within an offset, as the next two."""
    sequence: Ints
    checksum: Ints

    def __call__(self, place: int) -> str:
        """Half a sentence."""
        names = (
            f"{RecordId(int(self.producer[at]), int(self.sequence[at]))} (checksum {self.checksum[at]})"
            for at in range(int(self.edges[place]), int(self.edges[place + 1]))
        )
        return f"readers were given {' and '.join(names)}"
