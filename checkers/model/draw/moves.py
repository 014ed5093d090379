"""Leaders that move as planned, and brokers that hear late of it, together with whatever else a case has.

They are drawn apart from the rest: a case without them is the one that it would be without this module.
"""

from dataclasses import replace
from random import Random

from checkers.model.case import Case, PreferredElection, Reassign

SHARE = 0.1
"""How much of the cases have planned moves."""
LATE_SHARE = 0.7
"""How much of those have brokers that hear late of new leaders."""
FIRST_S, TAIL_S = 3.0, 3.0


def with_moves(case: Case) -> Case:
    """The case, now and then with its replicas rotated and its first replicas elected, as its seed decides.

    The second election gives the leaders back once the replicas are where they were.
    """
    rng = Random(f"moves/{case.seed}")
    if rng.random() >= SHARE:
        return case
    at_s, hold_s = rng.uniform(FIRST_S, max(FIRST_S, case.settings.load_s - 8.0)), rng.uniform(3.0, 8.0)
    moves = (
        Reassign(at_s=at_s, hold_s=hold_s),
        PreferredElection(at_s=at_s + rng.uniform(0.5, hold_s), hold_s=1.0),
        PreferredElection(at_s=at_s + hold_s + rng.uniform(0.5, 2.0), hold_s=1.0),
    )
    late_s = rng.uniform(0.1, 1.0) if rng.random() < LATE_SHARE else 0.0
    load_s = max(case.settings.load_s, moves[-1].at_s + TAIL_S)
    settings = replace(case.settings, load_s=load_s, metadata_late_s=late_s)
    return replace(case, settings=settings, schedule=(*case.schedule, *moves))
