"""The part of docs/faults.md that follows from the records of the kinds, and from the defaults of a storm.

    python -m faults.documentation        rewrites it, between its markers

A test compares it with the file, so a record and its documentation cannot differ.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from checkers import documentation
from faults.durations import write_duration
from faults.kinds.fault.kind import Cost, FaultKind, StormRule
from faults.kinds.registry import KINDS
from faults.plan.storm import STRENGTHS, Strength

PAGE = Path(__file__).parents[1] / "docs" / "faults.md"

_EVIDENCE = (
    "`do:`",
    "what is done",
    "evidence of the effect",
    "healing",
    "evidence of the recovery (within 60 s, counted from when no fault is in force)",
)
_TERMS = ("`do:`", "takes", "shortest `for`", "in a storm", "costs", "begins, ends within")
_STORMS = ("`intensity`", "faults in a round", "`hold`", "`gap`")


def storm_table() -> str:
    """What a storm draws from, by its intensity."""
    rows = [(f"`{name}`", *_strength(strength)) for name, strength in STRENGTHS.items()]
    return "\n".join(_table(_STORMS, rows))


def _strength(strength: Strength) -> Iterator[str]:
    fewest, most = strength.faults
    yield f"{fewest} to {most}"
    for each in (strength.holds, strength.gaps):
        yield f"{write_duration(each.low_s)} to {write_duration(each.high_s)}"


def kinds_table() -> str:
    """Both tables as Markdown: what a kind does and how it is proven, and on which terms it is used."""
    evidence = [
        (f"`{kind.name}`", kind.does, kind.effect, kind.healing, kind.recovery) for kind in KINDS.values()
    ]
    terms = [tuple(_terms(kind)) for kind in KINDS.values()]
    return "\n".join((*_table(_EVIDENCE, evidence), "", *_table(_TERMS, terms)))


def _terms(kind: FaultKind[Any]) -> Iterator[str]:
    yield f"`{kind.name}`"
    yield ", ".join(f"`{key}`" for key in kind.step.keys)
    yield write_duration(kind.shortest_hold_s)
    yield _in_storms(kind.storm)
    yield kind.costs or ", ".join(_costs(kind.cost)) or "nothing"
    yield kind.takes.in_words


def _in_storms(rule: StormRule | None) -> str:
    if rule is None:
        return "no"
    return f"weight {rule.weight}" + ("" if rule.by_default else ", if it is named")


def _costs(cost: Cost) -> Iterator[str]:
    if cost.ends_process:
        yield "an unclean shutdown" if cost.unclean else "a controlled shutdown"
    if cost.loses_unsynced_data:
        yield "unsynced data"
    if cost.loses_all_data:
        yield "all data"
    if cost.may_end_node:
        yield "an end by itself, an unclean shutdown"
    if cost.spoils_cluster:
        yield "the cluster: no other run of a suite gets it"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (heads, ["---"] * len(heads), *rows):
        yield "| " + " | ".join(cells) + " |"


def rewritten(page: str) -> str:
    """The page with what is between its markers generated anew; ValueError if it has no markers."""
    return documentation.rewritten(
        page, "kinds", f"{kinds_table()}\n\n{storm_table()}", module="faults.documentation"
    )


def main() -> int:
    """Rewrite docs/faults.md."""
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
