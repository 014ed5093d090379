"""Rows that stay in columns: for tables that a long run fills with a million samples.

`Rows` is a sequence of row objects that are made only when they are asked for; whoever needs many of them
takes the columns as arrays instead. `columns_of` gives the columns of a plain sequence of rows, too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.history.tables import NONE, TABLES

Row = TypeVar("Row")
Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


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

    def arrow(self, name: str) -> pa.Array:
        """One column as it came from its file."""
        column = self._table[name].combine_chunks()
        return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column

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


def table_of(table: str, rows: Iterable[object]) -> pa.Table:
    """The rows of a table of the history, with the columns of TABLES[table]."""
    schema = TABLES[table]
    values = list(zip(*map(attrgetter(*schema.names), rows), strict=True)) or [()] * len(schema)
    columns = [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def changes(rows: Sequence[object], by: str, group: Sequence[str], values: Sequence[str]) -> Ints:
    """Places of the rows that differ in `values` from the row before them of their `group`, and of the first
    row of each group; rows follow each other by the column `by`. Shape (changes,), in that order.

    Of a sampler's million rows some hundred are a change, and only those need be made.
    """
    time = columns_of(rows, (by,))[by]
    keys = [code for name in group for code in _codes(rows, name)]
    order = np.lexsort([time, *keys])  # stable: equal times stay in the order of the rows
    new = np.ones(len(order), bool)
    new[1:] = np.logical_or.reduce(
        [
            code[order][1:] != code[order][:-1]
            for code in (*keys, *(code for name in values for code in _codes(rows, name)))
        ]
    )
    places: Ints = np.sort(order[new])
    return places[np.argsort(time[places], kind="stable")]


def _codes(rows: Sequence[object], name: str) -> list[Array]:
    """Integer columns, each of shape (rows,), that are equal in all where the values of a column are."""
    if not isinstance(rows, Rows):
        known: dict[object, int] = {}
        return [np.array([known.setdefault(getattr(row, name), len(known)) for row in rows], np.int64)]
    column = rows.arrow(name)
    if pa.types.is_list(column.type):
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        starts, held = column.offsets.to_numpy()[:-1], column.values.to_numpy()
        most = int(lengths.max()) if len(lengths) else 0
        items = [
            np.where(at < lengths, held[np.minimum(starts + at, len(held) - 1)], 0) for at in range(most)
        ]
        return [lengths, *items]
    if pa.types.is_string(column.type):
        column = column.dictionary_encode().indices
    return [column.to_numpy(zero_copy_only=False)]


def _array(values: list[Any]) -> Array:
    if all(issubclass(kind, int) for kind in set(map(type, values))):
        return np.array(values, bool if values and isinstance(values[0], bool) else np.int64)
    held = np.empty(len(values), object)
    held[:] = values
    return held


def _plain(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return [tuple(value) for value in values] if pa.types.is_list(column.type) else values


def shared(values: Ints, begins: Ints) -> Ints:
    """The value that all rows of a group have; NONE where they differ. `values` has shape (n,), `begins`,
    shape (groups,), the row at which each group begins, the first of them 0; the answer has its shape."""
    lowest, highest = np.minimum.reduceat(values, begins), np.maximum.reduceat(values, begins)
    return np.where(lowest == highest, lowest, NONE)
