"""How late faults began, and which begin or hold has to be named."""

from dataclasses import replace
from pathlib import Path

from fakes.run.whole_runs import ns

from checkers.history.rows import Fault
from checkers.verdict.algebra import Reason, Verdict
from harness.report.fault_times import fault_times, in_words
from harness.report.report import Report
from harness.terminal.summary import report_text


def fault(name: str, *, late_s: float = 0.0, held_s: float = 3.0, evidence: str = "{}") -> Fault:
    """A fault of 3 s that was planned for second 10."""
    begin = 10 + late_s
    return Fault(
        index=0,
        name=name,
        kind="kill",
        planned_begin_ns=ns(10),
        planned_end_ns=ns(13),
        inject_ns=ns(begin),
        begin_ns=ns(begin + 0.05),
        end_ns=ns(begin + 0.05 + held_s),
        evidence=evidence,
    )


def test_how_late_faults_began() -> None:
    """Of 200 of which three were late: median, the least that 99 of 100 do not exceed, and the most."""
    faults = [fault(f"kill-{number}", late_s=0.002) for number in range(197)]
    faults += [fault(f"late-{number}", late_s=late_s) for number, late_s in enumerate((0.03, 0.2, 0.4))]
    assert fault_times(faults).as_json() == {
        "faults": 200,
        "median_late_s": 0.002,
        "p99_late_s": 0.03,
        "most_late_s": 0.4,
        "notes": [],
    }


def test_a_begin_and_a_hold_that_differ_are_named() -> None:
    """By more than half a second, with the reason if the schedule has recorded one."""
    waited = '{"delayed": "leader: orders-0 has no leader", "late_s": 2.5}'
    faults = [
        fault("on-time", late_s=0.499, held_s=3.499),
        fault("late", late_s=2.5, evidence=waited),
        fault("late-too", late_s=0.51, evidence="not json"),
        fault("long", held_s=3.6),
        fault("short", held_s=1.25),
    ]
    assert fault_times(faults).notes == (
        "late began 2.50 s after its planned instant: leader: orders-0 has no leader",
        "late-too began 0.51 s after its planned instant",
        "long was held for 3.60 s instead of 3.00 s",
        "short was held for 1.25 s instead of 3.00 s",
    )


def test_what_was_not_injected_or_not_planned_is_not_counted() -> None:
    """An older history has no planned times."""
    older = replace(fault("older"), planned_begin_ns=-1, planned_end_ns=-1)
    skipped = replace(fault("skipped"), inject_ns=-1, begin_ns=-1, end_ns=-1)
    open_end = replace(fault("open"), end_ns=-1)
    assert fault_times([older, skipped]).as_json() == {
        "faults": 0,
        "median_late_s": None,
        "p99_late_s": None,
        "most_late_s": None,
        "notes": [],
    }
    assert fault_times([open_end]).notes == ()


def test_the_terminal_has_a_line_of_it_and_the_notes() -> None:
    """Of a run that passes, too; nothing of a run without faults."""
    times = fault_times([fault("kill-1", late_s=0.004), fault("kill-2", late_s=0.75)]).as_json()
    report = Report(
        run_dir=Path("runs/x"),
        verdict=Verdict.PASS,
        outcome="acks=all lost none of 9 acknowledged records",
        reasons=(Reason(Verdict.PASS, "all holds"),),
        document={"fault_times": times},
    )
    assert report_text(report).splitlines() == [
        "PASS  acks=all lost none of 9 acknowledged records",
        "  2 faults began 4 ms after the planned instant (median; p99 750, most 750 ms)",
        "  note: kill-2 began 0.75 s after its planned instant",
    ]
    assert in_words(fault_times([]).as_json()) == ""
    assert len(report_text(replace(report, document={})).splitlines()) == 1


def test_what_waited_for_another_to_recover_is_named_with_it() -> None:
    faults = [
        fault("soon", evidence='{"postponed": {"by_s": 0.4, "for": "kill-1"}}'),
        fault("later", evidence='{"postponed": {"by_s": 3.97, "for": "kill-1"}}'),
        fault("odd", evidence='{"postponed": 7}'),
    ]
    assert fault_times(faults).notes == ("later was postponed by 3.97 s: kill-1 had not recovered",)
