"""What a process of its own seals is what this one would have sealed; its refusals and its end are told."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest

from checkers.history.rows import TopicPartition
from workloads.errors import JournalUnreadable, SealEnded
from workloads.record.recorder import Recorder
from workloads.record.seal import seal_load
from workloads.record.seal_apart import SealApart

PARTITIONS = (TopicPartition("a", 0), TopicPartition("a", 1))


def load(run: Path, *, more: int = 0) -> Path:
    """Journals of two producers, each with a send that nobody answered, and as many `more`."""
    with Recorder(run, PARTITIONS, "r1") as recorder:
        for number in (1, 2):
            producer = recorder.sends(acks="all", idempotent=True)
            producer.sent(np.array([0, 1], np.int16), 10 * number, np.array([100, 101], np.int64))
            producer.sent(np.zeros(more, np.int16), 20 * number, np.zeros(more, np.int64))
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


WAITS = """
import sys
from pathlib import Path
from workloads.record.seal_apart import SealApart

sealing = SealApart(Path(sys.argv[1]), "r1")
print("begun", flush=True)
sealing.result()
"""
SLOW = """
import time
from workloads.record import seal_apart

seal_apart.seal_load = lambda *_, **__: time.sleep(60)
seal_apart.main(["", ""])
"""


def test_killed_in_the_middle_who_waits_leaves_nobody_who_seals(tmp_path: Path) -> None:
    """Beside whoever judges what is left, there is nobody at the same files."""
    run = load(tmp_path, more=500_000)
    with subprocess.Popen([sys.executable, "-c", WAITS, str(run)], stdout=subprocess.PIPE) as waits:
        assert waits.stdout is not None
        assert waits.stdout.readline() == b"begun\n"
        sealing = psutil.Process(waits.pid).children()
        assert len(sealing) == 1
        waits.kill()
    _, alive = psutil.wait_procs(sealing, timeout=20)
    assert alive == []
    assert not list(tmp_path.rglob("*.parquet"))


def test_it_ends_in_the_middle_when_its_stdin_does(tmp_path: Path) -> None:
    """Without being told, and before it has sealed anything."""
    with subprocess.Popen([sys.executable, "-c", SLOW], stdin=subprocess.PIPE) as sealing:
        assert sealing.stdin is not None
        with pytest.raises(subprocess.TimeoutExpired):
            sealing.wait(timeout=2)
        sealing.stdin.close()
        assert sealing.wait(timeout=10) == 1
