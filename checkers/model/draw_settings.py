"""Settings that change, together with whatever else a case has: min.insync.replicas, and ELR.

They are drawn apart from the rest: a case without them is the one that it would be without this module.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from checkers.model.case import Action, Case, ElrFeature, MinIsr

SHARE = 0.1
"""How much of the cases have settings that change."""
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
    changes = [*_min_isr(rng, case)]
    if rng.random() < ELR_SHARE:
        changes.append(_elr(rng, case))
    schedule = (*case.schedule, *changes)
    last_s = max(each.at_s + each.hold_s for each in schedule)
    late_s = rng.uniform(0.1, 1.0) if rng.random() < LATE_SHARE else case.settings.metadata_late_s
    load_s = max(case.settings.load_s, last_s + TAIL_S)
    return replace(
        case, settings=replace(case.settings, load_s=load_s, metadata_late_s=late_s), schedule=schedule
    )


def _min_isr(rng: Random, case: Case) -> Iterator[Action]:
    """One change after the other."""
    most = case.settings.replication
    at_s = _begin_s(rng, case)
    for _ in range(rng.choice((1, 1, 2))):
        others = [value for value in range(1, most + 1) if value != case.settings.min_isr]
        hold_s = round(rng.uniform(2.0, 9.0), 3)
        yield MinIsr(at_s=round(at_s, 3), hold_s=hold_s, value=rng.choice((others[0], *others)))
        at_s += hold_s + rng.uniform(0.3, 3.0)


def _elr(rng: Random, case: Case) -> Action:
    hold_s = round(rng.uniform(2.0, 9.0), 3)
    return ElrFeature(at_s=round(_begin_s(rng, case), 3), hold_s=hold_s, on=not case.settings.elr)


def _begin_s(rng: Random, case: Case) -> float:
    """Before, amid or behind the faults."""
    return rng.uniform(FIRST_S, max(FIRST_S + 1.0, case.settings.load_s - TAIL_S))
