"""Makes a case smaller for as long as it shows the same: fewer faults, a smaller cluster, a shorter load."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from checkers.model import (
    Action,
    Case,
    ElrFeature,
    Latency,
    MinIsr,
    ModelSettings,
    Partition,
    PreferredElection,
    Reassign,
)

Hit = TypeVar("Hit", int, str)
Shows = Callable[[Case], bool]


def shrink(case: Case, shows: Shows, *, most: int = 400) -> Case:
    """The smallest case found in at most so many tries; `shows` says whether one still shows it."""
    tries = iter(range(most))
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(case):
            if next(tries, None) is None:
                return case
            if _still(candidate, shows):
                case, smaller = candidate, True
                break
    return case


def _still(case: Case, shows: Shows) -> bool:
    """A case that cannot be simulated shows nothing."""
    try:
        return shows(case)
    except (ValueError, KeyError, IndexError):
        return False


def _smaller(case: Case) -> Iterator[Case]:
    """Neighbours of a case, the much smaller ones first."""
    yield from (replace(case, schedule=schedule) for schedule in _fewer(case.schedule))
    yield from (replace(case, settings=settings) for settings in _simpler(case.settings))
    for place, action in enumerate(case.schedule):
        for less in _less(action):
            yield replace(case, schedule=(*case.schedule[:place], less, *case.schedule[place + 1 :]))


def _fewer(schedule: tuple[Action, ...]) -> Iterator[tuple[Action, ...]]:
    """Without the second half, the first half, each action."""
    half = len(schedule) // 2
    if half > 1:
        yield schedule[:half]
        yield schedule[half:]
    for place in range(len(schedule)):
        yield schedule[:place] + schedule[place + 1 :]


def _simpler(settings: ModelSettings) -> Iterator[ModelSettings]:
    if settings.partitions > 1:
        yield replace(settings, partitions=1)
    if settings.readers > 0:
        yield replace(settings, readers=settings.readers - 1)
    if len(settings.producers) > 1:
        for place in range(len(settings.producers)):
            others = settings.producers[:place] + settings.producers[place + 1 :]
            yield replace(settings, producers=others)
    if settings.records > 10:
        yield replace(settings, records=settings.records // 2)


def _less(action: Action) -> Iterator[Action]:
    """Of a fault of several nodes or edges, each one less."""
    match action:
        case Partition() | Latency():
            yield from (replace(action, edges=fewer) for fewer in _one_less(action.edges))
        case Reassign() | PreferredElection() | MinIsr() | ElrFeature():
            return
        case _:
            yield from (replace(action, nodes=fewer) for fewer in _one_less(action.nodes))


def _one_less(hit: tuple[Hit, ...]) -> Iterator[tuple[Hit, ...]]:
    if len(hit) > 1:
        for place in range(len(hit)):
            yield hit[:place] + hit[place + 1 :]
