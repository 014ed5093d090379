"""Configurations accepted on real clusters, as a user does it: promises that are kept, losses that are
permitted, traps that are shown, and cells of the matrix."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.run.highwater_process import highwater

from harness import api
from harness.campaign.accept.acceptance import promised, record_of
from harness.campaign.accept.configuration.configuration_file import (
    parse_common,
    profiles,
    read_configuration,
)
from harness.campaign.accept.matrix.matrix import NAME, SEARCHED, matrix, planned_matrix
from harness.campaign.accept.matrix.matrix_page import as_json
from harness.campaign.accept.proofs import proofs
from harness.campaign.accept.search.searches import SharedSearches, scenario_of, search_row, searched_for
from harness.campaign.suites.made import judged_entries
from harness.scenario.resolve import scenario_text

CONFIGURATION = """\
name: small
topic: {partitions: 3, replication: 3, config: {min.insync.replicas: 1}}
producer: {acks: all}
require: [process-kill]
"""
WITHIN_S = 1000.0
OF_A_PROFILE_S = 2000.0
SEED = "7"


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Any, Path]:
    """The exit code, the answer, and the directory of an acceptance with its search."""
    home = tmp_path_factory.mktemp("accept")
    file = home / "small.yaml"
    file.write_text(CONFIGURATION)
    code, answer = highwater(
        "accept", str(file), "--seed", SEED, "--out", str(home / "runs"), within_s=WITHIN_S
    )
    (directory,) = (path for path in (home / "runs").iterdir() if not path.is_symlink())
    return code, answer, directory


def statuses(answer: Any) -> dict[str, str]:
    """What the runs show, by clause."""
    return {row["id"]: row["status"] for row in answer["clauses"]}


def test_what_acks_all_with_one_in_sync_replica_keeps_is_confirmed(
    accepted: tuple[int, Any, Path],
) -> None:
    _, answer, _ = accepted
    found = statuses(answer)
    assert {name: found[name] for name in ("process-kill", "deposed-leader", "spare-replicas")} == {
        "process-kill": "confirmed",
        "deposed-leader": "confirmed",
        "spare-replicas": "confirmed",
    }


def test_what_may_be_lost_is_lost_as_the_contract_permits(accepted: tuple[int, Any, Path]) -> None:
    code, answer, _ = accepted
    found = statuses(answer)
    expected = ("power-of-all", "isr-of-one", "disk-loss", "retention-by-clock")
    assert {name: found[name] for name in expected} == dict.fromkeys(expected, "confirmed")
    assert (found["offline"], code) == ("confirmed", 0)


def test_the_shortest_counterexample_of_the_model_loses_on_a_real_cluster_too(
    accepted: tuple[int, Any, Path],
) -> None:
    _, answer, directory = accepted
    loss = next(row for row in answer["searches"] if row["goal"] == "loss")
    assert loss["found"] == "broker 1 serves no other broker; 6.5 s later broker 1 loses its power"
    assert loss["status"] == "confirmed"
    verdict = json.loads((directory / loss["directory"] / "verdict.json").read_text())
    assert verdict["properties"]["acked-loss"]["permitted"] > 0
    assert verdict["properties"]["acked-loss"]["violations"] == 0


@pytest.mark.parametrize("profile", profiles())
def test_every_clause_of_a_shipped_profile_is_confirmed(tmp_path: Path, profile: str) -> None:
    """And so are the shortest schedules that lose something and that stop writes: each has both."""
    options = ("--seed", SEED, "--out", str(tmp_path))
    code, answer = highwater("accept", profile, *options, within_s=OF_A_PROFILE_S)
    shown = json.dumps(answer, indent=1)
    assert {*statuses(answer).values()} <= {"confirmed", "no run can show it"}, shown
    searches = {row["goal"]: (bool(row["found"]), row["status"]) for row in answer["searches"]}
    assert searches == {"loss": (True, "confirmed"), "unavailability": (True, "confirmed")}, shown
    assert (code, answer["required_missing"]) == (0, [])


TRAPS = {
    "two-replicas": ["topic.replication=2"],
    "min-isr-of-one": ["topic.config.min.insync.replicas=1"],
    "min-isr-of-all": ["topic.config.min.insync.replicas=3"],
    "unclean-election": ["topic.config.unclean.leader.election.enable=true"],
    "no-eligible-leader-replicas": ["cluster.elr=false"],
    "acks-1": ["producer={acks: 1}"],
}
"""What makes the shipped profile payments fall into each."""


def of_trap(trap: str, folder: Path) -> Path:
    """The scenario of the clause by which a trap is shown, as a file."""
    its = promised(read_configuration("payments", TRAPS[trap]))
    (clause,) = (row.clause for row in record_of(its).traps if row.id == trap)
    (proof,) = (each for each in proofs(its.setup, its.clauses) if each.clause == clause)
    assert proof.scenario is not None
    file = folder / f"{trap}.yaml"
    file.write_text(scenario_text(proof.scenario))
    return file


def test_each_of_six_traps_does_on_a_real_cluster_what_is_said_of_it(tmp_path: Path) -> None:
    files = [str(of_trap(trap, tmp_path)) for trap in TRAPS]
    options = ("--seed", SEED, "--out", str(tmp_path / "runs"))
    code, found = highwater("run", *files, *options, within_s=WITHIN_S)
    verdicts = dict(zip(TRAPS, (each["verdict"] for each in found), strict=True))
    assert (code, verdicts) == (0, dict.fromkeys(TRAPS, "PASS")), json.dumps(found, indent=1)


BY_A_DISK = "broker 1 serves no other broker; 6.5 s later broker 1 loses its disk"


def test_what_was_flushed_is_lost_with_a_disk_as_the_search_has_found(tmp_path: Path) -> None:
    sets = ["topic.config.flush.messages=1", "topic.config.min.insync.replicas=1"]
    its = promised(read_configuration("payments", sets))
    result = searched_for(its.setup, "loss", time_limit_s=WITHIN_S)
    assert search_row(its.setup, result).found == BY_A_DISK
    scenario = scenario_of(its.setup, result)
    assert scenario is not None
    file = tmp_path / "flushed.yaml"
    file.write_text(scenario_text(scenario))
    options = ("--seed", SEED, "--out", str(tmp_path / "runs"))
    code, verdict = highwater("run", str(file), *options, within_s=WITHIN_S)
    assert (code, verdict["verdict"]) == (0, "PASS"), json.dumps(verdict, indent=1)
    assert verdict["properties"]["acked-loss"]["permitted"] > 0


CELLS = ("acks-1-2-of-3-clean", "acks-all-2-of-2-clean", "acks-all-1-of-3-unclean")


def test_cells_of_the_matrix_show_what_the_simulated_kafka_did_in_them(tmp_path: Path) -> None:
    searches = SharedSearches(time_limit_s=WITHIN_S, on_result=lambda its, result: None)
    made = matrix(parse_common(NAME), lambda cell: cell.name in CELLS, searches)
    suite = planned_matrix(made, out=tmp_path, seed=int(SEED), budget_s=WITHIN_S)
    record, done = api.resume_matrix(suite.path)
    document = as_json(record, judged_entries(done))
    assert [row["name"] for row in document["cells"]] == list(CELLS)
    text = json.dumps(document, indent=1)
    assert {row["observed"][-1]["column"] for row in document["cells"]} == {SEARCHED}
    assert {each["status"] for row in document["cells"] for each in row["observed"]} == {"confirmed"}, text
    assert all(row["observed"][-1]["lost"] > 0 for row in document["cells"]), text
    notes = [note for row in document["cells"] for note in row["notes"]]
    assert [note for note in notes if "promised" in note] == [], text
