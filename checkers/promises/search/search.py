"""The shortest schedule of faults that loses what was acknowledged, or that stops writes: tried one after
another.

Invariant: equal configurations give equal answers, unless the time limit cuts the search short; then the
result says so. A schedule counts only if it does it under every seed that is tried, so that it is no matter
of luck.
Evidence: the truth of the simulated cluster, which knows no verdict.
Counterexample to "the first run that loses something":
    acks=1, the leader is killed: under one seed two records were not replicated yet, under the next none
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from checkers.model.case import BROKERS, NEVER_FLUSHED, Case, ModelSettings
from checkers.model.case import ProducerSettings as ModelProducer
from checkers.model.fate import truth_of
from checkers.model.simulate import Run, run_case
from checkers.promises.configuration import Configuration
from checkers.promises.search.schedules import (
    MOST_FAULTS,
    Schedule,
    actions,
    begins_s,
    schedules,
)

Goal = Literal["loss", "unavailability"]

SEEDS = (1, 2, 3)
MOST_RUNS = 12_000
TIME_LIMIT_S = 120.0
RECORDS_PER_S = 12.0
TAIL_S = 2.0
MORE_THAN_A_FAIL_OVER_S = 6.0
"""A write that waits so much longer than a fail-over takes was not waiting for one: a client that waits for a
deposed leader asks for the new one every 5 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What the brokers of a cluster go by."""

    session_s: float = 4.0
    lag_max_s: float = 3.0

    @property
    def fail_over_s(self) -> float:
        """After how long a broker that is gone is missed, by the controllers and by its leaders."""
        return max(self.session_s, 1.5 * self.lag_max_s)


FAST = Times()
"""The harness's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A schedule that reaches the goal. `causes` are those of lost records, `waited_s` the longest wait."""

    schedule: Schedule
    causes: tuple[str, ...] = ()
    waited_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """How a search went. `whole_until`: all schedules of so many faults were tried, and none reaches the
    goal; `why_ended` says why it tried no more, "" if it found one or has tried all."""

    goal: Goal
    found: Found | None
    whole_until: int
    runs: int
    took_s: float
    why_ended: str = ""


def search(
    configuration: Configuration,
    goal: Goal,
    times: Times = FAST,
    *,
    most_faults: int = MOST_FAULTS,
    most_runs: int = MOST_RUNS,
    time_limit_s: float = TIME_LIMIT_S,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Try schedules of one fault, then of two, up to `most_faults`; the first that reaches the goal is the
    answer.

    `configuration` has at most three replicas: the model has three brokers. ValueError for more.
    """
    if configuration.topic.replication > len(BROKERS):
        raise ValueError(f"{configuration.topic.replication} replicas do not fit on {len(BROKERS)} brokers")
    began, runs = clock(), 0

    def ended(found: Found | None, whole_until: int, why: str = "") -> SearchResult:
        return SearchResult(
            goal=goal,
            found=found,
            whole_until=whole_until,
            runs=runs,
            took_s=clock() - began,
            why_ended=why,
        )

    for length in range(1, most_faults + 1):
        for schedule in schedules(length, times.fail_over_s):
            if runs >= most_runs:
                return ended(None, length - 1, f"{most_runs} simulated runs were enough")
            if clock() - began >= time_limit_s:
                return ended(None, length - 1, f"the time limit of {time_limit_s:g} s was over")
            tried = try_schedule(configuration, goal, times, schedule)
            runs += len(tried)
            if all(tried):
                return ended(tried[0], length - 1)
    return ended(None, most_faults)


def try_schedule(
    configuration: Configuration, goal: Goal, times: Times, schedule: Schedule
) -> list[Found | None]:
    """What each seed shows, up to the first that does not reach the goal."""
    shown: list[Found | None] = []
    for seed in SEEDS:
        shown.append(_shown(run_case(case_of(configuration, times, schedule, seed)), goal, times, schedule))
        if shown[-1] is None:
            break
    return shown


def case_of(configuration: Configuration, times: Times, schedule: Schedule, seed: int) -> Case:
    """The schedule on a simulated cluster with this configuration."""
    its, producer = configuration.topic, configuration.producer
    load_s = begins_s(schedule)[-1] + TAIL_S
    one = ModelProducer(
        acks=producer.acks,
        idempotence=producer.idempotence,
        max_in_flight=1 if producer.idempotence else producer.max_in_flight,
        retries=producer.retries > 0,
    )
    return Case(
        seed=seed,
        settings=ModelSettings(
            partitions=len(BROKERS),
            replication=its.replication,
            min_isr=configuration.min_isr,
            elr=configuration.cluster.elr,
            unclean_election=its.unclean,
            flush_messages=1 if its.flush_messages == 1 else NEVER_FLUSHED,
            producers=(one, one),
            readers=0,
            records=round(RECORDS_PER_S * load_s),
            load_s=load_s,
            lag_max_s=times.lag_max_s,
            session_s=times.session_s,
        ),
        schedule=actions(schedule, times.fail_over_s),
    )


def _shown(run: Run, goal: Goal, times: Times, schedule: Schedule) -> Found | None:
    """What a run shows; None if it does not reach the goal."""
    if goal == "unavailability":
        waited_s = _longest_wait_s(run)
        least_s = times.fail_over_s + MORE_THAN_A_FAIL_OVER_S
        return Found(schedule=schedule, waited_s=waited_s) if waited_s >= least_s else None
    sent = [record for producer in run.producers for record in producer.sent]
    truth, _ = truth_of(run.cluster, sent, run.final.present(), run.readers)
    causes = {record.cause for record in truth.lost}
    return Found(schedule=schedule, causes=tuple(sorted(causes))) if causes else None


def _longest_wait_s(run: Run) -> float:
    """How long a record waited for its acknowledgement, or until it was given up."""
    sent = (record for producer in run.producers for record in producer.sent)
    return max((record.completed_s - record.invoked_s for record in sent), default=0.0)
