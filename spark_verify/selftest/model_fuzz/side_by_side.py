"""A disagreement for people: the smallest case, truth and verdict side by side, and how to see it again."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from checkers.model import Case
from spark_verify.selftest.model_fuzz.compare import Disagreement
from spark_verify.selftest.model_fuzz.many_runs import Disagreeing

COMMAND = "python -m spark_verify.selftest.model_fuzz --replay"
_COLUMN = 56
_MOST = 8


def in_words(each: Disagreeing) -> str:
    """All lines of one."""
    bugs = ", ".join(sorted(bug.name for bug in each.case.bugs)) or "none"
    lines = [
        f"seed {each.drawn.seed}, bugs: {bugs}; "
        f"{len(each.case.schedule)} of {len(each.drawn.schedule)} faults are left",
        *(f"  {action}" for action in each.case.schedule),
        *(f"  {line}" for line in _settings(each.case)),
        *side_by_side(each.found),
        f"again: {COMMAND} {shlex.quote(each.case.to_json())}",
    ]
    return "\n".join(lines)


def side_by_side(found: Sequence[Disagreement]) -> Iterator[str]:
    """Truth on the left, verdict on the right."""
    for each in found[:_MOST]:
        yield f"{each.kind}: {each.what}"
        left, right = wrap(f"truth: {each.truth}", _COLUMN), wrap(f"verdict: {each.verdict}", _COLUMN)
        for one, other in zip_longest(left, right, fillvalue=""):
            yield f"  {one:<{_COLUMN}} | {other}".rstrip()
    if len(found) > _MOST:
        yield f"… and {len(found) - _MOST} more"


def _settings(case: Case) -> list[str]:
    return wrap(str(case.settings), 2 * _COLUMN)
