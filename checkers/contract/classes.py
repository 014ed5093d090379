"""Classes of anomalies that a rule cannot tell apart: their values lie between the same marks.

A rule compares the times and offsets of an anomaly with those of events, its *marks*. Two anomalies whose
values lie between the same marks get the same answer, so one of them is asked for all.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_COUNTED = 1 << 20
"""Numbers up to here are counted, larger ones sorted."""


def between(values: Ints, marks: Iterable[int]) -> Ints:
    """For each value which marks it lies between, or on; equal numbers mean the same comparisons.

    Shapes (n,) and (n,), int64.
    """
    ordered = np.unique(np.fromiter(marks, np.int64))
    places: Ints = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return places


def classes_of(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """A row for each distinct combination of the columns, and for each row the place of its combination.

    `columns` are small numbers, each of shape (n,); shapes of the answer (classes,) and (n,), int64.
    """
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        low = int(column.min(initial=0))
        code = _numbered(code * (int(column.max(initial=0)) - low + 1) + (column - low))
    first = np.empty(int(code.max(initial=-1)) + 1, np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]  # of equal ones the first is written last
    return first, code


def _numbered(code: Ints) -> Ints:
    """The place of each number, none negative, among the different ones in order; both of shape (n,).

    Counting is 20 times as fast as sorting.
    """
    most = int(code.max(initial=0))
    if most > _COUNTED:
        return np.unique(code, return_inverse=True)[1].reshape(-1).astype(np.int64)
    there = np.bincount(code, minlength=most + 1) > 0
    places: Ints = (np.cumsum(there) - 1)[code]
    return places
