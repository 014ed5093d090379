"""A simulated run on disk is a history as `check` reads it: whole, well formed, and the same rows."""

from dataclasses import fields
from functools import cache

import pytest

from checkers.damage import write
from checkers.history.clocks.true_times import on_engines_clock
from checkers.history.load import load
from checkers.history.rows import History
from checkers.history.tables import REPLICA_BATCHES
from checkers.model import draw_case, simulate


@cache
def simulated(seed):
    return simulate(draw_case(seed))


def place(batch):
    return batch.partition, batch.broker, batch.base_offset


@pytest.mark.parametrize("seed", range(6))
def test_what_is_written_is_read_back(seed, tmp_path):
    history = on_engines_clock(simulated(seed).history)
    write(simulated(seed).history, tmp_path, run="a-run")
    found = load(tmp_path)
    for one in fields(History):
        written, read = getattr(history, one.name), getattr(found, one.name)
        if one.name == REPLICA_BATCHES:
            written, read = sorted(written, key=place), sorted(read, key=place)
        if one.name == "collected":
            assert read == written
        else:
            assert list(read) == list(written), one.name


TRANSACTIONS = ("transactions", "fencings", "transaction_reads", "markers", "coordinators")
"""Its load has none."""


def test_a_drawn_run_has_rows_in_every_table():
    """No fault of a draw sets a clock, so each state has its place."""
    histories = [simulated(seed).history for seed in range(20)]
    empty = {one.name for one in fields(History) if not any(getattr(each, one.name) for each in histories)}
    assert empty == {*TRANSACTIONS, "unplaced"}
