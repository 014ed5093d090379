"""Each node's own clock: the file that sets it is whole whenever it is there, and a reading has its error."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from compose.errors import NodeStateError
from compose.nodes.clocks.clocks import Clocks, parse
from compose.protocols import ClockAhead

NOON = "2026-11-22T12:00:00.250+0000"
NOON_NS = 1_795_348_800_250_000_000


@dataclass(frozen=True, slots=True)
class OnThisMachine:
    """Runs the helper's commands here."""

    def run(self, argv: Sequence[str], *, within_s: float = 20.0) -> str:
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=within_s).stdout


def clocks(of_run: Path, *nodes: int) -> Clocks:
    """Of nodes that have been prepared."""
    helper: Any = OnThisMachine()
    made = Clocks(helper=helper, of_run=str(of_run), containers={node: f"container-{node}" for node in nodes})
    for node in nodes:
        made.prepare(node)
    return made


def test_a_node_starts_with_the_time_of_the_others(tmp_path: Path) -> None:
    assert clocks(tmp_path, 1).setting(1) == 0
    assert (tmp_path / "clocks/1/offset").read_text() == "+0.000\n"


@pytest.mark.parametrize(
    ("ahead_ms", "written"), [(300_000, "+300.000\n"), (-3_600_000, "-3600.000\n"), (1_500, "+1.500\n")]
)
def test_a_clock_is_set_in_seconds_and_read_back(tmp_path: Path, ahead_ms: int, written: str) -> None:
    its = clocks(tmp_path, 1, 2)
    its.set(2, ahead_ms)
    assert (tmp_path / "clocks/2/offset").read_text() == written
    assert (its.setting(1), its.setting(2)) == (0, ahead_ms)


def test_the_file_gets_its_name_when_it_is_whole(tmp_path: Path) -> None:
    """A process may read it at any moment: so it is another file, and not the same one, written anew."""
    its, file = clocks(tmp_path, 1), tmp_path / "clocks/1/offset"
    before = file.stat().st_ino
    its.set(1, 300_000)
    assert file.stat().st_ino != before
    assert [path.name for path in file.parent.iterdir()] == ["offset"]


def test_a_node_that_was_started_without_a_clock_of_its_own_has_none(tmp_path: Path) -> None:
    its = clocks(tmp_path, 1)
    assert its.setting(2) is None
    with pytest.raises(NodeStateError, match="node 2: its clock cannot be set: the cluster was started"):
        its.set(2, 300_000)
    with pytest.raises(NodeStateError, match="node 2: its clock cannot be set"):
        its.ahead(2)


def test_a_reading_is_as_exact_as_the_question_was_quick() -> None:
    """The JVM cuts its time off at the millisecond, and was asked for 8 ms."""
    asked_ns, answered_ns = NOON_NS - 300_003_000_000, NOON_NS - 299_995_000_000
    assert parse(f"{asked_ns} {NOON} {answered_ns}\n") == ClockAhead(least_ms=299_995, most_ms=300_004)


def test_a_clock_that_is_right_may_be_ahead_by_nothing() -> None:
    found = parse(f"{NOON_NS - 2_000_000} {NOON} {NOON_NS + 1_000_000}")
    assert found.least_ms <= 0 <= found.most_ms


@pytest.mark.parametrize("printed", ["", "1 2", f"a {NOON} b", "1 noon 2", f"1 {NOON} 2 3"])
def test_what_is_no_reading_is_refused_with_its_text(printed: str) -> None:
    with pytest.raises(NodeStateError, match="not a reading of a node's clock"):
        parse(printed)
