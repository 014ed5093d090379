"""Shipped scenarios of many mechanisms in one suite on real clusters: each shows what it is for, and the
suite writes that down."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.run.highwater_process import (
    ended_suite,
    highwater,
    left_by,
    mounted_or_attached,
    once_each,
    verdict,
)

from harness.scenario.resolve import find, resolve

KEPT = (
    *("slow-leader-elr", "isr-below-min", "quorum-loss-follower-kill", "zombie-leader-acks-all"),
    *("disk-full", "disk-full-all", "last-leader-disk-loss-elr", "one-way-follower-fetch"),
    *("reassign-without-leader", "acks-all-planned-move-behind"),
)
"""They lose nothing."""
LOST = (
    *("last-leader-disk-loss", "last-leader-disk-loss-elr-off", "last-leader-disk-loss-unclean"),
    "acks1-planned-move-behind",
)
"""They lose what the contract permits."""
EITHER = ("acks1-planned-move", "acks1-reassignment", "acks1-rolling-restart")
"""They lose a few records or none, all of them permitted."""
SCENARIOS = (*KEPT, *LOST, *EITHER)
WITHIN_S = 3000.0
CHECK_S = 120.0
LONGEST_S = 90.0


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a suite with one run of each, which ends by itself."""
    return ended_suite(tmp_path_factory.mktemp("suite"), once_each("some", SCENARIOS), within_s=WITHIN_S)


def rows(suite: Path) -> dict[str, Any]:
    """The row of each scenario in suite.json."""
    return {row["scenario"]: row for row in json.loads((suite / "suite.json").read_text())["runs"]}


def loss(suite: Path, scenario: str) -> dict[str, int]:
    """What a scenario's run lost, by label."""
    found = verdict(suite / rows(suite)[scenario]["directory"])["properties"]["acked-loss"]
    return {label: found[label] for label in ("violations", "permitted", "undecided")}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_holds_its_evidence_and_every_fault_is_proven(suite: Path, scenario: str) -> None:
    row = rows(suite)[scenario]
    assert row["verdict"] == "PASS", row["report"]
    required = resolve(*find(scenario), seed=7).scenario.require
    assert [bound["line"] for bound in row["evidence"]["require"]] == required
    assert all(bound["holds"] for bound in row["evidence"]["require"])
    assert row["evidence"]["proven"] == row["evidence"]["faults"] > 0


@pytest.mark.parametrize("scenario", KEPT)
def test_what_keeps_its_promise_loses_nothing(suite: Path, scenario: str) -> None:
    assert loss(suite, scenario) == {"violations": 0, "permitted": 0, "undecided": 0}


@pytest.mark.parametrize("scenario", LOST)
def test_a_positive_control_loses_much_and_all_of_it_is_permitted(suite: Path, scenario: str) -> None:
    found = loss(suite, scenario)
    assert found["permitted"] >= 50
    assert (found["violations"], found["undecided"]) == (0, 0)


@pytest.mark.parametrize("scenario", EITHER)
def test_what_a_planned_move_loses_is_permitted(suite: Path, scenario: str) -> None:
    found = loss(suite, scenario)
    assert (found["violations"], found["undecided"]) == (0, 0)


def test_the_lost_disk_of_a_lone_leader_takes_more_than_an_unclean_election(suite: Path) -> None:
    """The rightful leader has nothing; who is elected uncleanly has all but the last seconds."""
    assert (
        loss(suite, "last-leader-disk-loss")["permitted"]
        > loss(suite, "last-leader-disk-loss-unclean")["permitted"]
    )


@pytest.mark.parametrize("scenario", ["isr-below-min", "last-leader-disk-loss-elr"])
def test_the_refusals_of_a_broker_below_min_insync_replicas_are_counted(suite: Path, scenario: str) -> None:
    values = {bound["line"]: bound["value"] for bound in rows(suite)[scenario]["evidence"]["require"]}
    assert values["errors.NOT_ENOUGH_REPLICAS > 0"] >= 100


def test_check_measures_the_same_again(suite: Path) -> None:
    run = suite / rows(suite)["zombie-leader-acks-all"]["directory"]
    before = json.loads((run / "verdict.json").read_text())
    assert highwater("check", str(run), within_s=CHECK_S) == (0, before)
    assert [line["holds"] for line in before["require"]] == [True] * 5


def test_what_was_expected_and_observed_has_a_row_for_each(suite: Path) -> None:
    lines = (suite / "observed.md").read_text().splitlines()
    *table, space, cost = lines[4:]
    assert [line.split(" | ")[0] for line in table] == [f"| `{name}`" for name in sorted(SCENARIOS)]
    assert all(line.endswith("| 1 PASS |") for line in table)
    assert space == ""
    assert cost.startswith("The suite took ")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_run_takes_a_minute_and_a_half_at_most_once_its_cluster_has_started(
    suite: Path, scenario: str
) -> None:
    seconds = rows(suite)[scenario]["seconds"]
    assert seconds["wall_s"] - seconds["parts"]["cluster_s"] <= LONGEST_S


def test_nothing_is_left_on_the_machine(suite: Path) -> None:
    """Neither of the suite's containers, networks and volumes nor of its disks."""
    owner = json.loads((suite / "suite.json").read_text())["owner"]
    assert left_by(owner["pid"]) == []
    assert mounted_or_attached() == []
