"""The parts of docs/scenarios.md that follow from the metrics, from the shipped scenarios and their
situations, and from a suite; and docs/matrix.md, from a matrix.

    python -m harness.campaign.documentation                rewrites all but the last, between their markers
    python -m harness.campaign.documentation DIR…           also what the suites there have observed
    python -m harness.campaign.documentation MATRIX         what the matrix there has

A test compares all but the last with the file. What was observed is as of the suite that it names.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from checkers import documentation
from checkers.verdict.metrics.metric import ERRORS, METRICS, Metric
from harness.campaign.accept.matrix.matrix import MatrixRecord, is_matrix, read_matrix
from harness.campaign.accept.matrix.matrix_page import in_markdown
from harness.campaign.suites.files.observed import EXPECTED, cost, observed_table
from harness.campaign.suites.files.record import SuiteRecord, read_record
from harness.campaign.suites.made import judged_entries
from harness.scenario.catalogue import Entry, by_group, catalogue
from harness.scenario.situations import SITUATIONS

DOCS = Path(__file__).parents[2] / "docs"
PAGE, MATRIX_PAGE = DOCS / "scenarios.md", DOCS / "matrix.md"
MODULE = "harness.campaign.documentation"


def metrics_table() -> str:
    """Each metric with what it counts, and the lines that may bound it."""
    rows = [*(_metric(metric) for metric in METRICS.values()), _errors()]
    return "\n".join(["| metric | is | in |", "|---|---|---|", *rows])


def _metric(metric: Metric) -> str:
    lines = "`accept`, `require`" if metric.of_clients else "`require`"
    unit = ", a duration" if metric.unit == "duration" else ""
    return f"| `{metric.name}` | {metric.says}{unit} | {lines} |"


def _errors() -> str:
    name = f"{ERRORS}NAME"
    return f"| `{name}` | sends that ended with this error, as `{ERRORS}NOT_ENOUGH_REPLICAS` | `require` |"


def catalogue_tables() -> str:
    """A table of the shipped scenarios for each group, and a paragraph for each: why, and what to change."""
    return "\n\n".join("\n".join(_group(group, its)) for group, its in by_group(catalogue()))


def _group(group: str, entries: Sequence[Entry]) -> Iterator[str]:
    yield f"| {group} | what happens | expected | evidence that the run must hold |"
    yield "|---|---|---|---|"
    for entry in entries:
        required = [f"`{line}`" for line in entry.require]
        accepted = [f"accepted: `{line}`" for line in entry.accept]
        evidence = "<br>".join([*required, *accepted]) or "that of its faults"
        yield f"| `{entry.name}` | {entry.about} | {EXPECTED[entry.expect]} | {evidence} |"
    for entry in entries:
        yield f"\n**`{entry.name}`** {entry.shows}"


def situations_table() -> str:
    """The situations by number, with the scenarios that show each."""
    rows = [
        f"| {its.number} | {its.what} | {', '.join(f'`{name}`' for name in its.scenarios)} |"
        for its in SITUATIONS
    ]
    return "\n".join(["| | situation | scenarios |", "|---|---|---|", *rows])


def milder_table() -> str:
    """Where a scenario is a milder form of its situation, and why."""
    rows = [
        f"| {its.number} | {each.textbook} | {each.shipped} | {each.why} |"
        for its in SITUATIONS
        for each in its.milder
    ]
    return "\n".join(["| | in the textbook | as it is shipped | because |", "|---|---|---|---|", *rows])


def observed(first: SuiteRecord, *more: SuiteRecord) -> str:
    """What suites have observed, and which they were. Of the first one also what it took."""
    by = f"`highwater suite {first.name} --seed {first.seed}`"
    seeds = ", ".join(str(each.seed) for each in more)
    which = (
        f"a suite of some of them, seed {seeds}"
        if len(more) == 1
        else f"suites of some of them, seeds {seeds}"
    )
    repeats = f", and by {which}" if more else ""
    versions = dict.fromkeys(each.tool_version for each in (first, *more))
    heading = f"Observed by {by}{repeats}, version {' and '.join(versions)}"
    return f"{heading}:\n\n{observed_table(first, *more)}\n\n{cost(first)}"


def rewritten(page: str) -> str:
    """The page with the parts that need no run generated anew; ValueError if it lacks their markers."""
    page = documentation.rewritten(page, "metrics", metrics_table(), module=MODULE)
    page = documentation.rewritten(page, "situations", situations_table(), module=MODULE)
    page = documentation.rewritten(page, "milder", milder_table(), module=MODULE)
    return documentation.rewritten(page, "catalogue", catalogue_tables(), module=MODULE)


def matrix_observed(record: MatrixRecord, suite: SuiteRecord) -> str:
    """What a matrix has observed, which it was, and what it took."""
    by = (
        f"`highwater accept matrix --seed {suite.seed}`, Kafka {record.release}, version {suite.tool_version}"
    )
    return f"Observed by {by}:\n\n{in_markdown(record, judged_entries(suite))}\n\n{cost(suite)}"


def main(arguments: Sequence[str]) -> int:
    """Rewrite docs/scenarios.md, or docs/matrix.md."""
    if arguments and is_matrix(Path(arguments[0])):
        directory = Path(arguments[0])
        block = matrix_observed(read_matrix(directory), read_record(directory))
        page = MATRIX_PAGE.read_text(encoding="utf-8")
        page = documentation.rewritten(page, "matrix", block, module=f"{MODULE} MATRIX")
        MATRIX_PAGE.write_text(page, encoding="utf-8")
        return 0
    page = rewritten(PAGE.read_text(encoding="utf-8"))
    if arguments:
        records = [read_record(Path(directory)) for directory in arguments]
        page = documentation.rewritten(page, "observed", observed(*records), module=f"{MODULE} DIR")
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
