"""An acceptance from the configuration to the answer, in call order: promise, traps, search, proof.

    promised(asked)         the clauses and the traps, by the contract alone
    searched(setup, …)      the shortest schedules that lose or block something, on the simulated Kafka
    planned(…)              a suite of the runs that show each clause and each schedule
    exit_code(…)            once the suite has been run

The runs are those of a suite, so they share clusters, can be interrupted, and are resumed from the directory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from checkers.promises import Clause, Trap, clauses, traps
from checkers.promises.configuration import Configuration
from checkers.promises.search import Goal, SearchResult
from checkers.verdict.algebra import Verdict, worst
from harness.campaign.accept.configuration.configuration_file import AcceptFile
from harness.campaign.accept.proofs import Proof, no_run_of, proofs, that_can_run
from harness.campaign.accept.record import (
    AcceptRecord,
    ClauseRow,
    Status,
    TrapRow,
    search_status,
    status_of,
    with_runs,
    write_accept,
)
from harness.campaign.accept.scenarios import Assumed, Reading, Setup, setup
from harness.campaign.accept.search.searches import OnResult, scenario_of, search_row, searched_for
from harness.campaign.suites.directory import Suite
from harness.campaign.suites.files.record import SuiteRecord
from harness.campaign.suites.made import judged_entries, suite_of
from harness.scenario.model import Scenario
from harness.scenario.resolve import refusal_of

GOALS: tuple[Goal, ...] = ("loss", "unavailability")


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A configuration with its promise; `searches` are those that were made."""

    setup: Setup
    clauses: tuple[Clause, ...]
    searches: tuple[SearchResult, ...] = ()

    @property
    def required_missing(self) -> tuple[str, ...]:
        """Clauses that the file requires, and the configuration does not have."""
        given = {clause.id for clause in self.clauses}
        return tuple(name for name in self.setup.asked.require if name not in given)


def promised(
    asked: AcceptFile, configuration: Configuration | None = None, reading: Reading | None = None
) -> Acceptance:
    """The promise, from the contract alone."""
    its = setup(asked, configuration, reading)
    return Acceptance(setup=its, clauses=clauses(its.configuration))


def searched(acceptance: Acceptance, *, time_limit_s: float, on_result: OnResult) -> Acceptance:
    """With a search for each goal, of at most `time_limit_s` seconds."""
    its, found = acceptance.setup, []
    for goal in GOALS:
        found.append(searched_for(its, goal, time_limit_s=time_limit_s))
        on_result(found[-1])
    return Acceptance(setup=its, clauses=acceptance.clauses, searches=tuple(found))


def planned(acceptance: Acceptance, *, out: Path, seed: int | None, budget_s: float) -> Suite:
    """A directory with the suite of the runs, their scenario files and accept.json. What no run can show is
    left out of the suite, and the record says why. There must be a run: see `no_run`.
    """
    shown = _proofs(acceptance)
    found = [_counterexample(acceptance.setup, one) for one in acceptance.searches]
    scenarios = [one.scenario for one in shown if one.scenario is not None]
    scenarios += [one for one in found if isinstance(one, Scenario)]
    suite = suite_of(
        f"accept-{acceptance.setup.asked.name}", scenarios, out=out, seed=seed, budget_s=budget_s
    )
    write_accept(suite.path, record_of(acceptance, shown, found))
    return suite


def no_run(acceptance: Acceptance) -> str:
    """Why no run can show anything of the configuration; "" if one can show some of it."""
    shown = _proofs(acceptance)
    if any(one.scenario is not None for one in shown):
        return ""
    return acceptance.setup.no_run or shown[0].why_not


def unproven(acceptance: Acceptance) -> AcceptRecord:
    """What is kept where no run is made, with the reasons if none can be."""
    return record_of(acceptance, _proofs(acceptance) if no_run(acceptance) else ())


def _proofs(acceptance: Acceptance) -> tuple[Proof, ...]:
    return that_can_run(proofs(acceptance.setup, acceptance.clauses))


def _counterexample(its: Setup, result: SearchResult) -> Scenario | str:
    """The scenario of what a search has found; or why there is none, "" if nothing was found."""
    scenario = scenario_of(its, result)
    refusal = "" if scenario is None else refusal_of(scenario)
    return no_run_of(refusal) if refusal else scenario or ""


def record_of(
    acceptance: Acceptance, shown: Sequence[Proof] = (), found: Sequence[Scenario | str] = ()
) -> AcceptRecord:
    """What is kept: the scenarios of `shown` stand in the suite in their order, then those of the
    searches. `found`: of each search its scenario, or why there is none.
    """
    its = acceptance.setup
    places = _places([isinstance(one, Scenario) for one in (*(proof.scenario for proof in shown), *found)])
    of_clause = {one.clause: (one, place) for one, place in zip(shown, places, strict=False)}
    of_search = [*zip(found, places[len(shown) :], strict=True)]
    return AcceptRecord(
        tool_version=version("highwater"),
        name=its.asked.name,
        settings=settings_line(its),
        clauses=tuple(
            _clause_row(clause, *of_clause.get(clause.id, (None, None))) for clause in acceptance.clauses
        ),
        traps=tuple(
            TrapRow(
                id=trap.id,
                sentence=trap.sentence,
                change=trap.to_change,
                settings={".".join(place): value for place, value in trap.change.items()},
                clause=_shown_by(trap, acceptance),
            )
            for trap in traps(its.configuration)
        ),
        required_missing=acceptance.required_missing,
        left_out=its.left_out,
        remarks=its.reading.remarks,
        searches=tuple(
            search_row(its, result, *(of_search[place] if of_search else ("", None)))
            for place, result in enumerate(acceptance.searches)
        ),
    )


def _shown_by(trap: Trap, acceptance: Acceptance) -> str:
    """The clause of the promise whose run shows what a trap does; "" if there is none."""
    given = {clause.id for clause in acceptance.clauses}
    return next((name for name in trap.shown_by if name in given), "")


def _places(there: Sequence[bool]) -> list[int | None]:
    """For each scenario its place among those that there are."""
    return [sum(there[:place]) if is_there else None for place, is_there in enumerate(there)]


def _clause_row(clause: Clause, proof: Proof | None, entry: int | None) -> ClauseRow:
    return ClauseRow(
        id=clause.id,
        kind=clause.kind,
        sentence=clause.sentence,
        shows=proof.shows if proof else "",
        causes=clause.causes,
        why_not=proof.why_not if proof else "",
        entry=entry,
    )


def settings_line(its: Setup) -> str:
    """ "Kafka 4.3.1, 3 replicas, min.insync.replicas 2, acks=all (assumed), idempotent (assumed), ELR on"."""
    topic, producer = its.configuration.topic, its.configuration.producer

    def said(what: Assumed, words: str) -> str:
        return f"{words} (assumed)" if what in its.reading.assumed else words

    release, unasked = its.asked.cluster.kafka, "controllers" in its.reading.assumed
    if "patch" in its.reading.assumed:
        release = ".".join(map(str, its.asked.release))
    words = [
        said("release", f"Kafka {release}"),
        f"{topic.replication} replica{'s' * (topic.replication > 1)}",
        f"min.insync.replicas {topic.min_isr}",
        said("producer", f"acks={producer.acks}"),
        said("producer", "idempotent" if producer.idempotence else "not idempotent"),
        said("unclean", _unclean_in_words(its.configuration)),
        *([said("controllers", _controllers_in_words(its.configuration))] if unasked else []),
        said("elr", f"ELR {'on' if its.configuration.cluster.elr else 'off'}"),
    ]
    return ", ".join(
        [*words, *(["flushed before each acknowledgement"] if its.configuration.flushed else [])]
    )


def _unclean_in_words(its: Configuration) -> str:
    if not its.topic.unclean:
        return "unclean election off"
    return f"unclean election on{'' if its.reads_unclean else ' (not read before Kafka 3.9)'}"


def _controllers_in_words(its: Configuration) -> str:
    number = its.cluster.controllers
    return f"{number} controller{'s' * (number > 1)} beside the brokers"


def exit_code(record: AcceptRecord, suite: SuiteRecord | None) -> int:
    """That of the signal or of the worst run; FAIL if the promise lacks what is required of it, or the model
    loses by what it does not name, and UNKNOWN if a run that has passed does not show its clause, or a
    search was cut short.
    """
    against = record.required_missing or any(row.unnamed for row in record.searches)
    found = [Verdict.FAIL] if against else []
    if suite is None:
        return worst(found).exit_code
    cut_short = any(row.cut_short for row in record.searches)
    found += [Verdict.UNKNOWN] if cut_short or "not shown" in _statuses(record, suite) else []
    return with_runs(suite, found)


def _statuses(record: AcceptRecord, suite: SuiteRecord) -> Iterator[Status]:
    judged = judged_entries(suite)
    yield from (status_of(clause.entry, judged, clause.causes) for clause in record.clauses)
    yield from (search_status(row, judged) for row in record.searches)
