"""The matrix as text and as JSON: of each cell its promise, what was observed, and where the two differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.campaign.accept.matrix.matrix import (
    SEARCHED,
    CellRow,
    MatrixRecord,
    Observed,
    observed_status,
    unnamed,
    unseen,
)
from harness.campaign.accept.page import lost_by, searched
from harness.campaign.accept.record import against_promise, in_words, search_status
from harness.campaign.suites.files.record import RunEvidence, RunRow
from harness.terminal.columns import columns

Judged = Mapping[int, RunRow]
AWAY = "one-away"
"""The schedule that shows whether writes go on."""


def table(record: MatrixRecord, judged: Judged | None = None) -> str:
    """A paragraph for each cell: its promise, of each schedule what must be shown and, if there were runs,
    what was observed, and in words where that is less or more than was promised.
    """
    lines = [f"Kafka {record.release}"]
    for row in record.cells:
        lines += ["", f"{row.name}: {row.promise}"]
        lines += [f"  {line}" for line in columns(list(_rows(row, judged)))]
        lines += [f"  {note}" for note in (_against(row) if judged is None else notes(row, judged))]
    return "\n".join(lines)


def in_markdown(record: MatrixRecord, judged: Judged) -> str:
    """The same of a matrix whose runs are judged, as a table; without their directories."""
    lines = ["| cell | schedule | must show | observed | by the run |", "|---|---|---|---|---|"]
    for row in record.cells:
        cell = f"**`{row.name}`**<br>{row.promise}"
        for schedule, status, observed, shows, _ in list(_rows(row, judged))[1:]:
            lines.append(f"| {cell} | {schedule} | {shows} | {observed} | {status} |")
            cell = ""
        lines += [f"| | *note* | {note} | | |" for note in notes(row, judged)]
    return "\n".join(lines)


def _rows(row: CellRow, judged: Judged | None) -> Iterator[Sequence[str]]:
    if judged is not None:
        yield "schedule", "by the run", "observed", "must show", "run"
    for each in row.observed:
        if judged is None:
            yield each.column, each.shows
        else:
            run = judged.get(each.entry)
            status, where = in_words(observed_status(each, judged), run), run.directory if run else ""
            yield each.column, status, _seen(_evidence(each, judged)), each.shows, where
    if row.search is not None and not row.search.found:
        status = search_status(row.search, judged or {})
        yield (
            (SEARCHED, searched(row.search))
            if judged is None
            else (SEARCHED, status, "", "", searched(row.search))
        )


def _evidence(each: Observed, judged: Judged) -> RunEvidence | None:
    run = judged.get(each.entry)
    return None if run is None else run.evidence


def _seen(evidence: RunEvidence | None) -> str:
    """ "lost 3,012 of 18,400, longest wait 6.1 s"."""
    if evidence is None:
        return "not known"
    lost = f"{evidence.lost:,}" if evidence.lost else "none"
    gap = evidence.longest_gap_s
    waited = "longest wait not known" if gap is None else f"longest wait {gap:.1f} s"
    return f"lost {lost} of {evidence.acked:,}, {waited}"


def notes(row: CellRow, judged: Judged) -> Iterator[str]:
    """Where observed is less than promised, or more, and what nothing here is about."""
    known = {each.column: _evidence(each, judged) for each in row.observed}
    yield from _against(row)
    yield from _broken(known)
    yield from _availability(row, known)
    yield from _beaten(row, known)
    yield from _unseen(row, known)


def _against(row: CellRow) -> Iterator[str]:
    if causes := unnamed(row):
        yield f"against the promise: {against_promise(causes)}"


def _unseen(row: CellRow, known: Mapping[str, RunEvidence | None]) -> Iterator[str]:
    evidence = [(each.kinds, its.causes) for each in row.observed if (its := known[each.column]) is not None]
    if names := unseen(row.causes, evidence):
        yield f"no schedule here has lost anything by {', '.join(names)}: highwater accept has runs of them"


def _broken(known: Mapping[str, RunEvidence | None]) -> Iterator[str]:
    for column, evidence in known.items():
        if evidence is not None and evidence.forbidden:
            yield f"less than promised: {column} lost {evidence.forbidden:,} records that nothing permits"


def _availability(row: CellRow, known: Mapping[str, RunEvidence | None]) -> Iterator[str]:
    """Writes went on or stopped where the promise says otherwise."""
    evidence = known.get(AWAY)
    if evidence is None:
        return
    lines = [*evidence.accept, *evidence.require]
    if not lines:
        yield "not decided: whether writes go on with one away depends on timing, on the simulated Kafka too"
    if not lines or lines[0].holds is None:
        return
    went_on = lines[0].holds is lines[0].line.startswith("unavailable.max <=")
    if went_on and row.spare < 1:
        yield "more than promised: writes went on with one away"
    elif not went_on and row.spare > 0:
        yield "less than promised: writes stopped with one away"


def _beaten(row: CellRow, known: Mapping[str, RunEvidence | None]) -> Iterator[str]:
    if row.may_lose and all(evidence is not None and not evidence.lost for evidence in known.values()):
        yield "more than promised: no schedule has lost anything"


def as_json(record: MatrixRecord, judged: Judged) -> dict[str, Any]:
    """matrix.json with the status and the evidence of each run, and the notes of each cell."""
    document = record.model_dump(mode="json")
    for row, cell in zip(document["cells"], record.cells, strict=True):
        row["notes"] = [*notes(cell, judged)]
        for each, shown in zip(row["observed"], cell.observed, strict=True):
            run = judged.get(shown.entry)
            evidence = None if run is None else run.evidence
            each["status"] = observed_status(shown, judged)
            each["lost_by"] = lost_by(run)
            each["directory"] = None if run is None else run.directory
            each["acked"] = None if evidence is None else evidence.acked
            each["lost"] = None if evidence is None else evidence.lost
            each["longest_gap_s"] = None if evidence is None else evidence.longest_gap_s
    return document
