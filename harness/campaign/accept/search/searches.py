"""The searches of an acceptance and of a matrix: which are made, and what is kept of each."""

from collections.abc import Callable, Hashable, Iterator, Mapping

from checkers.model.case import BROKERS
from checkers.promises.clauses import clauses, may_be_lost_by
from checkers.promises.search import Goal, Kind, SearchResult, in_words, search, simulated_alike
from harness.campaign.accept.record import SearchRow
from harness.campaign.accept.scenarios import Setup
from harness.campaign.accept.search.counterexamples import counterexample
from harness.campaign.accept.search.kept_searches import KeptSearches
from harness.campaign.suites.made import SCENARIOS
from harness.scenario.model import Scenario

NAMED_FAULTS: Mapping[str, Kind | None] = {"disk-loss": Kind.DISK_LOSS, "retention-by-clock": None}
"""Clauses of a loss that takes a fault of one kind. No schedule has a clock: a single one that is ahead of
retention would be the shortest way to lose records, in whatever is not kept for ever."""

OnResult = Callable[[SearchResult], None]


def searched_for(its: Setup, goal: Goal, *, time_limit_s: float) -> SearchResult:
    """The search for one goal; what cannot be simulated is not searched, and the result says why."""
    replicas, why = its.configuration.topic.replication, ""
    if replicas > len(BROKERS):
        why = f"the model has {len(BROKERS)} brokers, and the topic {replicas} replicas"
    elif its.combined_when_searched:
        why = "the model's controllers are nodes of their own, and the run's are its brokers"
    if why:
        return SearchResult(goal=goal, found=None, kinds=(), whole_until=0, runs=0, took_s=0.0, why_ended=why)
    return search(its.configuration, goal, its.times, time_limit_s=time_limit_s)


class SharedSearches:
    """Searches for a loss, one for all configurations that the model cannot tell apart; each is written into
    `kept` as soon as it has ended, and taken from there if it is known.
    """

    def __init__(
        self,
        *,
        time_limit_s: float,
        on_result: Callable[[Setup, SearchResult], None],
        kept: KeptSearches | None = None,
    ) -> None:
        self._limit_s, self._on_result, self._kept = time_limit_s, on_result, kept
        self._known: dict[Hashable, SearchResult] = {}

    def __call__(self, its: Setup) -> SearchResult:
        """The search for this configuration; it is made if it is the first of its likes."""
        alike = simulated_alike(its.configuration, its.times), its.combined_when_searched
        if alike not in self._known:
            self._known[alike] = self._result(its, repr(alike))
            self._on_result(its, self._known[alike])
        return self._known[alike]

    def _result(self, its: Setup, alike: str) -> SearchResult:
        known = None if self._kept is None else self._kept.get(alike)
        if known is not None:
            return known
        result = searched_for(its, "loss", time_limit_s=self._limit_s)
        if self._kept is not None:
            self._kept.keep(alike, result)
        return result


def scenario_of(its: Setup, result: SearchResult) -> Scenario | None:
    """The scenario of what a search has found, if it has."""
    return None if result.found is None else counterexample(its, result.goal, result.found.schedule)


def search_row(
    its: Setup, result: SearchResult, scenario: Scenario | str = "", entry: int | None = None
) -> SearchRow:
    """A search as it is kept; `entry` is the place in a suite of the scenario of what was found. Where it has
    none, the reason may stand in the place of the scenario.
    """
    found = result.found
    causes = () if found is None else found.causes
    allowed = may_be_lost_by(its.configuration)
    return SearchRow(
        goal=result.goal,
        found="" if found is None else in_words(found.schedule),
        faults=0 if found is None else len(found.schedule),
        causes=causes,
        unnamed=tuple(cause for cause in causes if cause not in allowed),
        kinds=tuple(map(str, result.kinds)),
        untried=tuple(_untried(its, result)),
        whole_until=result.whole_until,
        runs=result.runs,
        took_s=round(result.took_s, 1),
        why_ended=result.why_ended,
        entry=entry,
        file="" if isinstance(scenario, str) or entry is None else f"{SCENARIOS}/{scenario.name}.yaml",
        why_not=scenario if isinstance(scenario, str) else "",
    )


def _untried(its: Setup, result: SearchResult) -> Iterator[str]:
    for clause in clauses(its.configuration) if result.goal == "loss" else ():
        if clause.id in NAMED_FAULTS and NAMED_FAULTS[clause.id] not in result.kinds:
            yield clause.id
