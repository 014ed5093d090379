"""The other shipped scenarios on a real cluster: a storm, and power failures with and without flush."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HIGHWATER = (sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())")
SUITE_S = 580.0


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """verdict.json of each scenario, all run in one process."""
    out: Path = tmp_path_factory.mktemp("runs")
    names = ["storm", "power-failure-all", "power-failure-all-flushed"]
    command = [*HIGHWATER, "run", *names, "--out", str(out), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=SUITE_S)
    return {verdict["scenario"]: verdict for verdict in json.loads(done.stdout)}


def test_a_storm_against_acks_all_loses_nothing_and_every_fault_in_it_is_proven(
    verdicts: dict[str, Any],
) -> None:
    storm = verdicts["storm"]
    windows = storm["exposure"]["fault_windows"]
    assert (storm["verdict"], storm["findings"]) == ("PASS", [])
    assert {window["kind"] for window in windows} == {"partition", "pause", "disk-stall"}
    assert all(window["proven"] and window["recovered"] for window in windows)


def test_a_power_failure_of_all_brokers_loses_what_was_acknowledged_and_that_is_permitted(
    verdicts: dict[str, Any],
) -> None:
    power = verdicts["power-failure-all"]
    loss = power["properties"]["acked-loss"]
    assert power["verdict"] == "PASS"
    assert loss["permitted"] >= 1000
    assert loss["violations"] == 0
    assert "unclean shutdowns" in power["findings"][0]["clause"]
    assert any(line.endswith("unsynced data lost on 1, 2, 3") for line in power["findings"][0]["evidence"])


def test_with_each_record_flushed_a_power_failure_of_all_brokers_loses_nothing(
    verdicts: dict[str, Any],
) -> None:
    flushed = verdicts["power-failure-all-flushed"]
    assert (flushed["verdict"], flushed["findings"]) == ("PASS", [])
    assert flushed["exposure"]["fault_windows"][0]["proven"]
