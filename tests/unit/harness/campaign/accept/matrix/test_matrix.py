"""The matrix: which cells there are, what each promises, what its runs must show, and how it goes on."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import cycle, repeat
from pathlib import Path

import pytest
from fakes.run.run_steps import FakeRunSteps
from fakes.run.suites import record as suite_record
from fakes.run.suites import row as suite_row

from checkers.contract import clauses as contract
from checkers.promises.clauses import KINDS
from checkers.promises.matrix import ACKS, LOSES, cells
from checkers.promises.search import Found, trial
from checkers.verdict.algebra import Verdict
from compose.setup import prepare
from harness.campaign import documentation
from harness.campaign.accept.configuration.configuration_file import parse_common, parse_configuration
from harness.campaign.accept.matrix import matrix as made_matrix
from harness.campaign.accept.matrix.matrix import (
    Matrix,
    Setup,
    exit_code,
    is_matrix,
    matrix,
    planned_matrix,
    read_matrix,
)
from harness.campaign.accept.matrix.matrix_page import as_json, notes, table
from harness.campaign.accept.scenarios import setup
from harness.campaign.accept.search import searches as made_searches
from harness.campaign.accept.search.kept_searches import KeptSearches
from harness.campaign.accept.search.searches import SharedSearches
from harness.campaign.suites.files.record import MeasuredBound, RunEvidence
from harness.campaign.suites.loop import run_suite
from harness.campaign.suites.made import judged_entries
from harness.cli import main
from harness.errors import RunDirectoryError
from harness.run.live import live_steps
from harness.run_directory.layout import RunDir
from harness.scenario.resolve import resolve, scenario_text

BASE = parse_common("matrix")
SHOWN = {
    "acks-0-2-of-3-clean": ("nothing; takes writes with 2 away", "loss", "loss", "<= 12.5s"),
    "acks-1-2-of-3-clean": (
        "what was replicated; may lose when a leader dies or hands over, a leader is deposed, all in sync "
        "lose their power, as many as must be in sync end uncleanly and one loses its power, disks are lost "
        "or a clock runs ahead of retention; takes writes with 2 away",
        "loss",
        "loss",
        "<= 12.5s",
    ),
    "acks-all-1-of-3-clean": (
        "all, when brokers are killed; may lose when all in sync lose their power, the only one in sync "
        "loses its power, disks are lost or a clock runs ahead of retention; takes writes with 2 away",
        "no loss",
        "loss",
        "<= 12.5s",
    ),
    "acks-all-2-of-3-clean": (
        "all, with 1 broker lost; may lose when all in sync lose their power, as many as must be in sync end "
        "uncleanly and one loses its power, disks are lost or a clock runs ahead of retention; takes writes "
        "with 1 away",
        "no loss",
        "no loss",
        "<= 12.5s",
    ),
    "acks-all-2-of-2-clean": (
        "all, with 1 broker lost; may lose when all in sync lose their power, as many as must be in sync end "
        "uncleanly and one loses its power, disks are lost or a clock runs ahead of retention; takes writes "
        "with 0 away",
        "no loss",
        "no loss",
        ">= 8.5s",
    ),
    "acks-1-1-of-1-clean": (
        "all, when brokers are killed; may lose when the only one in sync loses its power, disks are lost or "
        "a clock runs ahead of retention; takes writes with 0 away",
        "no loss",
        "loss",
        ">= 8.5s",
    ),
    "acks-all-1-of-1-clean": (
        "all, when brokers are killed; may lose when the only one in sync loses its power, disks are lost or "
        "a clock runs ahead of retention; takes writes with 0 away",
        "no loss",
        "loss",
        ">= 8.5s",
    ),
}


@cache
def made_of(name: str) -> Matrix:
    """The matrix of one cell without a search. What the simulated Kafka shows takes its time, and never
    changes; a test that has it show something else makes its own.
    """
    return matrix(BASE, of(name))


def every_run_shows(monkeypatch: pytest.MonkeyPatch, found: Iterator[Found | None]) -> None:
    """In place of what the simulated Kafka would, which then need not run."""
    monkeypatch.setattr(trial, "run_case", lambda case: case)
    monkeypatch.setattr(trial, "_shown", lambda *run: next(found))


class OneVerdict(FakeRunSteps):
    """Steps of a suite that fail the runs of one column."""

    def judge(self, run: RunDir):
        self.verdict = Verdict.FAIL if "one-away" in run.path.name else Verdict.PASS
        return super().judge(run)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("topic.replication=2", "topic.replication: each cell of the matrix has its own"),
        ("topic={replication: 3}", "topic.replication: each cell of the matrix has its own"),
        ("producer.acks=1", "producer.acks: each cell of the matrix has its own"),
        (
            "topic.config.min.insync.replicas=2",
            "topic.config.min.insync.replicas: each cell of the matrix has its own",
        ),
        (
            "topic.config.unclean.leader.election.enable=true",
            "topic.config.unclean.leader.election.enable: each cell of the matrix has its own",
        ),
        (
            "producer.enable.idempotence=true",
            "producer.enable.idempotence: the cells with acks=0 and acks=1 cannot have it; allowed: false",
        ),
        (
            "producer.transactional.id=mine",
            "producer.transactional.id: the cells with acks=0 and acks=1 cannot have it",
        ),
        ("require=[offline]", "require: a matrix requires nothing"),
        ("name=mine", "name: each cell of the matrix has its own"),
    ],
)
def test_what_cells_do_not_have_in_common_is_refused(words, complaint, capsys):
    assert main(["accept", "matrix", "--no-proof", "--set", words]) == 2
    assert capsys.readouterr().err == f"highwater: matrix: {complaint}\n"


def test_what_all_cells_have_in_common_may_be_set():
    sets = ["cluster.kafka=3.9.1", "producer.enable.idempotence=false", "topic.config.flush.messages=1"]
    asked = parse_common("matrix", [*sets, "topic.partitions=3", "producer.linger.ms=7"])
    assert (asked.cluster.kafka, asked.topic.partitions, asked.producer["linger.ms"]) == ("3.9.1", 3, "7")


def test_every_cell_has_no_more_in_sync_replicas_than_replicas():
    names = [cell.name for cell in cells()]
    assert (len(names), len(set(names))) == (33, 33)
    assert [name for name in names if "1-of-1" in name] == [f"acks-{acks}-1-of-1-clean" for acks in ACKS]
    assert all(cell.min_isr <= cell.replication for cell in cells())


@pytest.mark.parametrize("name", SHOWN)
def test_a_cell_has_its_promise_and_what_the_simulated_kafka_shows(name):
    (row,) = made_of(name).record.cells
    promise, leader_dies, powerless, away = SHOWN[name]
    assert row.promise == f"keeps {promise}"
    shows = [each.shows for each in row.observed]
    assert shows == [leader_dies, powerless, f"unavailable.max {away}"]


@pytest.mark.parametrize(
    ("cell", "shown", "shows"),
    [
        ("acks-1-2-of-3-clean", [True, True, True], "loss"),
        ("acks-1-2-of-3-clean", [False, True, True], "any"),
        ("acks-1-2-of-3-clean", [False, False, False], "no loss"),
        ("acks-0-2-of-3-clean", [True, True, True], "loss"),
        ("acks-0-2-of-3-clean", [False, False, False], "any"),
    ],
)
def test_what_only_some_seeds_lose_may_be_lost_and_need_not(monkeypatch, cell, shown, shows):
    """And with acks=0 what none of them does: whether anything is on its way is a matter of luck."""
    found = cycle(Found(schedule=(), causes=("a cause",)) if one else None for one in shown)
    every_run_shows(monkeypatch, found)
    (row,) = matrix(BASE, of(cell)).record.cells
    assert [each.shows for each in row.observed[:2]] == [shows] * 2


def test_the_scenarios_of_a_cell_are_valid_and_are_its_own():
    made = made_of("acks-1-1-of-2-unclean")
    assert [each.entry for each in made.record.cells[0].observed] == [0, 1, 2]
    for scenario in made.scenarios:
        resolved = resolve(scenario_text(scenario), scenario.name, seed=1).scenario
        assert resolved.workload.acks == "1"
        assert resolved.topics[0].replication == 2
        assert resolved.topics[0].config == {
            "min.insync.replicas": "1",
            "unclean.leader.election.enable": "true",
        }


def test_cells_of_few_replicas_have_the_settings_of_a_cluster_of_more_brokers():
    key = "cluster.broker_config.offsets.topic.replication.factor=3"
    made = matrix(parse_common("matrix", [key]), of("acks-all-1-of-1-clean"))
    for scenario in made.scenarios:
        resolved = resolve(scenario_text(scenario), scenario.name, seed=1).scenario
        assert resolved.cluster.broker_config["offsets.topic.replication.factor"] == "3"


@pytest.mark.usefixtures("no_load")
def test_a_matrix_is_a_suite_whose_runs_fill_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = made_of("acks-all-2-of-3-clean")
    suite = planned_matrix(made, out=tmp_path, seed=7, budget_s=3600)
    assert is_matrix(suite.path)
    done = run_suite(suite, OneVerdict(), progress=sys.stdout)
    record, judged = read_matrix(suite.path), judged_entries(done)
    assert record == made.record
    lines = [re.split(r"  +", line.strip()) for line in table(record, judged).splitlines()]
    where = [run.directory for run in done.runs]
    assert lines[-5:-1] == [
        ["schedule", "by the run", "observed", "must show", "run"],
        ["leader-dies", "confirmed", "not known", "no loss", where[0]],
        ["alone-and-powerless", "confirmed", "not known", "no loss", where[1]],
        ["one-away", "refuted", "not known", "unavailable.max <= 12.5s", where[2]],
    ]
    assert all((suite.path / each).is_dir() for each in where)
    statuses = [each["status"] for each in as_json(record, judged)["cells"][0]["observed"]]
    assert statuses == ["confirmed", "confirmed", "refuted"]
    assert done.exit_code == 1
    page = tmp_path / "matrix.md"
    page.write_text(documentation.MATRIX_PAGE.read_text())
    monkeypatch.setattr(documentation, "MATRIX_PAGE", page)
    assert documentation.main([str(suite.path)]) == 0
    rows = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    assert rows[1].startswith("| **`acks-all-2-of-3-clean`**<br>keeps all, with 1 broker lost; ")
    *shown, note = [row.split(" | ", 1)[1] for row in rows[1:]]
    assert note.startswith("*note* | no schedule here has lost anything by power-of-all, ")
    assert shown == [
        "leader-dies | no loss | not known | confirmed |",
        "alone-and-powerless | no loss | not known | confirmed |",
        "one-away | unavailable.max <= 12.5s | not known | refuted |",
    ]


# What is searched


def of(*names: str):
    return lambda cell: cell.name in names


def test_the_shortest_loss_of_a_cell_is_a_schedule_of_its_own_that_is_run():
    made = matrix(BASE, of("acks-all-2-of-2-clean"), SharedSearches(time_limit_s=60, on_result=ignored))
    (row,) = made.record.cells
    searched = row.observed[-1]
    assert (searched.column, searched.entry) == ("searched", 3)
    assert searched.shows == "loss by: brokers 1 and 2 lose their power"
    assert searched.causes == ("power loss of all in-sync replicas",)
    assert (row.search.faults, row.search.whole_until) == (2, 1)
    scenario = made.scenarios[3]
    assert scenario.name == "acks-all-2-of-2-clean-search-loss"
    assert row.search.file == "scenarios/acks-all-2-of-2-clean-search-loss.yaml"
    assert scenario.expect.acked_loss == "permitted"
    assert [step["do"] for step in scenario.faults] == ["power-loss"]
    assert row.unseen == ("unclean-shutdowns", "disk-loss", "retention-by-clock")


def test_a_schedule_that_a_column_has_already_is_not_run_twice():
    made = matrix(BASE, of("acks-all-1-of-3-clean"), SharedSearches(time_limit_s=60, on_result=ignored))
    (row,) = made.record.cells
    assert [each.entry for each in row.observed] == [0, 1, 2, 1]
    assert [each.column for each in row.observed] == [
        *("leader-dies", "alone-and-powerless", "one-away", "searched")
    ]
    assert (row.search.entry, len(made.scenarios)) == (1, 3)
    assert row.search.file == "scenarios/acks-all-1-of-3-clean-alone-and-powerless.yaml"
    assert made.scenarios[1].expect.acked_loss == "permitted"


def ignored(its, result) -> None:
    """Nobody reads along."""


def test_cells_that_the_model_cannot_tell_apart_share_a_search():
    seen = []
    searches = SharedSearches(time_limit_s=1e-9, on_result=lambda its, result: seen.append(its.asked.name))
    sets = (["name=one"], ["name=two", "topic.partitions=9"], ["name=three", "topic.replication=2"])
    one, two, three = (
        searches(setup(parse_configuration("name: matrix\n", "matrix", each))) for each in sets
    )
    assert seen == ["one", "three"]
    assert one is two
    assert two is not three


def test_a_search_that_has_ended_is_kept_when_the_next_one_is_interrupted(monkeypatch, tmp_path: Path):
    names, real = ("acks-all-1-of-1-clean", "acks-all-2-of-2-clean"), made_searches.searched_for

    def interrupted(its: Setup, goal, *, time_limit_s: float):
        if its.asked.name == names[1]:
            raise KeyboardInterrupt
        return real(its, goal, time_limit_s=time_limit_s)

    def made(limit_s: float):
        kept = KeptSearches(tmp_path)
        shared = SharedSearches(time_limit_s=limit_s, on_result=ignored, kept=kept)
        return matrix(BASE, of(*names), shared).record.cells

    monkeypatch.setattr(made_searches, "searched_for", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made(60)
    monkeypatch.undo()
    first, second = made(1e-9)
    assert first.search.found == "broker 1 loses its power"
    assert second.search.cut_short
    KeptSearches(tmp_path).forget()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.usefixtures("no_load")
def test_the_command_keeps_its_searches_in_the_matrix_once_it_is_planned(monkeypatch, tmp_path: Path):
    """And runs that pass without a loss leave it unknown."""
    one = [cell for cell in cells() if cell.name == "acks-all-2-of-2-clean"]
    monkeypatch.setattr(made_matrix, "cells", lambda: one)
    monkeypatch.setattr(prepare, "ensure_images", lambda release, on_line: None)
    monkeypatch.setattr(live_steps, "LiveRunSteps", lambda spark_master: FakeRunSteps())
    assert main(["accept", "matrix", "--seed", "7", "--out", str(tmp_path)]) == 3
    (directory,) = (path for path in tmp_path.iterdir() if not path.is_symlink())
    (row,) = read_matrix(directory).cells
    assert row.search.found == "brokers 1 and 2 lose their power"


def test_of_another_model_or_of_a_search_that_was_cut_short_nothing_is_kept(tmp_path: Path):
    def result(limit_s: float):
        kept = KeptSearches(tmp_path)
        made = matrix(
            BASE,
            of("acks-all-1-of-1-clean"),
            SharedSearches(time_limit_s=limit_s, on_result=ignored, kept=kept),
        )
        return made.record.cells[0].search

    assert result(1e-9).cut_short
    found = result(60)
    assert found.found
    assert result(1e-9) == found
    file = tmp_path / "matrix-searches.json"
    file.write_text(re.sub(r'"source": "\w+"', '"source": "another"', file.read_text()))
    assert result(1e-9).cut_short
    file.write_text('{"source": ')
    assert result(1e-9).cut_short


def test_a_cell_in_which_nothing_is_found_says_how_far_was_looked():
    made = matrix(BASE, of("acks-all-2-of-3-clean"), SharedSearches(time_limit_s=1e-9, on_result=ignored))
    (row,) = made.record.cells
    assert [each.column for each in row.observed] == ["leader-dies", "alone-and-powerless", "one-away"]
    for judged in (None, {}):
        line = next(each for each in table(made.record, judged).splitlines() if "searched" in each)
        assert "nothing was tried whole; the time limit of 1e-09 s was over; 0 simulated runs" in line
        assert "a broker loses its power, is killed, is stopped cleanly, loses its disk, fetches" in line
        assert line.endswith("not tried is what retention-by-clock names")
    assert exit_code(made.record, suite_record(exit_code=0)) == 3


@pytest.mark.parametrize("name", ["acks-all-2-of-3-clean", "acks-all-2-of-2-clean"])
def test_brokers_that_are_controllers_are_not_searched(name):
    """A run of what is found has three brokers, whatever the replicas: room for the controllers."""
    base = parse_common("matrix", ["cluster.combined=true"])
    searches = SharedSearches(time_limit_s=60, on_result=ignored)
    (row,) = matrix(base, of(name), searches).record.cells
    assert (row.search.kinds, row.search.found) == ((), "")
    assert row.search.untried == ("disk-loss", "retention-by-clock")
    assert row.search.why_ended.startswith("the model's controllers are nodes of their own")


# What was observed, and what was promised


def evidence(*, lost=0, by=(), forbidden=0, gap_s=5.0, accept=(), require=(), contrary=False) -> RunEvidence:
    return RunEvidence(
        expect="any",
        acked=18_400,
        lost=lost,
        forbidden=forbidden,
        causes=by,
        longest_gap_s=gap_s,
        accept=accept,
        require=require,
        faults=1,
        proven=1,
        contrary=contrary,
    )


GOES_ON = "unavailable.max <= 12.5s"
STOPS = "unavailable.max >= 8.5s"


def observed(cell: str, *found: tuple[str, RunEvidence]):
    """A cell's line for each schedule, its notes and its statuses, after runs with these verdicts."""
    record = made_of(cell).record
    judged = {
        place: suite_row(place, verdict, entry=place, evidence=its)
        for place, (verdict, its) in enumerate(found)
    }
    document = as_json(record, judged)["cells"][0]
    said = [note for note in notes(record.cells[0], judged) if not note.startswith("no schedule here")]
    assert document["notes"] == [*notes(record.cells[0], judged)]
    return table(record, judged), said, document["observed"]


def test_what_was_observed_is_in_the_table_and_in_the_json():
    none_away = evidence(accept=(MeasuredBound(line=GOES_ON, value=5.0, holds=True),))
    text, said, rows = observed(
        "acks-1-2-of-3-clean",
        ("PASS", evidence(lost=3012, by=(contract.UNREPLICATED_TAIL,), gap_s=6.14)),
        ("PASS", evidence()),
        ("PASS", none_away),
    )
    lines = [re.split(r"  +", line.strip()) for line in text.splitlines()]
    seen = [line[:4] for line in lines]
    assert ["leader-dies", "confirmed", "lost 3,012 of 18,400, longest wait 6.1 s", "loss"] in seen
    assert ["one-away", "confirmed", "lost none of 18,400, longest wait 5.0 s", GOES_ON] in seen
    assert said == []
    assert [(row["acked"], row["lost"], row["longest_gap_s"]) for row in rows[:2]] == [
        (18_400, 3012, 6.14),
        (18_400, 0, 5.0),
    ]
    assert rows[0]["directory"] == "0000_demo_7"


def test_a_loss_by_another_cause_than_the_simulated_one_shows_nothing():
    lost = evidence(lost=3, by=(contract.DEPOSED_LEADER,))
    text, _, rows = observed("acks-1-2-of-3-clean", ("PASS", lost))
    assert (rows[0]["status"], rows[0]["lost_by"]) == ("not shown", [contract.DEPOSED_LEADER])
    line = next(line for line in text.splitlines() if "leader-dies" in line)
    assert re.split(r"  +", line.strip())[1] == "not shown: lost by deposed leader"


def test_a_run_that_has_lost_by_another_cause_leaves_the_matrix_unknown():
    record = made_of("acks-1-2-of-3-clean").record
    tail, other = ((contract.UNREPLICATED_TAIL,), (contract.DEPOSED_LEADER,))
    for causes, code in (((tail, tail), 0), ((tail, other), 3)):
        rows = [
            suite_row(place, "PASS", entry=place, evidence=evidence(lost=3, by=by))
            for place, by in enumerate(causes)
        ]
        assert exit_code(record, suite_record(*rows, exit_code=0)) == code
        assert exit_code(record, suite_record(*rows, exit_code=130)) == 130


def test_what_the_simulated_kafka_loses_and_no_clause_of_a_cell_names_is_said_and_fails(monkeypatch):
    lost = Found(schedule=(), causes=(contract.IN_SYNC_WITHOUT,))
    every_run_shows(monkeypatch, repeat(lost))
    record = matrix(BASE, of("acks-all-2-of-3-clean")).record
    note = (
        "against the promise: the simulated Kafka loses by in-sync replica elected without the data, and no "
        "clause of the promise names that"
    )
    assert table(record).splitlines()[-1].strip() == note
    assert next(notes(record.cells[0], {})) == note
    assert exit_code(record, None) == 1
    assert exit_code(record, suite_record(exit_code=0)) == 1
    monkeypatch.undo()
    assert exit_code(made_of("acks-all-2-of-3-clean").record, None) == 0


def test_the_clauses_that_no_run_has_shown_are_named_by_what_was_lost_and_not_by_the_simulated_kafka():
    record = made_of("acks-1-2-of-3-clean").record
    rows = {
        place: suite_row(place, "PASS", entry=place, evidence=evidence(lost=3, by=by))
        for place, by in enumerate([(contract.DEPOSED_LEADER,), (contract.UNCLEAN_SHUTDOWNS,)])
    }
    (note,) = (note for note in notes(record.cells[0], rows) if note.startswith("no schedule here"))
    assert note == (
        "no schedule here has lost anything by unreplicated-tail, power-of-all, disk-loss, "
        "retention-by-clock: highwater accept has runs of them"
    )


def test_where_nothing_was_lost_though_it_may_be_the_cell_says_so():
    quiet = evidence(contrary=True)
    away = evidence(accept=(MeasuredBound(line=GOES_ON, value=5.0, holds=True),))
    _, said, rows = observed("acks-1-2-of-3-clean", ("UNKNOWN", quiet), ("UNKNOWN", quiet), ("PASS", away))
    assert said == ["more than promised: no schedule has lost anything"]
    assert [row["status"] for row in rows] == ["the cluster disagrees", "the cluster disagrees", "confirmed"]


def test_a_loss_that_nothing_permits_is_less_than_promised():
    _, said, rows = observed("acks-all-2-of-3-clean", ("FAIL", evidence(lost=5, forbidden=3)))
    assert said == ["less than promised: leader-dies lost 3 records that nothing permits"]
    assert [row["status"] for row in rows] == ["refuted", "not run", "not run"]


@pytest.mark.parametrize(
    ("cell", "kind", "line", "holds", "note"),
    [
        ("acks-all-2-of-3-clean", "accept", GOES_ON, True, []),
        (
            "acks-all-2-of-3-clean",
            "accept",
            GOES_ON,
            False,
            ["less than promised: writes stopped with one away"],
        ),
        ("acks-all-2-of-2-clean", "require", STOPS, True, []),
        (
            "acks-all-2-of-2-clean",
            "require",
            STOPS,
            False,
            ["more than promised: writes went on with one away"],
        ),
        ("acks-all-2-of-2-clean", "require", STOPS, None, []),
    ],
)
def test_writes_that_go_on_or_stop_unlike_the_promise_are_said(cell, kind, line, holds, note):
    lost = evidence(lost=1)
    away = evidence(**{kind: (MeasuredBound(line=line, value=None if holds is None else 9.0, holds=holds),)})
    _, said, _ = observed(cell, ("PASS", lost), ("PASS", lost), ("PASS", away))
    assert said == note


def test_writes_that_stop_under_some_seeds_only_are_said(monkeypatch):
    found = (Found(schedule=(), waited_s=20.0) if one else None for one in [False] * 6 + [True, False, True])
    every_run_shows(monkeypatch, found)
    record = matrix(BASE, of("acks-all-2-of-3-clean")).record
    assert record.cells[0].observed[2].shows == "any: writes stop under some seeds"
    away = {2: suite_row(0, "PASS", entry=2, evidence=evidence())}
    assert next(notes(record.cells[0], away)) == (
        "not decided: whether writes go on with one away depends on timing, on the simulated Kafka too"
    )


def test_every_clause_of_a_loss_has_words_in_a_promise():
    lost = {name for name, kind in KINDS.items() if kind == "lost"}
    assert {*LOSES} == lost - {"nothing-promised"}


def test_a_directory_without_a_matrix_is_refused(tmp_path: Path):
    assert not is_matrix(tmp_path)
    with pytest.raises(RunDirectoryError, match=r"not the directory of a matrix: it has no matrix\.json"):
        read_matrix(tmp_path)
