"""Settings that change, together with whatever else a case has: min.insync.replicas, and ELR.

They are drawn apart from the rest: a case without them is the one that it would be without this module.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from checkers.model.case import BROKERS, Action, Case, ElrFeature, Kill, MinIsr, Partition, PowerLoss
from checkers.model.draw.recipes import RECIPES

SHARE = 0.1
"""How much of the cases have settings that change."""
ALONE_SHARE, RECIPE_SHARE = 0.3, 0.3
"""How much of those are made for a leader to be alone in sync, and have another of the known recipes."""
ELR_SHARE = 0.25
"""How much of those turn ELR on or off, too."""
LATE_SHARE = 0.4
"""How much of those have brokers that learn late of it."""
FIRST_S, TAIL_S = 2.0, 3.0


def with_settings(case: Case, *, share: float = SHARE) -> Case:
    """The case, now and then with one setting or two that change, as its seed decides."""
    rng = Random(f"settings/{case.seed}")
    if rng.random() >= share:
        return case
    faults = _faults(rng, case)
    schedule = (*faults, *_min_isr(rng, case, faults))
    if rng.random() < ELR_SHARE:
        schedule = (*schedule, _elr(rng, case, faults))
    last_s = max(each.at_s + each.hold_s for each in schedule)
    late_s = rng.uniform(0.1, 1.0) if rng.random() < LATE_SHARE else case.settings.metadata_late_s
    load_s = max(case.settings.load_s, last_s + TAIL_S)
    settings = replace(case.settings, load_s=load_s, metadata_late_s=late_s)
    return replace(case, settings=settings, schedule=schedule)


def _faults(rng: Random, case: Case) -> tuple[Action, ...]:
    """Those of the case, or others in their place. What is made for a planted bug to show stays."""
    kind = rng.random()
    if case.bugs or kind >= ALONE_SHARE + RECIPE_SHARE:
        return case.schedule
    return _alone(rng) if kind < ALONE_SHARE else rng.choice(RECIPES)(rng)


def _alone(rng: Random) -> tuple[Action, ...]:
    """The followers of a broker fall behind, one after the other; one may come back before it ends."""
    node, at_s = rng.choice(BROKERS), rng.uniform(3.0, 5.0)
    first, second = rng.sample([one for one in BROKERS if one != node], 2)
    until_s = at_s + rng.uniform(7.0, 14.0)
    begins_s = at_s + rng.choice((0.0, rng.uniform(0.5, 4.0)))
    cuts = (
        Partition(at_s=at_s, hold_s=until_s - at_s, edges=(f"{first}->{node}",)),
        Partition(
            at_s=begins_s, hold_s=until_s + rng.uniform(-3.0, 3.0) - begins_s, edges=(f"{second}->{node}",)
        ),
    )
    end = (PowerLoss if rng.random() < 0.7 else Kill)(
        at_s=until_s - rng.uniform(-1.0, 1.5), hold_s=rng.uniform(1.0, 6.0), nodes=(node,)
    )
    return (*cuts, end)


def _min_isr(rng: Random, case: Case, faults: tuple[Action, ...]) -> Iterator[Action]:
    """One change after the other."""
    values = [value for value in range(1, case.settings.replication + 1) if value != case.settings.min_isr]
    at_s = _begin_s(rng, case, faults)
    for _ in range(rng.choice((1, 1, 2))):
        hold_s = round(rng.uniform(1.5, 9.0), 3)
        yield MinIsr(at_s=round(at_s, 3), hold_s=hold_s, value=rng.choice((values[0], *values)))
        at_s += hold_s + rng.uniform(0.3, 3.0)


def _elr(rng: Random, case: Case, faults: tuple[Action, ...]) -> Action:
    hold_s = round(rng.uniform(2.0, 9.0), 3)
    return ElrFeature(at_s=round(_begin_s(rng, case, faults), 3), hold_s=hold_s, on=not case.settings.elr)


def _begin_s(rng: Random, case: Case, faults: tuple[Action, ...]) -> float:
    """Before, amid or behind the faults; mostly near the begin or the end of one."""
    if not faults or rng.random() < 0.3:
        return rng.uniform(FIRST_S, max(FIRST_S + 1.0, case.settings.load_s - TAIL_S))
    near = rng.choice(faults)
    return max(FIRST_S, near.at_s + rng.choice((0.0, near.hold_s)) + rng.uniform(-4.0, 3.0))
