"""Do all times of the history lie within the run?

The least and the greatest value of a column are in the footer of its file; a column is read only where the
least is -1, "none". Wall clocks and durations are no times of the history's clock, and what was planned may
lie beyond the end of a run that was broken off.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from checkers.errors import MalformedHistory
from checkers.history.load import reading
from checkers.history.tables import NONE
from harness.errors import HistoryError
from harness.run_directory.digests import files_of, side_by_side
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import Manifest

SLACK_NS = 1_000_000_000
NO_TIMES = frozenset(
    (
        *("wall_ns", "engine_ns", "error_ns", "span_ns", "stall_ns", "steal_ns", "busy_ns", "late_ns"),
        *("planned_begin_ns", "planned_end_ns"),
    )
)
"""Columns in nanoseconds of another clock, or of no clock; and times that need not come."""
Span = tuple[int, int]
"""Least and greatest of some times."""


def check_times(run: RunDir, manifest: Manifest) -> None:
    """MalformedHistory with the first file that has a time before the run began or after it was sealed.

    HistoryError if it is the manifest.
    """
    files = list(files_of(run.history).values())
    for path, spans in zip(files, side_by_side(spans_of, files), strict=True):
        for name, (least, greatest) in spans:
            if wrong := _outside(manifest, least) or _outside(manifest, greatest):
                raise MalformedHistory(path, f"{name} has a time {wrong}")
    ended_ns = manifest.load_ended_ns
    if ended_ns is not None and (wrong := _outside(manifest, ended_ns)):
        raise HistoryError(f"{run.manifest}: load_ended_ns: {wrong}")


def _outside(manifest: Manifest, at_ns: int) -> str:
    begin_ns, end_ns = manifest.clock.monotonic_ns, manifest.sealed_ns
    if at_ns < begin_ns - SLACK_NS:
        return f"{(begin_ns - at_ns) / 1e9:.1f} s before the run began: {at_ns}"
    if end_ns is not None and at_ns > end_ns + SLACK_NS:
        return f"{(at_ns - end_ns) / 1e9:.1f} s after the run was sealed: {at_ns}"
    return ""


def spans_of(path: Path) -> list[tuple[str, Span]]:
    """Each column of times of a file that has any, with its least and greatest."""
    with reading(path), pq.ParquetFile(path) as file:
        names = [name for name in file.schema_arrow.names if name.endswith("_ns") and name not in NO_TIMES]
        spans = [(name, _span(file, name)) for name in names]
    return [(name, span) for name, span in spans if span is not None]


def _span(file: pq.ParquetFile, name: str) -> Span | None:
    groups = list(_of_footer(file, name))
    if any(group is None or group[0] == NONE for group in groups):
        return _of_rows(file, name)
    known = [group for group in groups if group is not None]
    return (min(least for least, _ in known), max(greatest for _, greatest in known)) if known else None


def _of_footer(file: pq.ParquetFile, name: str) -> Iterator[Span | None]:
    """The span of each row group that has rows; None where the footer does not have it."""
    footer = file.metadata
    paths = [footer.schema.column(at).path.split(".")[0] for at in range(footer.num_columns)]
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        statistics = group.column(paths.index(name)).statistics
        if group.num_rows:
            known = statistics is not None and statistics.has_min_max
            yield (statistics.min, statistics.max) if known else None


def _of_rows(file: pq.ParquetFile, name: str) -> Span | None:
    (column,) = file.read(columns=[name], use_threads=False).columns
    values = pc.list_flatten(column) if pa.types.is_list(column.type) else column
    known = values.filter(pc.not_equal(values, NONE))
    span = pc.min_max(known)
    return (span["min"].as_py(), span["max"].as_py()) if len(known) else None
