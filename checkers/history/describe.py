"""What the tables and columns of a history mean, in words: types and order come from `TABLES`."""

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

from checkers.history.tables import TABLES

ROW_IS: Mapping[str, str] = MappingProxyType(
    {
        "sends": "one attempt to send, in the file of the partition it was sent to (its *home*)",
        "final_log": (
            "one record that a fresh reader got after all faults were healed; offsets strictly ascend"
        ),
        "reads": "one record delivered to a tailing reader, in the order of delivery",
        "watermarks": "one sample of a partition's offsets, as its leader reported them",
        "proofs": "how the final read of a partition ended; at most one row a partition",
        "faults": "one fault, in the order of injection",
        "metadata": "the state of a partition after one change in the KRaft metadata log",
    }
)

NOTES: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("sends", "completed_ns"): "-1: never",
        ("sends", "outcome"): "0 ok, 1 fail: definitely not written, 2 info: unknown",
        ("sends", "offset"): "-1: none reported",
        ("sends", "error"): '"": none',
        ("final_log", "producer"): "-1: no id could be decoded",
        ("final_log", "sequence"): "-1: no id could be decoded",
        ("reads", "generation"): "rises at each assignment, seek or replacement",
        ("proofs", "log_end"): "the high watermark unless more is known",
        ("proofs", "read_to"): "the offset after the last one read",
        ("proofs", "reason"): "why it is not complete",
        ("faults", "target"): "as the scenario asks for it",
        ("faults", "edges"): "`2->1`",
        ("faults", "proven"): "its effect was proven",
        ("faults", "recovered"): "its end was proven",
        ("faults", "down"): "nodes whose process it ended",
        ("faults", "down_ns"): "parallel to `down`: when it had ended; -1: not known",
        ("faults", "up_ns"): "parallel to `down`: when it was started again; -1: never",
        ("faults", "data_lost"): "those of `down` whose unsynced pages were dropped",
        ("faults", "unclean"): "those of `down` that shut down uncleanly",
        ("faults", "evidence"): "JSON",
        ("metadata", "leader"): "-1: none",
    }
)

_SHORT = MappingProxyType(
    {pa.int8(): "i8", pa.int32(): "i32", pa.int64(): "i64", pa.string(): "str", pa.bool_(): "bool"}
)


def tables_in_markdown() -> str:
    """One row for each table: what a row of it is, and its columns with type and note."""
    lines = ["| table | one row is | columns |", "|---|---|---|"]
    for table, schema in TABLES.items():
        columns = ", ".join(_column(table, field) for field in schema)
        lines.append(f"| `{table}` | {ROW_IS[table]} | {columns} |")
    return "\n".join(lines)


def _column(table: str, field: pa.Field) -> str:
    of_list = pa.types.is_list(field.type)
    kind = f"list of {_SHORT[field.type.value_type]}" if of_list else _SHORT[field.type]
    note = NOTES.get((table, field.name))
    return f"`{field.name}` {kind}" + (f" ({note})" if note else "")
