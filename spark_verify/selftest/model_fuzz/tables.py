"""What came out of many runs, as tables of Markdown: docs/model.md has those of the last full fuzz."""

from collections import Counter
from collections.abc import Iterable, Sequence

from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.many_runs import Bugs, Tally

_PAGE = """# The verdict against the truth

Written by `python -m spark_verify.selftest.model_fuzz --tables docs/model.md`; the same seed gives the same
tables. [trust.md](trust.md) says what they are good for. A run is a simulated Kafka (`checkers/model`) under
random settings and faults, wrong clocks, planned moves and settings that change among them, judged as
`highwater check` judges a real one. *Manifested*: the planted bug changed the outcome of the run; of those
runs none may be PASS, but one of which a correct Kafka has the same history: no verdict can tell the two
apart, and it is listed below the table.

## A correct Kafka

{correct}

## A correct Kafka whose brokers are hit again

The same under crowded schedules: four to eight faults, so near to each other that a broker is hit again
before it is in sync. A loss may have another explanation there than the true one; it may not be ruled
otherwise.

{crowded}

## Planted bugs

{broken}
"""


def page(correct: str, crowded: str, broken: str) -> str:
    """All tables as docs/model.md."""
    return _PAGE.format(correct=correct, crowded=crowded, broken=broken)


def correct_table(tally: Tally, seed: int) -> str:
    """Runs of a correct Kafka: verdicts, what was lost and why, why not decided."""
    lines = [
        f"A correct Kafka, seed {seed}: {tally.runs} runs, {tally.faulty} of them with faults, "
        f"{tally.acked} acknowledged records.",
        "",
        "| verdict | runs | % |",
        "|---|---|---|",
        *(_share(verdict.value, tally.verdicts[verdict], tally.runs) for verdict in Verdict),
        _share("disagree with the truth", tally.kinds.total(), tally.runs),
        "",
        "| lost as permitted | records |",
        "|---|---|",
        *(f"| {cause} | {records} |" for cause, records in _most_first(tally.lost)),
        "",
        "| why UNKNOWN | runs |",
        "|---|---|",
        *(f"| {reason} | {runs} |" for reason, runs in _most_first(tally.unknown)),
        "",
        *(f"- {runs} runs disagree: {kind}" for kind, runs in _most_first(tally.kinds)),
    ]
    return "\n".join(lines)


def broken_table(broken: Iterable[tuple[Bugs, Tally]], wanted: int, seed: int) -> str:
    """For each planted bug: in how many runs it showed, and the verdicts on those."""
    rows = list(broken)
    lines = [
        f"Planted bugs, seed {seed}: runs until {wanted} have shown the bug.",
        "",
        "| bug | runs | manifested | FAIL | UNKNOWN | PASS | mostly found by |",
        "|---|---|---|---|---|---|---|",
        *(_row(bugs, tally) for bugs, tally in rows),
        *([""] if any(tally.traceless for _, tally in rows) else []),
        *(_without_trace(bugs, seed) for bugs, tally in rows for seed in tally.traceless),
    ]
    return "\n".join(lines)


def names_of(bugs: Bugs) -> str:
    """The names of bugs that are planted together."""
    return " + ".join(sorted(bug.name for bug in bugs))


def _row(bugs: Bugs, tally: Tally) -> str:
    counts = [tally.runs, tally.manifested, *(tally.verdicts[each] for each in _COLUMNS)]
    by = ", ".join(name for name, _ in _most_first(tally.failed_for)[:2])
    return f"| {names_of(bugs)} | {' | '.join(map(str, counts))} | {by} |"


def _without_trace(bugs: Bugs, seed: int) -> str:
    return f"- {names_of(bugs)}, seed {seed}: PASS without a trace, a correct Kafka has the same history"


_COLUMNS: Sequence[Verdict] = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.PASS)


def _share(name: str, count: int, of: int) -> str:
    return f"| {name} | {count} | {100 * count / max(1, of):.2f} |"


def _most_first(counted: Counter[str]) -> list[tuple[str, int]]:
    """What was counted, of equal counts by name, so that the same runs give the same page."""
    return sorted(counted.items(), key=lambda each: (-each[1], each[0]))
