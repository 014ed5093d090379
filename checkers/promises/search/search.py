"""The shortest schedule of faults that loses what was acknowledged, or that stops writes: tried one after
another.

Invariant: equal configurations give equal answers, unless the time limit cuts the search short; then the
result says so.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from checkers.model.case import BROKERS
from checkers.promises.configuration import Configuration
from checkers.promises.search.schedules import MOST_FAULTS, Kind, schedules
from checkers.promises.search.side_by_side import trials
from checkers.promises.search.trial import FAST, Found, Goal, Times, Trial

MOST_RUNS = 20_000
"""There are 12,172 schedules of up to four faults, and each was tried 1.2 times on the average."""
TIME_LIMIT_S = 300.0
"""All of them take about 8 minutes of a processor, by a sample of those of three and of four faults."""
FEW_FAULTS = 2
"""Schedules of so few faults are tried sooner than processes have started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """How a search went. `kinds` of faults were tried, and `whole_until`: all schedules of so many of them,
    of which none reaches the goal; `why_ended` says why it tried no more, "" if it found one or has tried
    all.
    """

    goal: Goal
    found: Found | None
    kinds: tuple[Kind, ...]
    whole_until: int
    runs: int
    took_s: float
    why_ended: str = ""


def search(
    configuration: Configuration,
    goal: Goal,
    times: Times = FAST,
    *,
    kinds: Sequence[Kind] = tuple(Kind),
    most_faults: int = MOST_FAULTS,
    most_runs: int = MOST_RUNS,
    time_limit_s: float = TIME_LIMIT_S,
    processes: int | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Try schedules of one fault, then of two, up to `most_faults`; the first that reaches the goal is the
    answer.

    Long searches go on in so many `processes` (None: one for each processor; 0: in this one); the answer is
    the same. `configuration` has at most three replicas: the model has three brokers. ValueError for more.
    """
    if configuration.topic.replication > len(BROKERS):
        raise ValueError(f"{configuration.topic.replication} replicas do not fit on {len(BROKERS)} brokers")
    began, runs = clock(), 0

    def ended(found: Found | None, whole_until: int, why: str = "") -> SearchResult:
        return SearchResult(
            goal=goal,
            found=found,
            kinds=tuple(kinds),
            whole_until=whole_until,
            runs=runs,
            took_s=clock() - began,
            why_ended=why,
        )

    trial = Trial(configuration=configuration, goal=goal, times=times)
    beside = len(os.sched_getaffinity(0)) if processes is None else processes
    for length in range(1, most_faults + 1):
        tried = schedules(length, times.fail_over_s, kinds)
        with trials(trial, tried, processes=beside if length > FEW_FAULTS else 0) as shown:
            for _ in schedules(length, times.fail_over_s, kinds):
                if runs >= most_runs:
                    return ended(None, length - 1, f"{most_runs} simulated runs were enough")
                if clock() - began >= time_limit_s:
                    return ended(None, length - 1, f"the time limit of {time_limit_s:g} s was over")
                found = next(shown)
                runs += len(found)
                reached = [each for each in found if each is not None]
                if len(reached) == len(found):
                    return ended(trial.with_every_cause(reached), length - 1)
    return ended(None, most_faults)
