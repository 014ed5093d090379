"""The matrix: which cells there are, what each promises, what its runs must show, and how it goes on."""

import re
import sys
from pathlib import Path

import pytest
from fakes.run.run_steps import FakeRunSteps

from checkers.promises.matrix import cells
from checkers.verdict.algebra import Verdict
from harness.campaign.accept import acceptance
from harness.campaign.accept.acceptance import judged_entries
from harness.campaign.accept.configuration_file import parse_configuration
from harness.campaign.accept.matrix import as_json, is_matrix, matrix, planned_matrix, read_matrix, table
from harness.campaign.suites.loop import run_suite
from harness.errors import RunDirectoryError
from harness.run_directory.layout import RunDir
from harness.scenario.model import Scenario
from harness.scenario.resolve import resolve, scenario_text

BASE = parse_configuration("name: matrix\n", "matrix")
SHOWN = {
    "acks-1-2-of-3-clean": ("what was replicated; takes writes with 2 away", "loss", "loss", "<= 12.5s"),
    "acks-all-1-of-3-clean": (
        "all, until a disk is lost; takes writes with 2 away",
        "no loss",
        "loss",
        "<= 12.5s",
    ),
    "acks-all-2-of-3-clean": (
        "all, with 1 broker lost; takes writes with 1 away",
        "no loss",
        "no loss",
        "<= 12.5s",
    ),
    "acks-all-2-of-2-clean": (
        "all, with 1 broker lost; takes writes with 0 away",
        "no loss",
        "no loss",
        ">= 8.5s",
    ),
    "acks-all-1-of-1-unclean": (
        "all, until a disk is lost; takes writes with 0 away",
        "no loss",
        "loss",
        ">= 8.5s",
    ),
}


class OneVerdict(FakeRunSteps):
    """Steps of a suite that fail the runs of one column."""

    def judge(self, run: RunDir):
        self.verdict = Verdict.FAIL if "one-away" in run.path.name else Verdict.PASS
        return super().judge(run)


def test_every_cell_has_no_more_in_sync_replicas_than_replicas():
    names = [cell.name for cell in cells()]
    assert (len(names), len(set(names))) == (36, 36)
    assert all(cell.min_isr <= cell.replication for cell in cells())


@pytest.mark.parametrize("name", SHOWN)
def test_a_cell_has_its_promise_and_what_the_simulated_kafka_shows(name):
    (row,) = matrix(BASE, lambda cell: cell.name == name).record.cells
    promise, leader_dies, powerless, away = SHOWN[name]
    assert row.promise == f"keeps {promise}"
    shows = [each.shows for each in row.observed]
    assert shows == [leader_dies, powerless, f"unavailable.max {away}"]


def test_the_scenarios_of_a_cell_are_valid_and_are_its_own():
    made = matrix(BASE, lambda cell: cell.name == "acks-1-1-of-2-unclean")
    assert [each.entry for each in made.record.cells[0].observed] == [0, 1, 2]
    for scenario in made.scenarios:
        resolved = resolve(scenario_text(scenario), scenario.name, seed=1).scenario
        assert resolved.workload.acks == "1"
        assert resolved.topics[0].replication == 2
        assert resolved.topics[0].config == {
            "min.insync.replicas": "1",
            "unclean.leader.election.enable": "true",
        }


def test_a_matrix_is_a_suite_whose_runs_fill_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def without_load(scenario: Scenario) -> str:
        load = scenario.workload.model_copy(update={"lasts_s": 0.0, "tail_s": 0.0})
        return scenario_text(scenario.model_copy(update={"workload": load}))

    monkeypatch.setattr(acceptance, "scenario_text", without_load)
    made = matrix(BASE, lambda cell: cell.name == "acks-all-2-of-3-clean")
    suite = planned_matrix(made, out=tmp_path, seed=7, budget_s=3600)
    assert is_matrix(suite.path)
    done = run_suite(suite, OneVerdict(), progress=sys.stdout)
    record, judged = read_matrix(suite.path), judged_entries(done)
    assert record == made.record
    assert re.split(r"  +", table(record, judged).splitlines()[-1])[-3:] == [
        "no loss: confirmed",
        "no loss: confirmed",
        "unavailable.max <= 12.5s: refuted",
    ]
    statuses = [each["status"] for each in as_json(record, judged)["cells"][0]["observed"]]
    assert statuses == ["confirmed", "confirmed", "refuted"]
    assert done.exit_code == 1


def test_a_directory_without_a_matrix_is_refused(tmp_path: Path):
    assert not is_matrix(tmp_path)
    with pytest.raises(RunDirectoryError, match=r"not the directory of a matrix: it has no matrix\.json"):
        read_matrix(tmp_path)
