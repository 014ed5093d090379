"""What the rows of an older minor schema version mean in the columns of today.

1.0 ("1"): `faults` had no `down`, `down_ns`, `up_ns`. The kinds kill and power-loss ended the processes of
their `unclean` nodes, at the injection; a stop ended those of all its nodes, when its effect was first true.
All were started again when the fault was healed.
1.1: `metadata` had no `log_offset` and no `recovering`: the order is that of the rows, and nobody knows of a
leader that recovers from an unclean election. The OPTIONAL tables did not exist: they were not collected.
1.2: `replica_offsets` had no `asked_ns`: a broker's answer was dropped if it took longer than a second.
1.3: `watermarks` had no `asked_ns`: nobody knows when they were asked for. `faults` had no
`planned_begin_ns`, `planned_end_ns`, `begin_ns`, `end_ns`: nobody knows how late a step was.
1.4: `faults` had no `replicas`: a fault concerned all replicas of its nodes. `brokers` had no `log_dirs`:
nobody knows how many log directories the controllers took for online. `metadata`, `brokers` and `configs`
had no `controller`: no fault had set a clock, so it did not matter. `proofs` had no `committed_to`, and there
were no tables of transactions: no load had any.
1.5: there was no `metadata_appends`: nobody knows when nothing was written to the metadata log.
`coordinators` had no `controller`: nobody knows by whose clock a state is dated.

A file of a newer minor version is read if it has no column that this version lacks: the rows mean the same.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import pyarrow as pa

from checkers.history.tables import NONE, SCHEMA_VERSION, TABLES

_VERSION = re.compile(r"(?P<major>\d+)(?:\.(?P<minor>\d+))?")

PLANNED = ("planned_begin_ns", "planned_end_ns", "begin_ns", "end_ns")

ADDED_IN: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "faults": MappingProxyType(
            {"down": 1, "down_ns": 1, "up_ns": 1, **dict.fromkeys(PLANNED, 4), "replicas": 5}
        ),
        "metadata": MappingProxyType({"log_offset": 2, "recovering": 2, "controller": 5}),
        "brokers": MappingProxyType({"log_dirs": 5, "controller": 5}),
        "configs": MappingProxyType({"controller": 5}),
        "coordinators": MappingProxyType({"controller": 6}),
        "proofs": MappingProxyType({"committed_to": 5}),
        "replica_offsets": MappingProxyType({"asked_ns": 3}),
        "watermarks": MappingProxyType({"asked_ns": 4}),
    }
)
"""By table: the columns that a minor version added, and which one."""
TABLE_ADDED_IN: Mapping[str, int] = MappingProxyType({"metadata_appends": 6})
"""The tables that every run has since a minor version, and which one; all older ones lack them."""

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
        rows = _with(rows, table, dict.fromkeys(PLANNED, NONE))
    if table == "faults" and minor < 5:
        rows = _with(rows, table, {"replicas": []})
    if table == "brokers" and minor < 5:
        rows = _with(rows, table, {"log_dirs": NONE})
    if table == "metadata" and minor < 2:
        rows = _with(rows, table, {"log_offset": NONE, "recovering": False})
    if table == "replica_offsets" and minor < 3:
        rows = _with_asked(rows)
    if table == "proofs" and minor < 5:
        rows = _with(rows, table, {"committed_to": NONE})
    if table == "watermarks" and minor < 4:
        rows = _with(rows, table, {"asked_ns": NONE})
    if minor < ADDED_IN.get(table, {}).get("controller", 0):
        rows = _with(rows, table, {"controller": NONE})
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


def _with(rows: pa.Table, table: str, defaults: Mapping[str, int | bool | list[str]]) -> pa.Table:
    """The rows with a column for each default."""
    for name, value in defaults.items():
        rows = rows.append_column(name, pa.array([value] * rows.num_rows, TABLES[table].field(name).type))
    return rows


def _with_asked(measured: pa.Table) -> pa.Table:
    asked = [
        row["at_ns"] - ANSWERED_WITHIN_NS if row["source"] == "live" else NONE for row in measured.to_pylist()
    ]
    return measured.append_column("asked_ns", pa.array(asked, pa.int64()))
