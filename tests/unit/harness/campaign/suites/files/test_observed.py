"""What was expected of each scenario and what its runs have shown, as a table."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.history.history_rows import history, logged, ok, sample
from fakes.run.run_directories import make_run, reference
from fakes.run.suites import record, row

from checkers.history.rows import MetadataChange
from checkers.verdict.algebra import Verdict
from harness.campaign.suites.files.observed import (
    cost,
    evidence_of,
    observed_table,
    observed_text,
    write_observed,
)
from harness.campaign.suites.files.record import (
    MeasuredBound,
    RunEvidence,
    RunRow,
    RunSeconds,
    SuiteRecord,
    SuiteSeconds,
    read_record,
    write_record,
)
from harness.campaign.suites.plan import Entry
from harness.report.judge import judge
from harness.report.report import Report

HEAD = [
    "| scenario | expected | observed | longest wait | evidence | faults proven | took | runs |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
]


def evidence(*, lost=0, acked=1000, isr=1.0, gap_s=4.5, expect="none", **more) -> RunEvidence:
    return RunEvidence(
        expect=expect,
        acked=acked,
        lost=lost,
        longest_gap_s=gap_s,
        accept=(),
        require=(MeasuredBound(line="isr.min <= 1", value=isr, holds=isr is not None and isr <= 1),),
        faults=2,
        proven=2,
        **more,
    )


def test_the_evidence_of_a_run_is_taken_from_its_report(tmp_path: Path) -> None:
    state = MetadataChange(
        at_ms=0, topic="orders", partition=0, leader=1, leader_epoch=0, partition_epoch=0, isr=(1, 2, 3)
    )
    seconds = (0, 1, 3)
    acks = [ok(1, n, at=n, invoked=at * 10**9, done=at * 10**9 + 1) for n, at in enumerate(seconds)]
    rows = replace(history(*acks, logged(1, 0, 0), logged(1, 1, 1), sample(2)), metadata=[state])
    run = make_run(tmp_path, rows, require=["isr.min <= 1"], accept=["unavailable.max <= 5s"])
    assert evidence_of(judge(run, reference)) == RunEvidence(
        expect="none",
        acked=3,
        lost=1,
        forbidden=1,
        causes=("hole",),
        longest_gap_s=2.0,
        accept=(MeasuredBound(line="unavailable.max <= 5s", value=2.0, holds=True),),
        require=(MeasuredBound(line="isr.min <= 1", value=3.0, holds=False),),
        faults=0,
        proven=0,
    )


@pytest.mark.parametrize(
    ("lines", "contrary"),
    [
        ({"expect": "permitted"}, True),
        ({"expect": "any"}, False),
        ({"expect": "any", "require": ["unavailable.max >= 5s"]}, True),
        ({"expect": "any", "accept": ["unavailable.max >= 5s"]}, True),
        ({"expect": "permitted", "schedule": ["kill"]}, False),
    ],
)
def test_whole_evidence_of_something_else_than_was_expected_is_contrary(
    tmp_path: Path, lines: dict[str, Any], contrary: bool
) -> None:
    """Nothing is contrary in a run that has shown what it was for, or of which evidence is missing."""
    seconds = (0, 1, 3)
    acks = [ok(1, n, at=n, invoked=at * 10**9, done=at * 10**9 + 1) for n, at in enumerate(seconds)]
    rows = history(*acks, *(logged(1, n, n) for n in range(3)), sample(3))
    found = evidence_of(judge(make_run(tmp_path, rows, **lines), reference))
    assert found is not None
    assert (found.lost, found.contrary) == (0, contrary)


@pytest.mark.parametrize(
    ("logged_at", "lines", "broken"),
    [
        ({0: 0, 1: 1, 2: 2, 3: 2}, {}, ("duplicate",)),
        ({0: 0, 1: 1, 2: 2}, {}, ()),
        ({0: 0, 1: 1, 3: 1}, {}, ()),
        ({0: 0, 1: 1, 2: 2, 3: 2}, {"accept": ["unavailable.max >= 5s"]}, ()),
        ({0: 0, 1: 1, 2: 2, 3: 2}, {"expect": "permitted"}, ("duplicate",)),
    ],
    ids=["written twice", "nothing", "a hole too", "a missed bound too", "and a weak control"],
)
def test_a_failure_by_rules_of_order_alone_is_told_from_others(
    tmp_path: Path, logged_at: dict[int, int], lines: dict[str, Any], broken: tuple[str, ...]
) -> None:
    """`logged_at`: which record is at which offset; of three that were acknowledged at offsets 0 to 2."""
    acks = [ok(1, n, at=n, invoked=n * 10**9, done=n * 10**9 + 1) for n in range(3)]
    log = [logged(1, number, offset) for offset, number in logged_at.items()]
    found = evidence_of(judge(make_run(tmp_path, history(*acks, *log, sample(len(log))), **lines), reference))
    assert found is not None
    assert found.order_alone == broken


def test_a_run_that_cannot_be_read_has_none(tmp_path: Path) -> None:
    assert evidence_of(Report(run_dir=tmp_path, verdict=Verdict.UNKNOWN, outcome="missing")) is None


def test_a_scenario_has_a_row_of_what_was_expected_and_seen() -> None:
    seen = evidence(lost=612, acked=18204, expect="permitted")
    its = record(row(0, "PASS", scenario="kill", evidence=seen), row(1, "UNKNOWN", scenario="broken"))
    assert observed_table(its).splitlines() == [
        *HEAD,
        "| `broken` | not known | not known | not known | none is asked for | not known | 50 s | 1 UNKNOWN |",
        "| `kill` | a permitted loss | lost 612 of 18,204 acknowledged | 4.5 s | `isr.min <= 1`: 1 | 2 of 2 "
        "| 50 s | 1 PASS |",
    ]


def test_runs_of_several_suites_count_together() -> None:
    one = record(row(0, "PASS", evidence=evidence()))
    other = record(row(0, "PASS", evidence=evidence(acked=2000)))
    (line,) = observed_table(one, other).splitlines()[2:]
    assert line.startswith("| `demo` | no acknowledged loss | lost none of 1,000 to 2,000 acknowledged | ")
    assert line.endswith("| 2 PASS |")


def test_several_runs_of_a_scenario_show_their_range_and_where_a_line_did_not_hold() -> None:
    rows = [
        row(0, "PASS", evidence=evidence()),
        row(1, "UNKNOWN", evidence=evidence(isr=2.0, gap_s=9.25, acked=2000)),
        row(2, "UNKNOWN", evidence=evidence(isr=None, gap_s=None)),
        row(3, None, state="interrupted", evidence=evidence(lost=5)),
    ]
    assert observed_table(record(*rows)).splitlines()[2:] == [
        "| `demo` | no acknowledged loss | lost none of 1,000 to 2,000 acknowledged | 4.5 s to 9.2 s | "
        "`isr.min <= 1`: 1 to 2, held in 1 of 3 runs | 2 of 2 | 50 s | 2 UNKNOWN, 1 PASS |"
    ]


def with_variants() -> SuiteRecord:
    """Three runs of a scenario as it is and with more set, and one of another that could not be read."""
    sets = ["workload.acks=1", "workload.rate=5000/s"]
    entries = [Entry(scenario="demo"), Entry(scenario="demo", set=sets), Entry(scenario="broken")]
    return record(
        row(0, "PASS", entry=1, evidence=evidence(lost=12, expect="permitted", acked=18_204)),
        row(1, "UNKNOWN", entry=1, evidence=evidence(lost=3, isr=2.0, expect="permitted")),
        row(2, "PASS", entry=0, evidence=evidence()),
        row(3, "UNKNOWN", entry=2, scenario="broken"),
        entries=entries,
    )


def test_a_scenario_with_something_set_has_a_row_of_its_own_which_says_so() -> None:
    broken, plain, varied = (line.split(" | ") for line in observed_table(with_variants()).splitlines()[2:])
    assert broken[0] == "| `broken`"
    assert (plain[0], plain[2]) == ("| `demo`", "lost none of 1,000 acknowledged")
    assert varied[0] == "| `demo`<br>with `workload.acks=1`<br>with `workload.rate=5000/s`"
    assert varied[2] == "lost 3 to 12 of 1,000 to 18,204 acknowledged"


def test_what_is_set_is_shown_without_secrets() -> None:
    secret = Entry(scenario="demo", set=["workload.client.sasl.password=hunter2"])
    its = record(
        row(0, "PASS", entry=0, evidence=evidence()), row(1, "PASS", entry=1), entries=[secret, secret]
    )
    table, text = observed_table(its), observed_text(its, 200)
    assert "`workload.client.sasl.password=…`" in table
    assert "with workload.client.sasl.password=…" in text
    assert "hunter2" not in table + text


def test_the_terminal_has_it_in_short_with_what_did_not_hold() -> None:
    assert observed_text(with_variants(), 80).splitlines() == [
        "scenario  expected              observed",
        "broken    not known             not known",
        "demo      no acknowledged loss  lost none of 1,000",
        "demo      a permitted loss      lost 3 to 12 of 1,000 to 18,204",
        "  with workload.acks=1",
        "  with workload.rate=5000/s",
        "  isr.min <= 1: 1 to 2, held in 1 of 2 runs",
    ]


def test_no_line_is_longer_than_the_terminal() -> None:
    assert max(map(len, observed_text(with_variants(), 42).splitlines())) <= 42
    assert observed_text(with_variants(), 300) == observed_text(with_variants(), 80)


def test_a_suite_without_a_judged_run_has_nothing_to_show() -> None:
    assert observed_text(record(row(0, None, state="interrupted")), 80) == ""


def test_the_table_is_written_beside_the_record_which_keeps_the_evidence(tmp_path: Path) -> None:
    its = record(row(0, "PASS", evidence=evidence()))
    write_record(tmp_path, its)
    write_observed(tmp_path, its)
    assert read_record(tmp_path) == its
    page = (tmp_path / "observed.md").read_text().splitlines()
    assert page[0] == "# small, seed 7: expected and observed"
    assert page[2:4] == HEAD
    assert page[4].startswith("| `demo` | no acknowledged loss | lost none of 1,000 acknowledged | ")


def run_that_took(index: int, wall_s: float, cluster_s: float, scenario: str = "demo") -> RunRow:
    parts = {"cluster_s": cluster_s, "settle_s": 6.0}
    seconds = RunSeconds(wall_s=wall_s, schedule_s=20.0, overhead_s=wall_s - 20.0, parts=parts)
    return row(index, "PASS", scenario=scenario, evidence=evidence()).model_copy(update={"seconds": seconds})


def test_what_a_run_took_is_without_the_start_of_its_cluster() -> None:
    """So that runs on a new cluster and on a kept one are compared."""
    its = record(run_that_took(0, 61.0, 20.5), run_that_took(1, 44.0, 0.2))
    assert "| 40 s to 44 s | 2 PASS |" in observed_table(its)


def test_what_a_suite_cost_is_said_with_its_longest_run() -> None:
    runs = [run_that_took(0, 81.0, 20.9, "roll"), run_that_took(1, 44.0, 0.2, "kill")]
    its = record(*runs, seconds=SuiteSeconds(total_s=2731.4, schedules_s=1544.0))
    assert cost(its) == (
        "The suite took 2,731 s, 1,544 s of it in schedules. "
        "The longest run, of `roll`, took 60 s after its cluster had started."
    )
    assert cost(record()) == "The suite took 0 s, 0 s of it in schedules."
