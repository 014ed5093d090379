"""Shipped scenarios of four mechanisms in one suite on real clusters: each shows what it is for, and the
suite writes that down."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fakes.run.highwater_process import HIGHWATER, highwater

SCENARIOS = ("slow-leader-elr", "isr-below-min", "quorum-loss-follower-kill", "zombie-leader-acks-all")
WITHIN_S = 900.0
CHECK_S = 120.0


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a suite with one run of each, which ends by itself."""
    here = tmp_path_factory.mktemp("suite")
    entries = ", ".join(f"{{scenario: {name}, at_least: 1, at_most: 1}}" for name in SCENARIOS)
    (here / "four.yaml").write_text(f"name: four\nscenarios: [{entries}]\n")
    argv = ("suite", str(here / "four.yaml"), "--seed", "7", "--out", str(here / "runs"))
    done = subprocess.run(
        [*HIGHWATER, *argv], stdout=subprocess.PIPE, text=True, check=False, timeout=WITHIN_S
    )
    (made,) = (here / "runs").iterdir()
    assert done.returncode == 0, done.stdout
    return made


def rows(suite: Path) -> dict[str, Any]:
    """The row of each scenario in suite.json."""
    return {row["scenario"]: row for row in json.loads((suite / "suite.json").read_text())["runs"]}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_holds_its_evidence_and_loses_nothing(suite: Path, scenario: str) -> None:
    row = rows(suite)[scenario]
    assert row["verdict"] == "PASS", row["report"]
    assert row["evidence"]["require"]
    assert [bound["holds"] for bound in row["evidence"]["require"]] == [True] * len(
        row["evidence"]["require"]
    )
    assert row["evidence"]["lost"] == 0
    assert row["evidence"]["proven"] == row["evidence"]["faults"] > 0


def test_the_refusals_of_a_broker_below_min_insync_replicas_are_counted(suite: Path) -> None:
    values = {bound["line"]: bound["value"] for bound in rows(suite)["isr-below-min"]["evidence"]["require"]}
    assert values["errors.NOT_ENOUGH_REPLICAS > 0"] >= 100


def test_check_measures_the_same_again(suite: Path) -> None:
    run = suite / rows(suite)["zombie-leader-acks-all"]["directory"]
    before = json.loads((run / "verdict.json").read_text())
    assert highwater("check", str(run), within_s=CHECK_S) == (0, before)
    assert [line["holds"] for line in before["require"]] == [True, True, True]


def test_what_was_expected_and_observed_has_a_row_for_each(suite: Path) -> None:
    lines = (suite / "observed.md").read_text().splitlines()
    assert [line.split(" | ")[0] for line in lines[4:]] == [f"| `{name}`" for name in sorted(SCENARIOS)]
    assert all(line.endswith("| 1 PASS |") for line in lines[4:])
