"""Rows that stay in columns: for tables that a long run fills with a million samples.

`Rows` is a sequence of row objects that are made only when they are asked for; whoever needs many of them
takes the columns as arrays instead. `columns_of` gives the columns of a plain sequence of rows, too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Row = TypeVar("Row")
Array = npt.NDArray[Any]


class Rows(Sequence[Row], Generic[Row]):
    """The rows of a table; `make` builds a row from its columns as keywords, lists as tuples."""

    def __init__(self, table: pa.Table, make: Callable[..., Row]) -> None:
        """Nothing is made yet."""
        self._table = table.combine_chunks()
        self._make = make
        self._arrays: dict[str, Array] = {}

    def column(self, name: str) -> Array:
        """One column, shape (rows,): integers and booleans with their own dtype, strings as objects."""
        if name not in self._arrays:
            self._arrays[name] = self._table[name].to_numpy()
        return self._arrays[name]

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        return self._row(at % len(self))

    def __iter__(self) -> Iterator[Row]:
        for batch in self._table.to_batches(4096):
            columns = [_plain(column) for column in batch.columns]
            for values in zip(*columns, strict=True):
                yield self._make(**dict(zip(self._table.column_names, values, strict=True)))

    def _row(self, at: int) -> Row:
        (row,) = self._table.slice(at, 1).to_pylist()
        return self._make(**{name: tuple(v) if isinstance(v, list) else v for name, v in row.items()})


def columns_of(rows: Sequence[object], names: Sequence[str]) -> Mapping[str, Array]:
    """The named columns of any sequence of rows, each of shape (rows,).

    Values that are not integers or booleans are objects.
    """
    if isinstance(rows, Rows):
        return {name: rows.column(name) for name in names}
    return {name: _array([getattr(row, name) for row in rows]) for name in names}


def _array(values: list[Any]) -> Array:
    if all(isinstance(value, int) for value in values):
        return np.array(values, bool if values and isinstance(values[0], bool) else np.int64)
    held = np.empty(len(values), object)
    held[:] = values
    return held


def _plain(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return [tuple(value) for value in values] if pa.types.is_list(column.type) else values
