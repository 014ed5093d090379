"""The kill table for a terminal of 80 columns, and for programs."""

import textwrap
from collections.abc import Sequence
from typing import Any

from checkers.properties import Property
from harness.report.report import Report
from harness.selftest.judge_mutant import Result

WIDTH = 80
NAME, VERDICT = 30, 9
"""Columns of a row: two spaces and the name, then the verdict, then what found it."""
_PROPERTIES = frozenset(each.value for each in Property)


def heading(report: Report, mutants: int) -> str:
    """What is judged, and what counts."""
    text = (
        f"{report.run_dir.resolve().name} is {report.verdict_in_words}. {mutants} mutants, each a copy of it "
        "with one damage; one is killed if its verdict has a reason that the run's own does not have."
    )
    return textwrap.fill(text, WIDTH)


def row(result: Result) -> str:
    """One mutant in one line."""
    found = result.lack or result.crash or ", ".join(found_by(result)) or result.mutant.about
    line = f"  {result.mutant.name:<{NAME}}{_status(result):<{VERDICT}}{found}"
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def found_by(result: Result) -> list[str]:
    """What noticed it: properties by their id, anything else in its own words."""
    names = [
        word if word in _PROPERTIES else reason.sentence
        for reason in result.reasons
        for word in reason.sentence.split(" ", 1)[:1]
    ]
    return list(dict.fromkeys(names))


def _status(result: Result) -> str:
    if not result.applied:
        return "–"
    if result.survived:
        return "CRASHED" if result.crash else "SURVIVED"
    return str(result.verdict)


def summary(results: Sequence[Result], took_s: float) -> str:
    """Counts, and each survivor with what was done."""
    applied = [result for result in results if result.applied]
    survivors = [result for result in applied if result.survived]
    lines = [_counts(results, applied, survivors, took_s)]
    for each in survivors:
        told = f"{each.mutant.name}: {each.crash or each.mutant.about}"
        lines.append(textwrap.fill(told, WIDTH, initial_indent="  - ", subsequent_indent="    "))
    return "\n".join(lines)


def _counts(
    results: Sequence[Result], applied: Sequence[Result], survivors: Sequence[Result], took_s: float
) -> str:
    away = len(results) - len(applied)
    rest = f", {away} do not apply to this run" if away else ""
    survived = f"{len(survivors)} survived: the verdict is wrong on" if survivors else "0 survived"
    killed = f"{len(applied) - len(survivors)} of {len(applied)} mutants killed{rest}, in {took_s:.0f} s; "
    return textwrap.fill(killed + survived + ("" if not survivors else " these"), WIDTH)


def as_json(report: Report, results: Sequence[Result]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "run": str(report.run_dir),
        "verdict": report.verdict.value,
        "survivors": [each.mutant.name for each in results if each.survived],
        "mutants": [
            {
                "name": each.mutant.name,
                "family": each.mutant.family,
                "about": each.mutant.about,
                "status": _status(each) if each.applied else "not applicable",
                "killed": each.killed,
                "reasons": [
                    {"verdict": reason.verdict.value, "sentence": reason.sentence} for reason in each.reasons
                ],
                "lack": each.lack,
                "crash": each.crash,
            }
            for each in results
        ],
    }
