"""What the rows of an older minor schema version mean in the columns of today.

1.0 ("1"): `faults` had no `down`, `down_ns`, `up_ns`. The kinds kill and power-loss ended the processes of
their `unclean` nodes, at the injection; a stop ended those of all its nodes, when its effect was first true.
All were started again when the fault was healed.
1.1: `metadata` had no `log_offset` and no `recovering`: the order is that of the rows, and nobody knows of a
leader that recovers from an unclean election. The OPTIONAL tables did not exist: they were not collected.
1.2: `replica_offsets` had no `asked_ns`: a broker's answer was dropped if it took longer than a second.
1.3: `faults` had no `planned_begin_ns`, `planned_end_ns`, `begin_ns`, `end_ns`: nobody knows how late a step was.

A file of a newer minor version is read if it has no column that this version lacks: the rows mean the same.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import pyarrow as pa

from checkers.history.tables import NONE, SCHEMA_VERSION, TABLES

_VERSION = re.compile(r"(?P<major>\d+)(?:\.(?P<minor>\d+))?")

PLANNED = ("planned_begin_ns", "planned_end_ns", "begin_ns", "end_ns")

ADDED_IN: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "faults": MappingProxyType({"down": 1, "down_ns": 1, "up_ns": 1, **dict.fromkeys(PLANNED, 4)}),
        "metadata": MappingProxyType({"log_offset": 2, "recovering": 2}),
        "replica_offsets": MappingProxyType({"asked_ns": 3}),
    }
)
"""By table: the columns that a minor version added, and which one."""

ANSWERED_WITHIN_NS = 1_000_000_000


@lru_cache(maxsize=256)
def minor_of(version: str) -> int | None:
    """The minor version of a stamp; None if its major version is not the one that this tool reads."""
    found, own = _VERSION.fullmatch(version), _VERSION.fullmatch(SCHEMA_VERSION)
    if found is None or own is None or found["major"] != own["major"]:
        return None
    return int(found["minor"] or 0)


@lru_cache(maxsize=256)
def schema_at(table: str, minor: int) -> pa.Schema:
    """The columns of a table at a minor version of the schema."""
    added = ADDED_IN.get(table, {})
    return pa.schema([column for column in TABLES[table] if added.get(column.name, 0) <= minor])


def upgrade(table: str, minor: int, rows: pa.Table) -> pa.Table:
    """The rows with all columns of today, in their order; `minor` is the version they were written at."""
    if table == "faults" and minor < 1:
        rows = _with_outages(rows)
    if table == "faults" and minor < 4:
        rows = _with_none(rows, PLANNED)
    if table == "metadata" and minor < 2:
        rows = _with_defaults(rows)
    if table == "replica_offsets" and minor < 3:
        rows = _with_asked(rows)
    return rows.select(TABLES[table].names)


def _with_outages(faults: pa.Table) -> pa.Table:
    down, down_ns, up_ns = [], [], []
    for fault in faults.to_pylist():
        stopped = fault["nodes"] if fault["kind"] == "stop" else []
        nodes = sorted({*fault["unclean"], *stopped})
        down.append(nodes)
        down_ns.append([fault["inject_ns" if node in fault["unclean"] else "effect_ns"] for node in nodes])
        up_ns.append([fault["heal_ns"]] * len(nodes))
    for name, values in (("down", down), ("down_ns", down_ns), ("up_ns", up_ns)):
        faults = faults.append_column(name, pa.array(values, TABLES["faults"].field(name).type))
    return faults


def _with_defaults(changes: pa.Table) -> pa.Table:
    count, schema = changes.num_rows, TABLES["metadata"]
    for name, value in (("log_offset", NONE), ("recovering", False)):
        changes = changes.append_column(name, pa.array([value] * count, schema.field(name).type))
    return changes


def _with_none(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    for name in names:
        rows = rows.append_column(name, pa.array([NONE] * rows.num_rows, pa.int64()))
    return rows


def _with_asked(measured: pa.Table) -> pa.Table:
    asked = [
        row["at_ns"] - ANSWERED_WITHIN_NS if row["source"] == "live" else NONE for row in measured.to_pylist()
    ]
    return measured.append_column("asked_ns", pa.array(asked, pa.int64()))
