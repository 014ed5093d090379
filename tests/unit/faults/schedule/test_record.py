"""A schedule's records are rows of the history's table of faults."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.history.tables import TABLES, write_table
from faults.kinds.fault.base import MeasuredLog
from faults.schedule.record import FaultRecord, as_json

RECORD = FaultRecord(
    index=0,
    name="cut",
    kind="partition",
    target="followers(orders-0) -> leader(orders-0)",
    nodes=(1, 2),
    edges=("2->1",),
    inject_ns=5,
    effect_ns=6,
    heal_ns=7,
    recovered_ns=8,
    proven=True,
    recovered=True,
    down=(2,),
    down_ns=(6,),
    up_ns=(7,),
    data_lost=(),
    unclean=(2,),
    evidence='{"effect": {}}',
    logs=(
        MeasuredLog(at_ns=7, node=2, topic="orders", partition=0, log_start=0, log_end=9, source="disk-down"),
    ),
)


def test_the_columns_are_those_of_the_history() -> None:
    """Same names, same order."""
    assert list(RECORD.row()) == TABLES["faults"].names


def test_a_record_survives_parquet(tmp_path: Path) -> None:
    """A row that is written is read back as it was."""
    path = tmp_path / "faults.parquet"
    write_table(path, "faults", pa.Table.from_pylist([RECORD.row()], schema=TABLES["faults"]))
    assert pq.read_table(path).to_pylist() == [RECORD.row()]


def test_a_step_that_was_never_injected() -> None:
    """Without times, nodes and evidence a record is still a row."""
    row = FaultRecord(index=1, name="k", kind="kill", target="leader(orders-0)").row()
    assert (row["inject_ns"], row["recovered_ns"], row["nodes"], row["proven"]) == (-1, -1, [], False)


def test_evidence_is_the_same_text_for_the_same_facts() -> None:
    """Keys are sorted, so two runs of one plan can be compared."""
    assert as_json({"b": [1], "a": {"2->1": 3}}) == '{"a": {"2->1": 3}, "b": [1]}'
    assert json.loads(as_json({"a": None})) == {"a": None}
