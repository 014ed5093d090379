"""One schedule of faults, tried on the simulated Kafka: does it lose what was acknowledged, or stop writes?

A schedule counts only if it does it under every seed that is tried, so that it is no matter of luck.
Evidence: the truth of the simulated cluster, which knows no verdict.
Counterexample to "the first run that loses something":
    acks=1, the leader is killed: under one seed two records were not replicated yet, under the next none
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from checkers.history.tables import Outcome
from checkers.model.case import BROKERS, NEVER_FLUSHED, Case, ModelSettings
from checkers.model.case import ProducerSettings as ModelProducer
from checkers.model.fate import truth_of
from checkers.model.kafka.log import Sent
from checkers.model.observe.final_read import Found as Read
from checkers.model.simulate import Run, run_case
from checkers.promises.configuration import Configuration
from checkers.promises.search.schedules import Kind, Schedule, Timed, actions, begins_s

Goal = Literal["loss", "unavailability"]

SEEDS = (1, 2, 3)
MORE_SEEDS = range(4, 16)
"""Under which a schedule that was found is tried once more, for the causes: which of several brokers is up
first is a matter of luck, and with it by which cause something is lost."""
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
class Trial:
    """What schedules are tried on, and for."""

    configuration: Configuration
    goal: Goal
    times: Times = FAST

    def of(self, schedule: Schedule) -> list[Found | None]:
        """What each seed shows, up to the first that does not reach the goal."""
        shown: list[Found | None] = []
        for found in self.of_each_seed(schedule):
            shown.append(found)
            if found is None:
                break
        return shown

    def of_each_seed(self, schedule: Schedule) -> Iterator[Found | None]:
        """What each seed shows, whatever the others do."""
        yield from (self._under(seed, schedule) for seed in SEEDS)

    def with_every_cause(self, found: Sequence[Found]) -> Found:
        """The first of what all seeds have shown of a schedule; by the causes of each, and of MORE_SEEDS."""
        first = found[0]
        more = (self._under(seed, first.schedule) for seed in MORE_SEEDS if self.goal == "loss")
        return replace(first, causes=causes_of((*found, *more)))

    def _under(self, seed: int, schedule: Schedule) -> Found | None:
        run = run_case(case_of(self.configuration, self.times, schedule, seed))
        return _shown(run, self.goal, self.times, schedule)


def causes_of(shown: Iterable[Found | None]) -> tuple[str, ...]:
    """By which causes something was lost, of what seeds have shown: each once, by name."""
    return tuple(sorted({cause for found in shown if found is not None for cause in found.causes}))


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
            hides_below_min_isr=configuration.hidden_below_min_isr,
            elr=configuration.cluster.elr,
            unclean_election=configuration.stale_may_lead,
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


def simulated_alike(configuration: Configuration, times: Times) -> Hashable:
    """Equal for configurations that the model cannot tell apart: one search is enough for all of them."""
    one_fault = (Timed(kind=Kind.KILL, node=1),)
    return case_of(configuration, times, one_fault, SEEDS[0])


def _shown(run: Run, goal: Goal, times: Times, schedule: Schedule) -> Found | None:
    """What a run shows; None if it does not reach the goal."""
    if goal == "unavailability":
        waited_s = _longest_wait_s(run)
        least_s = times.fail_over_s + MORE_THAN_A_FAIL_OVER_S
        return Found(schedule=schedule, waited_s=waited_s) if waited_s >= least_s else None
    sent, present = [record for producer in run.producers for record in producer.sent], run.final.present()
    if _all_there(sent, present.values()):
        return None
    truth, _ = truth_of(run.cluster, sent, present, run.readers)
    causes = {record.cause for record in truth.lost}
    return Found(schedule=schedule, causes=tuple(sorted(causes))) if causes else None


def _all_there(sent: Iterable[Sent], found: Iterable[Sequence[Read]]) -> bool:
    """Whether all that was acknowledged is in the final log: then nobody need know the fate of each."""
    there = {id(one.record) for rows in found for one in rows}
    return all(id(one) in there for one in sent if one.outcome == Outcome.OK)


def _longest_wait_s(run: Run) -> float:
    """How long a record waited for its acknowledgement, or until it was given up."""
    sent = (record for producer in run.producers for record in producer.sent)
    return max((record.completed_s - record.invoked_s for record in sent), default=0.0)
