"""A case at random."""

from random import Random

from checkers.model.bugs import Bug
from checkers.model.case import Case, ModelSettings


def draw_case(seed: int, bugs: frozenset[Bug] = frozenset()) -> Case:
    """Settings and faults that `seed` decides; with `bugs`, biased to what makes them show."""
    rng = Random(seed)
    settings = ModelSettings(partitions=rng.randint(1, 3), elr=rng.random() < 0.5, readers=rng.randint(1, 2))
    return Case(seed=seed, settings=settings, bugs=bugs)
