"""Cuts a large partition into parts by offset, so that all cores work on it and none needs much memory.

The driver reads footers only. The offsets of a row group are in its statistics where all rows have one; sends
without an offset hide the least of the others, so workers read that one column first (`survey`). A group that
lies in two parts is read for both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from checkers.errors import MalformedHistory
from checkers.history.load import open_unit
from checkers.history.tables import NONE, PARTITIONED
from spark_verify.kernels.final_log import HIGHEST
from spark_verify.partition_task import Ints, Part, PartitionTask, RowGroup, values_of

PART_ROWS = 3 << 21
"""Rows of all three tables: 2M log records take 95 MB, and stay in a cache more often than larger parts."""
_LEAST_ROWS = 3 << 20
"""Smaller parts would cost more by what is read twice than they gain."""
_PARTS_PER_CORE = 2
_SURVEYED_GROUPS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """How large parts are: about so many rows each, of partitions with half as many more.

    Or, for tests, every partition is cut `at` some offsets.
    """

    rows: int = PART_ROWS
    at: tuple[int, ...] = ()

    @classmethod
    def for_cores(cls, cores: int, rows: int) -> "Cutting":
        """So that a history of so many rows occupies so many cores, even if it is one partition."""
        return cls(rows=max(_LEAST_ROWS, min(PART_ROWS, rows // (_PARTS_PER_CORE * cores))))

    def is_large(self, task: PartitionTask) -> bool:
        """Whether a partition is to be cut."""
        return bool(self.at) or 2 * task.rows > 3 * self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The g row groups of one file: rows, and least and greatest offset that is not negative (NONE: there is
    none); each of shape (g,)."""

    rows: Ints
    first: Ints
    last: Ints
    surveyed: tuple[int, ...]
    """The groups whose `first` and `last` the footer does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Row groups of a file whose offsets are to be read."""

    task: PartitionTask
    table: str
    groups: tuple[int, ...]
    rows: int


def footers(task: PartitionTask) -> Mapping[str, Groups] | None:
    """The row groups of each bulk table of a partition; raises MalformedHistory.

    None if its log cannot be cut: the offsets of its groups do not ascend, or are not in the footer.
    """
    found = {table: _groups(task, table) for table in PARTITIONED}
    log = found["final_log"]
    ascending = not log.surveyed and (log.last[:-1] < log.first[1:]).all()
    return found if ascending else None


def surveys(task: PartitionTask, of: Mapping[str, Groups]) -> list[Survey]:
    """What must be read to know the offsets of all row groups."""
    return [
        Survey(task=task, table=table, groups=some, rows=int(groups.rows[list(some)].sum()))
        for table, groups in of.items()
        for at in range(0, len(groups.surveyed), _SURVEYED_GROUPS)
        if (some := groups.surveyed[at : at + _SURVEYED_GROUPS])
    ]


def survey(asked: Survey) -> Ints:
    """On a worker: least and greatest offset of each group, NONE if none has one; shape (groups, 2).

    Raises MalformedHistory.
    """
    task, path = asked.task, asked.task.path(asked.table)
    every = np.full((len(asked.groups), 2), NONE)
    with open_unit(path, asked.table, *task.tp) as file:
        for at, group in enumerate(asked.groups):
            batches = task.read_groups(file, path, (group,), ("offset",))
            for rows in batches:
                offset = values_of(path, "offset", rows.column("offset"))
                offset = offset[offset >= 0]
                if offset.size:
                    least, before = int(offset.min()), int(every[at, 0])
                    every[at] = (
                        least if before == NONE else min(least, before),
                        max(every[at, 1], offset.max()),
                    )
    return every


def with_surveys(
    of: Mapping[str, Groups], asked: Sequence[Survey], found: Sequence[Ints]
) -> Mapping[str, Groups]:
    """The row groups with what was read of them; `found` belongs to `asked`."""
    whole = {
        table: replace(groups, first=groups.first.copy(), last=groups.last.copy())
        for table, groups in of.items()
    }
    for its, offsets in zip(asked, found, strict=True):
        groups = whole[its.table]
        groups.first[list(its.groups)], groups.last[list(its.groups)] = offsets[:, 0], offsets[:, 1]
    return whole


def parts(task: PartitionTask, of: Mapping[str, Groups], cutting: Cutting) -> list[PartitionTask]:
    """The parts of a partition, by offset; itself if it cannot be cut."""
    cuts = _cuts(of, cutting)
    edges = [0, *cuts, HIGHEST]
    if not cuts:
        return [task]
    found = []
    for number, (first, end) in enumerate(pairwise(edges)):
        last = end if end == HIGHEST else end - 1
        groups = {table: _in_part(its, first, last) for table, its in of.items()}
        rows = sum(int(of[table].rows[each.number]) for table, some in groups.items() for each in some)
        part = Part(number=number, first=first, last=last, groups=groups)
        found.append(replace(task, part=part, rows=rows))
    return found


def check_rows(task: PartitionTask, of: Mapping[str, Groups], found: Mapping[str, int]) -> None:
    """Raise MalformedHistory if the parts together have not as many rows of each table as its file."""
    for table, groups in of.items():
        rows = int(groups.rows.sum())
        if found[table] != rows:
            raise MalformedHistory(
                task.path(table),
                f"{found[table]} rows have an offset within the statistics of their row group, of {rows}",
            )


def _cuts(of: Mapping[str, Groups], cutting: Cutting) -> list[int]:
    """The first offset of each part but the first."""
    if cutting.at:
        return sorted({at for at in cutting.at if 0 < at < HIGHEST})
    ends = np.concatenate([groups.last + 1 for groups in of.values()])
    rows = np.concatenate([groups.rows for groups in of.values()])
    order = np.argsort(ends, kind="stable")
    before = np.cumsum(rows[order])
    count = max(1, round(int(before[-1]) / cutting.rows))
    wanted = np.searchsorted(before, before[-1] * np.arange(1, count) / count)
    top = int(ends.max())
    return sorted({int(end) for end in ends[order][wanted] if 0 < end < top})


def _in_part(groups: Groups, first: int, last: int) -> tuple[RowGroup, ...]:
    """Groups without any offset belong to the first part."""
    begins = np.cumsum(groups.rows) - groups.rows
    owned = (groups.last >= first) & (groups.last <= last) | ((groups.last == NONE) & (first == 0))
    there = owned | ((groups.first <= last) & (groups.last >= first))
    return tuple(
        RowGroup(number=at, first_row=int(begins[at]), owned=bool(owned[at]))
        for at in np.flatnonzero(there).tolist()
    )


def _groups(task: PartitionTask, table: str) -> Groups:
    with open_unit(task.path(table), table, *task.tp) as file:
        footer, place = file.metadata, file.schema_arrow.names.index("offset")
        rows, first, last, surveyed = [], [], [], []
        for at in range(footer.num_row_groups if footer.num_rows else 0):
            group = footer.row_group(at)
            chunk = group.column(place).statistics
            is_known = chunk is not None and chunk.has_min_max and not chunk.null_count and chunk.min >= 0
            if not is_known:
                surveyed.append(at)
            rows.append(group.num_rows)
            first.append(chunk.min if is_known else NONE)
            last.append(chunk.max if is_known else NONE)
    return Groups(
        rows=np.array(rows, np.int64),
        first=np.array(first, np.int64),
        last=np.array(last, np.int64),
        surveyed=tuple(surveyed),
    )
