"""The records of one partition that lie below a high watermark of before their own leader epoch.

A leader's log has no record of a later epoch than its own, so such a record has taken another's place. Arrays
of offsets and of epochs have shape (rows,), offsets ascending.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from spark_verify.partition_task import Columns, Ints, SampledEpoch, joined

REPLACED = ("offset", "leader_epoch", "under_epoch")
"""Of each such record its place, its epoch, and the first epoch under which a sample was above that place."""
_NEVER_SAMPLED = np.iinfo(np.int64).max


class Replaced:
    """Takes the log of a partition, or of a part, batch by batch: in a healthy log only a batch in which an
    epoch begins is looked at row by row."""

    def __init__(self, epochs: Sequence[SampledEpoch]) -> None:
        self._tops: Ints = np.unique(np.array([epoch.highest for epoch in epochs], np.int64))
        first = [min(e.leader_epoch for e in epochs if e.highest >= top) for top in self._tops.tolist()]
        self._first: Ints = np.array([*first, _NEVER_SAMPLED], np.int64)
        self._found: list[Columns] = []

    def add(self, offset: Ints, leader_epoch: npt.NDArray[np.int32]) -> None:
        """The next records."""
        if not len(offset) or int(leader_epoch.max()) <= int(self._under(offset[:1])[0]):
            return
        under = self._under(offset)
        rows = np.flatnonzero(under < leader_epoch)
        if rows.size:
            columns = offset, leader_epoch.astype(np.int64), under
            self._found.append({name: c[rows] for name, c in zip(REPLACED, columns, strict=True)})

    def found(self) -> Columns:
        """The columns REPLACED, each of shape (records,)."""
        return joined(REPLACED, self._found)

    def _under(self, offset: Ints) -> Ints:
        """The first epoch under which a sample was above each offset; it rises with the offsets."""
        return self._first[np.searchsorted(self._tops, offset, side="right")]
