"""An acceptance without a cluster: its files, which run shows which clause, and the exit code."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.run.run_steps import FakeRunSteps

from checkers.contract import clauses as contract
from checkers.contract.label import OR
from checkers.verdict.algebra import Verdict
from compose.setup import prepare
from harness import api
from harness.campaign.accept import page
from harness.campaign.accept.acceptance import Acceptance, exit_code, planned, promised, record_of, searched
from harness.campaign.accept.configuration.configuration_file import read_configuration
from harness.campaign.accept.record import read_accept
from harness.campaign.accept.search.searches import scenario_of
from harness.campaign.suites.directory import reopen
from harness.campaign.suites.files.record import RunEvidence
from harness.campaign.suites.loop import run_suite
from harness.campaign.suites.made import judged_entries
from harness.cli import main
from harness.errors import HistoryError, RunDirectoryError, UsageError
from harness.report.report import Report
from harness.run.live import live_steps
from harness.run_directory.layout import RunDir
from harness.scenario.resolve import resolve, scenario_text

pytestmark = pytest.mark.usefixtures("no_load")


EVERY_CAUSE = (
    contract.DISK_LOSS,
    contract.ISR_OF_ONE,
    contract.POWER_LOSS,
    contract.RETENTION,
    contract.UNCLEAN_SHUTDOWNS,
    contract.LAST_STANDING,
    contract.UNREPLICATED_TAIL,
    contract.DEPOSED_LEADER,
)


class AcceptSteps(FakeRunSteps):
    """Steps that come to one verdict for each clause, by the end of the scenario's name; PASS by default. A
    run loses by the causes that `lost_by` has for its clause, or else by every one.
    """

    def __init__(self, lost_by: Mapping[str, Sequence[str]] | None = None, **verdicts: Verdict) -> None:
        super().__init__()
        self.verdicts = {name.replace("_", "-"): verdict for name, verdict in verdicts.items()}
        self.lost_by = lost_by or {}

    def judge(self, run: RunDir):
        name = run.path.name
        found = [verdict for clause, verdict in self.verdicts.items() if f"-{clause}_" in name]
        causes = [its for clause, its in self.lost_by.items() if f"-{clause}_" in name]
        return ReportOfLosses(
            run_dir=run.path,
            verdict=found[0] if found else Verdict.PASS,
            outcome="as asked for",
            document=document(causes[0] if causes else EVERY_CAUSE),
        )


class ReportOfLosses(Report):
    """Its summary is empty."""

    def as_markdown(self) -> str:
        return ""


def document(causes: Sequence[str]):
    """What evidence is taken from, of a run that lost a record by each of these causes."""
    loss = {"permitted": len(causes), "violations": 0, "causes": dict.fromkeys(causes, 1)}
    return {
        "expect": "any",
        "properties": {"acked-loss": loss},
        "exposure": {"acked": 100, "longest_gap_s": 1.0, "fault_windows": []},
        "accept": [],
        "require": [],
    }


def payments(*sets: str):
    return promised(read_configuration("payments", sets))


def accepted(tmp_path: Path, its, lost_by: Mapping[str, Sequence[str]] | None = None, **verdicts: Verdict):
    """The record and the suite of an acceptance whose runs come to these verdicts."""
    suite = planned(its, out=tmp_path / "runs", seed=7, budget_s=3600)
    done = run_suite(suite, AcceptSteps(lost_by, **verdicts), progress=sys.stdout)
    return read_accept(suite.path), done, suite.path


def showing(its: Acceptance, *names: str) -> Acceptance:
    """Of all clauses those that are required, and these: a test that looks at no other run makes none."""
    kept = {*its.setup.asked.require, *names}
    return replace(its, clauses=tuple(clause for clause in its.clauses if clause.id in kept))


CLAUSES = [
    "process-kill",
    "broker-loss",
    "deposed-leader",
    "power-of-all",
    "unclean-shutdowns",
    "disk-loss",
    "retention-by-clock",
    "spare-replicas",
    "below-min-isr",
    "unreached-leader",
    "stalled-leader",
    "offline",
    "last-leader-away",
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
        "retention-by-clock": "confirmed",
        "spare-replicas": "confirmed",
        "below-min-isr": "confirmed",
        "unreached-leader": "confirmed",
        "stalled-leader": "confirmed",
        "offline": "not shown",
        "last-leader-away": "confirmed",
    }
    assert exit_code(record, suite) == 1
    lines = page.answer(record, judged_entries(suite)).splitlines()
    refuted = next(line for line in lines if line.startswith("kept broker-loss"))
    assert refuted.split("  ")[0] == "kept broker-loss"
    assert "refuted" in refuted
    assert "no acknowledged loss" in refuted
    assert lines[-1] == "Left out of the runs: 1 of 4 brokers: a run has one for each replica, racks"


def test_a_run_that_fails_by_rules_of_order_alone_refutes_no_clause(tmp_path: Path) -> None:
    """No clause speaks of order: what a producer wrote twice was kept all the same."""
    record, suite, _ = accepted(tmp_path, payments(), broker_loss=Verdict.FAIL)
    rows = dict(judged_entries(suite))
    clause = next(each for each in record.clauses if each.id == "broker-loss")
    assert clause.entry is not None
    twice = kept(contrary=False).model_copy(update={"order_alone": ("duplicate", "producer-order")})
    for evidence, status, words in (
        (twice, "broken otherwise", "broken otherwise: duplicate, producer-order"),
        (kept(contrary=False), "refuted", "refuted"),
    ):
        rows[clause.entry] = rows[clause.entry].model_copy(update={"evidence": evidence})
        statuses = {row["id"]: row["status"] for row in page.as_json(record, rows)["clauses"]}
        assert statuses["broker-loss"] == status
        line = next(each for each in page.answer(record, rows).splitlines() if "kept broker-loss" in each)
        assert re.split(r"  +", line)[1] == words
    assert exit_code(record, suite) == 1


@pytest.mark.parametrize(
    ("causes", "status"),
    [
        ([contract.POWER_LOSS], "confirmed"),
        ([contract.UNREPLICATED_TAIL, contract.POWER_LOSS], "confirmed"),
        ([contract.UNCLEAN_ELECTION], "not shown: lost by unclean election"),
        ([f"{contract.POWER_LOSS}{OR}{contract.UNCLEAN_SHUTDOWNS}"], "not shown"),
        ([], "not shown: lost by what is not known"),
    ],
)
def test_a_loss_shows_the_clause_that_names_its_cause_and_no_other(
    tmp_path: Path, causes: list[str], status: str
) -> None:
    """A label that holds another cause for possible does not show it either."""
    its = showing(payments(), "power-of-all")
    record, suite, _ = accepted(tmp_path, its, {"power-of-all": causes})
    rows = judged_entries(suite)
    row = next(row for row in page.as_json(record, rows)["clauses"] if row["id"] == "power-of-all")
    assert (row["status"], row["lost_by"]) == (status.split(":")[0], sorted(causes))
    line = next(line for line in page.answer(record, rows).splitlines() if "power-of-all" in line)
    assert re.split(r"  +", line)[1].startswith(status)
    assert (suite.exit_code, exit_code(record, suite)) == (0, 0 if status == "confirmed" else 3)


TRAPS = [
    (["topic.replication=2"], "two-replicas", "below-min-isr"),
    (["topic.replication=2", "topic.config.min.insync.replicas=1"], "two-replicas", "isr-of-one"),
    (["topic.config.min.insync.replicas=1"], "min-isr-of-one", "isr-of-one"),
    (["topic.config.min.insync.replicas=1", "topic.config.flush.messages=1"], "min-isr-of-one", "disk-loss"),
    (["topic.config.min.insync.replicas=3"], "min-isr-of-all", "below-min-isr"),
    (["topic.config.min.insync.replicas=4"], "min-isr-above-replication", "below-min-isr"),
    (["topic.config.unclean.leader.election.enable=true"], "unclean-election", "unclean-election"),
    (["cluster.elr=false"], "no-eligible-leader-replicas", "last-replica-standing"),
    (["producer={acks: 1}"], "acks-1", "unreplicated-tail"),
    (["producer={acks: 0}"], "acks-0", "nothing-promised"),
    (["topic.replication=1", "topic.config.min.insync.replicas=1"], "one-replica", "isr-of-one"),
    (["cluster.racks={}"], "no-racks", "power-of-all"),
    (["topic.config.retention.ms=60000"], "retention-against-clocks", ""),
]


@pytest.mark.parametrize(("sets", "trap", "clause"), TRAPS)
def test_a_trap_that_a_run_can_show_names_the_clause_of_that_run(
    sets: list[str], trap: str, clause: str
) -> None:
    assert {row.id: row.clause for row in record_of(payments(*sets)).traps}[trap] == clause


def test_what_the_run_of_its_clause_shows_is_said_of_a_trap(tmp_path: Path) -> None:
    its = payments("topic.config.min.insync.replicas=1", "topic.config.retention.ms=60000")
    record, suite, _ = accepted(tmp_path, showing(its, "isr-of-one"), isr_of_one=Verdict.UNKNOWN)
    document = page.as_json(record, judged_entries(suite))
    assert {row["id"]: row["status"] for row in document["traps"]} == {
        "min-isr-of-one": "not shown",
        "retention-against-clocks": "no run can show it",
    }
    lines = page.answer(record, judged_entries(suite)).splitlines()
    (shown,) = [line.split() for line in lines if line.startswith("trap ")]
    assert shown == ["trap", "min-isr-of-one", "not", "shown", "as", "isr-of-one"]


@pytest.fixture(scope="module")
def found():
    """An acceptance with what a search has found to lose, and to stop writes."""
    its = showing(payments("cluster.elr=false"))
    return searched(its, time_limit_s=60, on_result=lambda result: None)


def test_a_counterexample_is_a_run_of_its_own(tmp_path: Path, found) -> None:
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
    assert loss.file == "scenarios/payments-search-loss.yaml"
    assert loss.file in page.answer(record, rows)


def test_a_counterexample_is_confirmed_by_a_loss_of_its_own_cause(tmp_path: Path, found) -> None:
    record, suite, _ = accepted(tmp_path, found, {"search-loss": [contract.POWER_LOSS]})
    rows = judged_entries(suite)
    loss, unavailability = page.as_json(record, rows)["searches"]
    assert (loss["status"], loss["lost_by"], unavailability["status"]) == (
        "not shown",
        [contract.POWER_LOSS],
        "confirmed",
    )
    line = next(each for each in page.answer(record, rows).splitlines() if "shortest loss" in each)
    assert re.split(r"  +", line)[1] == f"not shown: lost by {contract.POWER_LOSS}"
    assert exit_code(record, suite) == 3


def test_what_the_simulated_kafka_loses_and_no_clause_names_is_said_and_fails(tmp_path: Path, found) -> None:
    loss, unavailability = found.searches
    causes = (contract.LAST_STANDING, contract.IN_SYNC_WITHOUT)
    worse = replace(loss, found=replace(loss.found, causes=causes))
    its = replace(found, searches=(worse, unavailability))
    record, suite, _ = accepted(tmp_path, its)
    assert record.searches[0].unnamed == (contract.IN_SYNC_WITHOUT,)
    assert (suite.exit_code, exit_code(record, suite)) == (0, 1)
    said = (
        "the simulated Kafka loses by in-sync replica elected without the data, and no clause of the promise "
        "names that"
    )
    assert f"Against the promise: {said}" in page.answer(record, judged_entries(suite)).splitlines()
    assert page.searched(record.searches[0]).endswith(f"; {said}")
    assert record_of(found).searches[0].unnamed == ()


def test_a_cluster_that_keeps_what_the_simulated_one_loses_disagrees(tmp_path: Path, found) -> None:
    """And one whose evidence is incomplete does not: nothing is known of it."""
    record, suite, _ = accepted(tmp_path, found, search_loss=Verdict.UNKNOWN)
    rows = dict(judged_entries(suite))
    loss = record.searches[0]
    for contrary, status in ((True, "the cluster disagrees"), (False, "not shown")):
        evidence = kept(contrary=contrary)
        rows[loss.entry] = rows[loss.entry].model_copy(update={"evidence": evidence})
        assert page.as_json(record, rows)["searches"][0]["status"] == status
        line = next(each for each in page.answer(record, rows).splitlines() if "shortest loss" in each)
        assert re.split(r"  +", line)[1] == status


def kept(*, contrary: bool) -> RunEvidence:
    """What a run shows that has lost nothing."""
    return RunEvidence(
        expect="permitted",
        acked=100,
        lost=0,
        longest_gap_s=1.0,
        accept=(),
        require=(),
        faults=2,
        proven=2,
        contrary=contrary,
    )


def test_writes_that_do_not_stop_are_no_failure_of_the_cluster(found) -> None:
    scenario = scenario_of(found.setup, found.searches[1])
    assert scenario is not None
    assert (scenario.accept, scenario.require) == ([], ["unavailable.max >= 8.5s"])


def test_a_lost_disk_of_a_schedule_is_a_disk_that_is_emptied() -> None:
    sets = ("topic.config.flush.messages=1", "topic.config.min.insync.replicas=1")
    its = searched(payments(*sets), time_limit_s=60, on_result=lambda result: None)
    scenario = scenario_of(its.setup, its.searches[0])
    assert scenario is not None
    resolve(scenario_text(scenario), scenario.name, seed=1)
    last = scenario.faults[-1]
    assert (last["do"], last["target"], last["disk"]) == ("disk-wipe", "node 1", "emptied")


def test_a_search_that_finds_nothing_says_how_far_it_has_looked() -> None:
    its = searched(payments(), time_limit_s=1e-9, on_result=lambda result: None)
    line = page.searched(record_of(its).searches[0])
    assert line.startswith(
        "no way was found to lose what was acknowledged: nothing was tried whole; the time limit of 1e-09 s "
        "was over; 0 simulated runs in "
    )
    assert line.endswith(
        "; a fault: a broker loses its power, is killed, is stopped cleanly, loses its disk, fetches from no "
        "other broker, serves no other broker or reaches neither controllers nor brokers; not tried is what "
        "retention-by-clock names"
    )


def test_a_search_that_finds_nothing_says_so_in_the_answer_too() -> None:
    its = searched(payments(), time_limit_s=1e-9, on_result=lambda result: None)
    record = record_of(its)
    line = next(each for each in page.answer(record, {}).splitlines() if each.startswith("shortest loss"))
    assert re.split(r"  +", line)[1] == "none found"
    assert line.endswith(page.searched(record.searches[0]))
    assert page.as_json(record, {})["searches"][0]["status"] == "none found"


def test_a_search_that_was_cut_short_leaves_the_answer_unknown(tmp_path: Path, found) -> None:
    its = showing(payments())
    cut = searched(its, time_limit_s=1e-9, on_result=lambda result: None)
    record, suite, _ = accepted(tmp_path, cut)
    assert (suite.exit_code, exit_code(record, suite)) == (0, 3)
    ended = tuple(replace(result, why_ended="") for result in cut.searches)
    assert exit_code(record_of(replace(cut, searches=ended)), suite) == 0


def test_what_the_clauses_name_and_no_schedule_has_is_said() -> None:
    its = searched(payments(), time_limit_s=1e-9, on_result=lambda result: None)
    assert record_of(its).searches[0].untried == ("retention-by-clock",)
    for_ever = payments("topic.config.retention.ms=-1")
    its = searched(for_ever, time_limit_s=1e-9, on_result=lambda result: None)
    assert record_of(its).searches[0].untried == ()


@pytest.mark.parametrize(
    ("sets", "why"),
    [
        (
            ("topic.replication=4", "topic.config.min.insync.replicas=3"),
            "the model has 3 brokers, and the topic 4 replicas",
        ),
        (
            ("cluster.combined=true",),
            "the model's controllers are nodes of their own, and the run's are its brokers",
        ),
        (
            ("cluster.combined=true", "topic.replication=2"),
            "the model's controllers are nodes of their own, and the run's are its brokers",
        ),
    ],
)
def test_what_the_model_does_not_have_is_not_searched_and_the_answer_says_so(
    sets: tuple[str, ...], why: str
) -> None:
    its = payments(*sets)
    seen = []
    record = record_of(searched(its, time_limit_s=1, on_result=seen.append))
    assert [(row.goal, row.runs, row.why_ended) for row in record.searches] == [
        ("loss", 0, why),
        ("unavailability", 0, why),
    ]
    assert [result.why_ended for result in seen] == [why, why]
    assert f"no way was searched to stop writes: {why}" in page.answer(record, {})
    assert [row["status"] for row in page.as_json(record, {})["searches"]] == ["not searched"] * 2


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
    assert (len(done.runs), done.exit_code) == (len(CLAUSES), 0)


def test_a_directory_without_an_acceptance_or_with_a_damaged_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RunDirectoryError, match=r"not the directory of an acceptance: it has no accept\.json"
    ):
        read_accept(tmp_path)
    (tmp_path / "accept.json").write_text('{"schema_version": 1}')
    with pytest.raises(HistoryError, match="tool_version: Field required"):
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


@pytest.mark.parametrize(
    ("release", "words"),
    [("3.8.1", "unclean election on (not read before Kafka 3.9)"), ("3.9.1", "unclean election on")],
)
def test_the_answer_says_where_a_setting_is_not_read(
    release: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And misses what the profile requires, which is none of that release's promises."""
    missing = release == "3.8.1"
    assert main(["accept", "analytics", "--no-proof", "--set", f"cluster.kafka={release}"]) == missing
    lines = capsys.readouterr().out.splitlines()
    assert words in lines[0].split(", ")
    assert ("Required, and not promised: stays-up" in lines) is missing


NEVER_MET = ["--set", "cluster.kafka=3.6.1", "--set", "topic.config.min.insync.replicas=4"]
REFUSED = "Kafka 3.6.1 takes no acks=all write with min.insync.replicas=4 of 3 replicas"


def test_a_topic_that_takes_no_write_is_answered_and_no_run_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["accept", "payments", "--no-proof", *NEVER_MET]) == 1
    assert "min-isr-above-replication" in capsys.readouterr().out
    out = tmp_path / "runs"
    assert main(["accept", "payments", "--out", str(out), "--json", *NEVER_MET, "--set", "require=[]"]) == 3
    document = json.loads(capsys.readouterr().out)
    rows = {row["id"]: (row["why_not"], row["status"]) for row in document["clauses"]}
    assert set(rows.values()) == {(REFUSED, "no run can show it")}
    assert "below-min-isr" in rows
    assert not out.exists()
    with pytest.raises(UsageError, match=f"^accept: no run can show anything: {REFUSED}$"):
        api.accept("payments", sets=NEVER_MET[1::2])


TOO_LONG = "cluster.broker_config.replica.lag.time.max.ms=900000"
FULL = (
    "its run is refused: workload.rate: 2000/s of 200 bytes for 2724.5s is 3.04 GiB with its replicas, and "
    "the 3 volumes hold 3 GiB"
)


def test_a_clause_whose_run_is_refused_has_the_reason_and_the_others_have_their_runs(tmp_path: Path) -> None:
    """With a follower that is missed after 15 minutes, the run of one clause is too long for its disks."""
    record, suite, path = accepted(tmp_path, payments(TOO_LONG))
    assert {clause.id: clause.why_not for clause in record.clauses if clause.why_not} == {"offline": FULL}
    rows = judged_entries(suite)
    shown = [rows[clause.entry].scenario for clause in record.clauses if clause.entry is not None]
    assert shown == [f"payments-{clause}" for clause in CLAUSES if clause != "offline"]
    assert not (path / "scenarios/payments-offline.yaml").exists()
    line = next(each for each in page.answer(record, rows).splitlines() if "unavailable offline" in each)
    assert re.split(r"  +", line)[1:] == ["no run can show it", FULL]


def test_a_counterexample_whose_run_is_refused_has_the_reason(tmp_path: Path, found) -> None:
    half_an_hour = "cluster.broker_config.replica.lag.time.max.ms=1800000"
    its = replace(found, setup=payments("cluster.elr=false", half_an_hour).setup)
    record, suite, _ = accepted(tmp_path, its)
    rows = judged_entries(suite)
    document = page.as_json(record, rows)
    assert [row["status"] for row in document["searches"]] == ["no run can show it"] * 2
    for row in record.searches:
        assert (row.entry, row.file) == (None, "")
        assert row.why_not.startswith("its run is refused: workload.rate: 2000/s of 200 bytes for ")
        assert row.why_not in page.answer(record, rows)
    assert "confirmed" in {row["status"] for row in document["clauses"]}


def test_where_no_run_has_room_for_a_record_the_answer_says_so_and_none_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = "topic.config.max.message.bytes=277"
    out = tmp_path / "runs"
    assert main(["accept", "payments", "--out", str(out), "--json", "--set", small]) == 3
    rows = json.loads(capsys.readouterr().out)["clauses"]
    (why,) = {row["why_not"] for row in rows}
    assert why.startswith(
        "its run is refused: topics[0].config.max.message.bytes: a record of 200 bytes makes"
    )
    assert not out.exists()
    with pytest.raises(UsageError, match=r"^accept: no run can show anything: its run is refused: "):
        api.accept("payments", sets=[small])


def test_no_answer_and_no_file_of_it_shows_a_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = ("producer.sasl.jaas.config=hush", "producer.ssl.key.password=hush")
    sets = (*secrets, "cluster.broker_config.ssl.keystore.password=hush")
    planned(payments(*sets), out=tmp_path, seed=7, budget_s=3600)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"accept.json", "suite.json", "payments-process-kill.yaml"} <= {path.name for path in files}
    assert [path.name for path in files if "hush" in path.read_text()] == []
    options = [word for each in sets for word in ("--set", each)]
    for more in ([], ["--json"]):
        assert main(["accept", "payments", "--no-proof", *options, *more]) == 0
        printed = capsys.readouterr()
        assert "hush" not in printed.out + printed.err


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


NOTHING_RUNS = (
    "accept: --no-proof searches nothing and runs nothing: it takes no --no-search, --search-limit, --seed, "
    "--budget, --out or --spark-master"
)


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
        (
            ["--from-topic", "orders", "--bootstrap", "localhost:1", "--client", "=hush"],
            "accept: --client : expected KEY=VALUE, as in security.protocol=SSL",
        ),
        (["--resume", "runs/x", "--no-proof"], "accept: --resume goes on with a proof"),
        (
            ["--resume", "runs/x", "--set", "producer.acks=1"],
            "accept: --resume goes on with the configuration, the seed and the searches that there are",
        ),
        (["payments", "--client", "a=b"], "accept: --client is for the cluster of --from-topic"),
        (
            ["payments", "--no-search", "--search-limit", "5s"],
            "accept: --no-search and --search-limit exclude each other",
        ),
        (
            ["payments", "--no-proof", "--seed", "7"],
            NOTHING_RUNS,
        ),
        (["payments", "--no-proof", "--no-search"], NOTHING_RUNS),
        (["payments", "--no-proof", "--out", "runs"], NOTHING_RUNS),
        (["matrix", "--no-proof", "--spark-master", "local[*]"], NOTHING_RUNS),
        (
            ["--resume", "runs/x", "--out", "runs"],
            "accept: --resume goes on in the directory that there is: it takes no --out",
        ),
        ([""], "accept: unknown ''; allowed: analytics, payments; or give the path of a file"),
        (
            ["matrix", "--no-proof", "--search-limit", "5s"],
            NOTHING_RUNS,
        ),
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
    assert table[-13:] == [
        ["kept", "process-kill", "confirmed"],
        ["kept", "broker-loss", "confirmed"],
        ["kept", "deposed-leader", "confirmed"],
        ["lost", "power-of-all", "confirmed"],
        ["lost", "unclean-shutdowns", "confirmed"],
        ["lost", "disk-loss", "confirmed"],
        ["lost", "retention-by-clock", "confirmed"],
        ["available", "spare-replicas", "confirmed"],
        ["unavailable", "below-min-isr", "confirmed"],
        ["unavailable", "unreached-leader", "confirmed"],
        ["unavailable", "stalled-leader", "confirmed"],
        ["unavailable", "offline", "confirmed"],
        ["unavailable", "last-leader-away", "confirmed"],
    ]
