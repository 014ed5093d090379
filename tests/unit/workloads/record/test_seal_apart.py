"""What a process of its own seals is what this one would have sealed; its refusals and its end are told."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from checkers.history.rows import TopicPartition
from workloads.errors import JournalUnreadable, SealEnded
from workloads.record.recorder import Recorder
from workloads.record.seal import seal_load
from workloads.record.seal_apart import SealApart

PARTITIONS = (TopicPartition("a", 0), TopicPartition("a", 1))


def load(run: Path) -> Path:
    """Journals of two producers, each with a send that nobody answered."""
    with Recorder(run, PARTITIONS, "r1") as recorder:
        for number in (1, 2):
            producer = recorder.sends(acks="all", idempotent=True)
            producer.sent(np.array([0, 1], np.int16), 10 * number, np.array([100, 101], np.int64))
            producer.acknowledged(np.array([1]), np.array([7]), 30)
            producer.close()
    return run


def test_it_seals_what_this_process_would(tmp_path: Path) -> None:
    here, apart = load(tmp_path / "here"), tmp_path / "apart"
    shutil.copytree(here, apart)
    assert SealApart(apart, "r1").result() == seal_load(here, "r1", ended=True)
    for file in sorted(here.rglob("*.parquet")):
        assert pq.read_table(apart / file.relative_to(here)).equals(pq.read_table(file))


def test_a_damaged_journal_is_refused_by_its_name(tmp_path: Path) -> None:
    run = load(tmp_path)
    with pytest.raises(JournalUnreadable, match=r"sends-1.*of run 'r1', this is run 'r2'"):
        SealApart(run, "r2").result()


def test_a_process_that_is_ended_seals_nothing(tmp_path: Path) -> None:
    apart = SealApart(load(tmp_path), "r1")
    apart.kill()
    with pytest.raises(SealEnded, match="has ended with -9"):
        apart.result()
    assert not list(tmp_path.rglob("*.parquet"))
