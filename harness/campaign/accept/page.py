"""The answer as text: the promise, the traps, the counterexamples, and what the runs show of each."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.campaign.accept.record import (
    AcceptRecord,
    ClauseRow,
    SearchRow,
    Status,
    TrapRow,
    against_promise,
    in_words,
    run_of,
    search_status,
    status_of,
)
from harness.campaign.suites.files.record import RunRow
from harness.terminal.columns import columns

WORDS = {"loss": "lose what was acknowledged", "unavailability": "stop writes"}


def promise(record: AcceptRecord) -> str:
    """The promise and the traps, by the contract alone."""
    return "\n".join([*_heading(record), "", *_promise(record), "", *_traps(record)])


def _heading(record: AcceptRecord) -> list[str]:
    return [f"{record.name}: {record.settings}", *(f"  {remark}" for remark in record.remarks)]


def _promise(record: AcceptRecord) -> Iterator[str]:
    yield "It promises:"
    width = max((len(clause.kind) for clause in record.clauses), default=0)
    for clause in record.clauses:
        yield f"  {clause.kind:<{width}}  {clause.sentence}  [{clause.id}]"
    if record.required_missing:
        yield f"Required, and not promised: {', '.join(record.required_missing)}"


def _traps(record: AcceptRecord) -> Iterator[str]:
    if not record.traps:
        yield "It falls into no known trap."
        return
    yield "Traps it falls into:"
    for trap in record.traps:
        yield f"  {trap.sentence}  [{trap.id}]"
        yield f"    to change it: {trap.change}"


def searched(row: SearchRow) -> str:
    """One search, in a line."""
    tried = f"{row.runs} simulated runs in {row.took_s:g} s"
    if row.found:
        by = f" ({', '.join(row.causes)})" if row.causes else ""
        many = f"{row.faults} fault{'s' * (row.faults != 1)}"
        against = f"; {against_promise(row.unnamed)}" if row.unnamed else ""
        return f"the shortest way to {WORDS[row.goal]}, {many}: {row.found}{by}; {tried}{against}"
    if not row.kinds:
        return f"no way was searched to {WORDS[row.goal]}: {row.why_ended}"
    bound = (
        f"all schedules of {row.whole_until} fault{'s' * (row.whole_until > 1)} were tried"
        if row.whole_until
        else "nothing was tried whole"
    )
    ended = f"; {row.why_ended}" if row.why_ended else ""
    faults = f"a fault: a broker {', '.join(row.kinds[:-1])} or {row.kinds[-1]}"
    without = f"; not tried is what {' and '.join(row.untried)} names" if row.untried else ""
    return f"no way was found to {WORDS[row.goal]}: {bound}{ended}; {tried}; {faults}{without}"


def answer(record: AcceptRecord, judged: Mapping[int, RunRow]) -> str:
    """Each clause, each counterexample and each trap, with what its run shows. `judged`: runs by the place of
    their scenario.
    """
    rows = [_of_clause(clause, judged) for clause in record.clauses]
    rows += [_of_search(row, judged) for row in record.searches]
    rows += [
        (f"trap {trap.id}", trap_status(trap, record, judged), f"as {trap.clause}", "")
        for trap in record.traps
        if trap.clause
    ]
    lines = [
        *_heading(record),
        "",
        *columns([("", "by the run", "must show", "run"), *rows]),
    ]
    if record.required_missing:
        lines += ["", f"Required, and not promised: {', '.join(record.required_missing)}"]
    for row in record.searches:
        lines += ["", f"Against the promise: {against_promise(row.unnamed)}"] if row.unnamed else []
    if record.left_out:
        lines += ["", f"Left out of the runs: {', '.join(record.left_out)}"]
    return "\n".join(lines)


def as_json(record: AcceptRecord, judged: Mapping[int, RunRow]) -> dict[str, Any]:
    """accept.json with the status and the run directory of each clause and each counterexample."""
    document = record.model_dump(mode="json")
    for row in (*document["clauses"], *document["searches"]):
        run = run_of(row["entry"], judged)
        row["directory"] = run.directory if run else None
        row["lost_by"] = lost_by(run)
    for row, clause in zip(document["clauses"], record.clauses, strict=True):
        row["status"] = status_of(clause.entry, judged, clause.causes)
    for row, search in zip(document["searches"], record.searches, strict=True):
        row["status"] = search_status(search, judged)
    for row, trap in zip(document["traps"], record.traps, strict=True):
        row["status"] = trap_status(trap, record, judged)
    return document


def trap_status(trap: TrapRow, record: AcceptRecord, judged: Mapping[int, RunRow]) -> Status:
    """What the run of its clause shows of a trap."""
    clause = next((each for each in record.clauses if each.id == trap.clause), None)
    if clause is None:
        return "no run can show it"
    return status_of(clause.entry, judged, clause.causes)


def lost_by(run: RunRow | None) -> list[str] | None:
    """The causes of what a run has lost; None if that is not known."""
    return None if run is None or run.evidence is None else [*run.evidence.causes]


def _of_clause(clause: ClauseRow, judged: Mapping[int, RunRow]) -> tuple[str, ...]:
    row = run_of(clause.entry, judged)
    where = clause.why_not if clause.why_not else row.directory if row else ""
    status = in_words(status_of(clause.entry, judged, clause.causes), row)
    return f"{clause.kind} {clause.id}", status, clause.shows, where


def _of_search(row: SearchRow, judged: Mapping[int, RunRow]) -> tuple[str, ...]:
    name, status = f"shortest {row.goal}", search_status(row, judged)
    if not row.found:
        return name, status, "", searched(row)
    run = run_of(row.entry, judged)
    where = f"{run.directory}, as in {row.file}" if run else row.file or row.why_not
    return name, in_words(status, run), f"{row.goal} by: {row.found}", where
