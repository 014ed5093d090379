"""Where a partition's sampled high watermark falls: over all samples at once, one pass for each leader
epoch."""

from dataclasses import dataclass

import numpy as np

from checkers.history.tables import NONE
from spark_verify.partition_task import Bools, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Falls:
    """The falls of one partition by time, all of shape (falls,), int64.

    `value` is the sample that fell, at `at_ns`, `top` the greatest one before it under its epoch or an
    older one, `top_ns` when that was first answered.
    """

    value: Ints
    epoch: Ints
    at_ns: Ints
    top: Ints
    top_epoch: Ints
    top_ns: Ints


def falls(at_ns: Ints, epoch: Ints, value: Ints) -> Falls:
    """The falls among the samples of one partition, in file order; all of shape (samples,).

    Samples without an epoch or a value (-1) are left out.
    """
    kept = np.flatnonzero((epoch != NONE) & (value != NONE))
    order = kept[np.argsort(at_ns[kept], kind="stable")]
    at_ns, epoch, value = at_ns[order], epoch[order].astype(np.int64), value[order]
    top = np.full(len(value), NONE)
    begins = np.zeros(len(value), bool)
    for number in np.unique(epoch):
        own = np.flatnonzero(epoch == number)
        top[own] = _greatest_before(np.where(epoch <= number, value, NONE))[own]
        below = value[own] < top[own]
        again = np.concatenate(([False], below[:-1] & (value[own][1:] >= value[own][:-1])))
        begins[own] = below & ~again
    at = np.flatnonzero(begins)
    first = np.array([_first_top(epoch, value, top, place) for place in at.tolist()], np.int64)
    return Falls(
        value=value[at],
        epoch=epoch[at],
        at_ns=at_ns[at],
        top=top[at],
        top_epoch=epoch[first],
        top_ns=at_ns[first],
    )


def _greatest_before(values: Ints) -> Ints:
    """For each place the maximum of all earlier ones, NONE for the first."""
    return np.maximum.accumulate(np.concatenate(([NONE], values)))[:-1]


def _first_top(epoch: Ints, value: Ints, top: Ints, place: int) -> int:
    earlier: Bools = (value[:place] == top[place]) & (epoch[:place] <= epoch[place])
    return int(np.argmax(earlier))
