"""Real clusters upgraded as a user does it: up, up and back, and a way back that Kafka refuses."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fakes.run.highwater_process import highwater

NEWER = "4.3.1"
LEVELS = {"3.9.1": [21, 30], "4.0.0": [25, 30]}
"""Of metadata.version, as Kafka's MetadataVersion has them: 3.9-IV0, 4.0-IV3 and 4.3-IV0."""
NODES = ["1", "101", "102", "103", "2", "3"]
WITHIN_S = 1500.0


@pytest.fixture(scope="module", params=sorted(LEVELS))
def upgraded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, Any], Path]:
    """The older release, what each phase has shown, and the directory; the command has exited with 0."""
    older: str = request.param
    out = tmp_path_factory.mktemp("upgrade") / "runs"
    code, record = highwater("upgrade", older, NEWER, "--seed", "7", "--out", str(out), within_s=WITHIN_S)
    (directory,) = (path for path in out.iterdir() if not path.is_symlink())
    shown = {row["phase"]: row["observed"] for row in record["phases"]}
    assert code == 0, {phase: its["outcome"] for phase, its in shown.items()}
    return older, shown, directory


def verdict(directory: Path, observed: Any) -> Any:
    """The verdict of a phase's run."""
    return json.loads((directory / observed["directory"] / "verdict.json").read_text())


def test_every_phase_passes_with_every_step_proven(upgraded: tuple[str, Any, Path]) -> None:
    _, shown, directory = upgraded
    assert {phase: its["verdict"] for phase, its in shown.items()} == dict.fromkeys(
        ["up", "down", "refused"], "PASS"
    )
    for its in shown.values():
        document = verdict(directory, its)
        assert document["properties"]["acked-loss"]["violations"] == 0
        windows = document["exposure"]["fault_windows"]
        assert all(window["proven"] and window["recovered"] for window in windows)
        assert {"kill", "partition"} <= {window["kind"] for window in windows}


def test_every_node_names_the_releases_that_it_ran(upgraded: tuple[str, Any, Path]) -> None:
    older, shown, _ = upgraded
    ran = {"up": [older, NEWER], "down": [older, NEWER, older], "refused": [older, NEWER]}
    for phase, releases in ran.items():
        assert shown[phase]["releases"] == dict.fromkeys(NODES, releases), phase


def test_the_level_rises_where_it_is_finalized_and_nowhere_else(upgraded: tuple[str, Any, Path]) -> None:
    older, shown, _ = upgraded
    low, high = LEVELS[older]
    assert shown["up"]["metadata_levels"] == [low, high]
    assert shown["up"]["finalized"]["metadata.version"] == [low, high]
    assert shown["down"]["metadata_levels"] == [low]
    assert shown["refused"]["metadata_levels"] == [low, high]


def test_kafka_refuses_the_way_back_in_its_own_words(upgraded: tuple[str, Any, Path]) -> None:
    _, shown, directory = upgraded
    (said,) = shown["refused"]["refusals"]
    assert re.search("downgrade", said)
    assert said in (directory / "upgrade.md").read_text()


def test_both_releases_are_compared_by_what_they_have_acknowledged(upgraded: tuple[str, Any, Path]) -> None:
    """The kill of a leader is in the calm before the roll and in the one after it."""
    _, shown, _ = upgraded
    before, during, after = shown["up"]["periods"]
    assert [row["period"] for row in (before, during, after)] == ["before", "during", "after"]
    for row in (before, during, after):
        assert row["acked"] > 1000
        assert row["longest_gap_s"] <= 20
    for row in (before, after):
        assert row["after_an_end"] >= 1
        assert 0 < row["longest_election_s"] < 20
    assert during["isr_shrinks"] >= 3
