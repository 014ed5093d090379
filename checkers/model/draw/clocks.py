"""Wrong clocks for a case at random: beyond retention, within it, at its edge, and behind, together with
whatever else the case has.

They are drawn apart from the rest: a case without them is the one that it would be without this module.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from checkers.model.case import (
    BROKERS,
    CONTROLLERS,
    Action,
    Case,
    CleanStop,
    ClockSkew,
    Kill,
    Partition,
    PowerLoss,
)

SHARE = 0.15
"""How much of the cases have wrong clocks."""
PASSED_ON = 0.3
"""How much of those are made for a log start to be taken over."""
FIRST_S, TAIL_S = 3.0, 3.0
HOUR_S, DAY_S = 3_600.0, 86_400.0


def with_clocks(case: Case) -> Case:
    """The case, now and then with one or two wrong clocks, as its seed decides."""
    rng = Random(f"clocks/{case.seed}")
    if rng.random() >= SHARE:
        return case
    if rng.random() < PASSED_ON:
        schedule = _passed_on(rng, case.settings.retention_s)
    else:
        schedule = (*case.schedule, *_skews(rng, case))
    last_s = max(each.at_s + each.hold_s for each in schedule)
    load_s = max(case.settings.load_s, last_s + TAIL_S)
    return replace(case, settings=replace(case.settings, load_s=load_s), schedule=schedule)


def _passed_on(rng: Random, retention_s: float) -> tuple[Action, ...]:
    """A broker that may lead is ahead, while one of the others cannot fetch from it, and is killed before
    that one leaves the ISR; then one of the two is killed."""
    node = rng.choice(BROKERS)
    others = [each for each in BROKERS if each != node]
    at_s, deaf = rng.uniform(FIRST_S, 8.0), rng.choice(others)
    ahead_s = round(_ahead_s(rng, retention_s), 3)
    ended = (Kill, CleanStop, PowerLoss)
    first, second = rng.choice((Kill, CleanStop)), rng.choice(ended)
    return (
        Partition(
            at_s=at_s, hold_s=rng.uniform(2.5, 4.5), edges=(f"{deaf}->{node}",), refuse=rng.random() < 0.5
        ),
        ClockSkew(at_s=at_s + 0.1, hold_s=rng.uniform(1.5, 3.0), nodes=(node,), ahead_s=ahead_s),
        first(at_s=at_s + rng.uniform(1.6, 2.6), hold_s=rng.uniform(1.0, 7.0), nodes=(node,)),
        second(at_s=at_s + rng.uniform(3.0, 12.0), hold_s=rng.uniform(1.0, 6.0), nodes=(rng.choice(others),)),
    )


def _skews(rng: Random, case: Case) -> Iterator[ClockSkew]:
    """One after the other: where they overlap on a node, the later one is not injected there."""
    at_s = FIRST_S + rng.uniform(0.0, max(1.0, case.settings.load_s - 2 * FIRST_S))
    for _ in range(rng.choice((1, 1, 2))):
        hold_s = round(rng.uniform(1.5, 9.0), 3)
        ahead_s = round(_ahead_s(rng, case.settings.retention_s), 3)
        yield ClockSkew(at_s=round(at_s, 3), hold_s=hold_s, nodes=_nodes(rng), ahead_s=ahead_s)
        at_s += rng.uniform(0.5, hold_s + 3.0)


def _nodes(rng: Random) -> tuple[int, ...]:
    if rng.random() < 0.1:
        return CONTROLLERS
    return tuple(sorted(rng.sample(BROKERS, rng.choice((1, 1, 1, 2, 3)))))


def _ahead_s(rng: Random, retention_s: float) -> float:
    """Mostly beyond retention; at its edge a record's own age decides."""
    edge_s = retention_s - rng.uniform(-2.0, 20.0)
    choices = (retention_s + DAY_S, retention_s + DAY_S, edge_s, retention_s - DAY_S, 300.0, -HOUR_S)
    return rng.choice((*choices, -retention_s - DAY_S))
