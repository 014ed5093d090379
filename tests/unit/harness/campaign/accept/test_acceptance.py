"""An acceptance without a cluster: its files, which run shows which clause, and the exit code."""

import json
import sys
from pathlib import Path

import pytest
from fakes.run.run_steps import FakeRunSteps

from checkers.verdict.algebra import Verdict
from compose.setup import prepare
from harness.campaign.accept import acceptance, page
from harness.campaign.accept.acceptance import (
    exit_code,
    judged_entries,
    planned,
    promised,
    record_of,
    searched,
)
from harness.campaign.accept.configuration_file import read_configuration
from harness.campaign.accept.record import read_accept
from harness.campaign.suites.directory import reopen
from harness.campaign.suites.loop import run_suite
from harness.cli import main
from harness.errors import HistoryError, RunDirectoryError
from harness.run.live import live_steps
from harness.run_directory.layout import RunDir
from harness.scenario.model import Scenario
from harness.scenario.resolve import scenario_text


@pytest.fixture(autouse=True)
def no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a load that there is not."""

    def text(scenario: Scenario) -> str:
        load = scenario.workload.model_copy(update={"lasts_s": 0.0, "tail_s": 0.0})
        return scenario_text(scenario.model_copy(update={"workload": load}))

    monkeypatch.setattr(acceptance, "scenario_text", text)


class AcceptSteps(FakeRunSteps):
    """Steps that come to one verdict for each clause, by the end of the scenario's name; PASS by default."""

    def __init__(self, **verdicts: Verdict) -> None:
        super().__init__()
        self.verdicts = {name.replace("_", "-"): verdict for name, verdict in verdicts.items()}

    def judge(self, run: RunDir):
        name = run.path.name
        found = [verdict for clause, verdict in self.verdicts.items() if f"-{clause}_" in name]
        self.verdict = found[0] if found else Verdict.PASS
        return super().judge(run)


def payments(*sets: str):
    return promised(read_configuration("payments", sets))


def accepted(tmp_path: Path, its, **verdicts: Verdict):
    """The record and the suite of an acceptance whose runs come to these verdicts."""
    suite = planned(its, out=tmp_path / "runs", seed=7, budget_s=3600)
    done = run_suite(suite, AcceptSteps(**verdicts), progress=sys.stdout)
    return read_accept(suite.path), done, suite.path


CLAUSES = [
    "process-kill",
    "broker-loss",
    "deposed-leader",
    "power-of-all",
    "unclean-shutdowns",
    "disk-loss",
    "spare-replicas",
    "below-min-isr",
    "offline",
]


def test_each_clause_is_shown_by_one_run_of_its_own_scenario(tmp_path: Path) -> None:
    record, suite, path = accepted(tmp_path, payments())
    assert [clause.id for clause in record.clauses] == CLAUSES
    rows = judged_entries(suite)
    shown = {clause.id: rows[clause.entry].scenario for clause in record.clauses}
    assert shown == {clause: f"payments-{clause}" for clause in CLAUSES}
    files = sorted(file.name for file in (path / "scenarios").iterdir())
    assert files == sorted(f"payments-{clause}.yaml" for clause in CLAUSES)
    assert exit_code(record, suite) == 0


def test_what_a_run_refutes_or_does_not_show_is_in_the_answer(tmp_path: Path) -> None:
    verdicts = {"broker_loss": Verdict.FAIL, "offline": Verdict.UNKNOWN, "power_of_all": Verdict.ERROR}
    record, suite, _ = accepted(tmp_path, payments(), **verdicts)
    document = page.as_json(record, judged_entries(suite))
    assert {row["id"]: row["status"] for row in document["clauses"]} == {
        "process-kill": "confirmed",
        "broker-loss": "refuted",
        "deposed-leader": "confirmed",
        "power-of-all": "failed",
        "unclean-shutdowns": "confirmed",
        "disk-loss": "confirmed",
        "spare-replicas": "confirmed",
        "below-min-isr": "confirmed",
        "offline": "not shown",
    }
    assert exit_code(record, suite) == 1
    lines = page.answer(record, judged_entries(suite)).splitlines()
    refuted = next(line for line in lines if line.startswith("kept broker-loss"))
    assert refuted.split("  ")[0] == "kept broker-loss"
    assert "refuted" in refuted
    assert "no acknowledged loss" in refuted
    assert lines[-1] == "Left out of the runs: racks"


def test_a_counterexample_is_a_run_of_its_own(tmp_path: Path) -> None:
    found = searched(payments("cluster.elr=false"), time_limit_s=60, on_result=lambda result: None)
    assert [result.goal for result in found.searches] == ["loss", "unavailability"]
    record, suite, _ = accepted(tmp_path, found, search_loss=Verdict.UNKNOWN)
    loss, unavailability = record.searches
    assert loss.found == "broker 1 serves no other broker; 6.5 s later broker 1 loses its power"
    assert (loss.faults, loss.causes) == (2, ("last replica standing",))
    rows = judged_entries(suite)
    assert rows[loss.entry].scenario == "payments-search-loss"
    assert rows[unavailability.entry].scenario == "payments-search-unavailability"
    document = page.as_json(record, rows)
    assert [row["status"] for row in document["searches"]] == ["not shown", "confirmed"]
    assert exit_code(record, suite) == 3


def test_a_search_that_finds_nothing_says_how_far_it_has_looked() -> None:
    its = searched(payments(), time_limit_s=1e-9, on_result=lambda result: None)
    line = page.searched(record_of(its).searches[0])
    assert line.startswith(
        "no way was found to lose what was acknowledged: nothing was tried whole; the time limit of 1e-09 s "
        "was over; 0 simulated runs in "
    )


def test_four_replicas_are_more_than_the_model_has() -> None:
    its = payments("topic.replication=4", "topic.config.min.insync.replicas=3")
    assert searched(its, time_limit_s=1, on_result=lambda result: None).searches == ()


def test_what_is_required_and_not_promised_is_a_failure(tmp_path: Path) -> None:
    record, suite, _ = accepted(tmp_path, payments("producer={acks: 1}"))
    assert record.required_missing == ("process-kill", "broker-loss", "deposed-leader")
    assert suite.exit_code == 0
    assert exit_code(record, suite) == 1
    assert exit_code(record, None) == 1
    interrupted = suite.model_copy(update={"exit_code": 130})
    assert exit_code(record, interrupted) == 130


def test_an_acceptance_that_was_stopped_goes_on_from_its_directory(tmp_path: Path) -> None:
    suite = planned(payments(), out=tmp_path / "runs", seed=7, budget_s=1e-9)
    first = run_suite(suite, AcceptSteps(), progress=sys.stdout)
    assert (len(first.runs), first.exit_code) == (1, 3)
    done = run_suite(reopen(suite.path, budget_s=3600), AcceptSteps(), progress=sys.stdout)
    assert (len(done.runs), done.exit_code) == (9, 0)


def test_a_directory_without_an_acceptance_or_with_a_damaged_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RunDirectoryError, match=r"not the directory of an acceptance: it has no accept\.json"
    ):
        read_accept(tmp_path)
    (tmp_path / "accept.json").write_text('{"schema_version": 1}')
    with pytest.raises(HistoryError, match="not a readable record"):
        read_accept(tmp_path)
    (tmp_path / "accept.json").write_text('{"schema_version": 9}')
    with pytest.raises(HistoryError, match="unknown schema_version 9, this version reads 1"):
        read_accept(tmp_path)


# The command line


def test_without_proof_the_contract_alone_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["accept", "payments", "--no-proof"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "payments: Kafka 4.3.1, 3 replicas, min.insync.replicas 2, acks=all, idempotent, unclean election "
        "off, ELR on",
        "",
        "It promises:",
        "  kept         keeps what it acknowledged when brokers are killed, all of them at once too: the "
        "page cache outlives a process  [process-kill]",
    ]
    assert lines[-1] == "It falls into no known trap."


def test_without_proof_a_missing_clause_fails_and_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["accept", "payments", "--no-proof", "--json", "--set", "producer={acks: 1}"]
    assert main(arguments) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["required_missing"] == ["process-kill", "broker-loss", "deposed-leader"]
    assert [trap["id"] for trap in document["traps"]] == [
        "acks-1",
        "min-isr-without-acks-all",
        "retries-without-idempotence",
        "reordered-retries",
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "accept: give a configuration, or --from-topic NAME, or --resume DIR"),
        (
            ["payments", "--resume", "runs/x"],
            "accept: give a configuration, or --from-topic NAME, or --resume DIR",
        ),
        (["--resume", "runs/x"], "runs/x: not the directory of an acceptance: it has no accept.json"),
        (["--from-topic", "orders"], "accept: --from-topic and --bootstrap go together"),
        (
            ["--from-topic", "orders", "--bootstrap", "localhost:1", "--client", "ssl"],
            "accept: --client ssl: expected KEY=VALUE, as in security.protocol=SSL",
        ),
        (["--resume", "runs/x", "--no-proof"], "accept: --resume goes on with a proof"),
    ],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["accept", *arguments]) == 2
    assert capsys.readouterr().err == f"highwater: {complaint}\n"


def test_the_command_ends_with_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "ensure_images", lambda release, on_line: None)
    monkeypatch.setattr(live_steps, "LiveRunSteps", lambda spark_master: AcceptSteps())
    arguments = ["accept", "payments", "--no-search", "--seed", "7", "--out", str(tmp_path / "runs")]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    table = [line.split()[:3] for line in lines if line.startswith(("kept", "lost", "available", "unavail"))]
    assert table[-9:] == [
        ["kept", "process-kill", "confirmed"],
        ["kept", "broker-loss", "confirmed"],
        ["kept", "deposed-leader", "confirmed"],
        ["lost", "power-of-all", "confirmed"],
        ["lost", "unclean-shutdowns", "confirmed"],
        ["lost", "disk-loss", "confirmed"],
        ["available", "spare-replicas", "confirmed"],
        ["unavailable", "below-min-isr", "confirmed"],
        ["unavailable", "offline", "confirmed"],
    ]
