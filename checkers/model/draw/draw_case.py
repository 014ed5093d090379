"""A case at random: settings, load and a schedule of faults that the seed decides."""

from random import Random

from checkers.model.bugs import Bug
from checkers.model.case import (
    BROKERS,
    CONTROLLERS,
    NEVER_FLUSHED,
    Action,
    Case,
    CleanStop,
    DiskStall,
    Kill,
    Latency,
    ModelSettings,
    Partition,
    Pause,
    PowerLoss,
    ProducerSettings,
)
from checkers.model.draw.clocks import with_clocks
from checkers.model.draw.for_bug import case_for
from checkers.model.draw.moves import with_moves
from checkers.model.draw.recipes import RECIPES
from checkers.model.draw.settings import with_settings

FIRST_FAULT_S = 3.0
MOST_FAULTS = 4
BIASED = 0.8
"""How much of the cases with bugs are made for them to show."""


def draw_case(seed: int, bugs: frozenset[Bug] = frozenset()) -> Case:
    """Settings and faults that `seed` decides; with `bugs`, biased to what makes them show."""
    rng = Random(seed)
    schedule = _schedule(rng)
    settings = _settings(rng, schedule)
    drawn = Case(seed=seed, settings=settings, schedule=schedule, bugs=bugs)
    if bugs and rng.random() < BIASED:
        drawn = case_for(rng.choice(sorted(bugs, key=lambda bug: bug.name)), drawn, rng)
    return with_settings(with_moves(with_clocks(drawn)))


# Settings


def _settings(rng: Random, schedule: tuple[Action, ...]) -> ModelSettings:
    last_s = max((action.at_s + action.hold_s for action in schedule), default=FIRST_FAULT_S)
    return ModelSettings(
        partitions=rng.choice((1, 1, 2, 3)),
        min_isr=rng.choice((1, 2, 2, 2)),
        elr=rng.random() < 0.6,
        unclean_election=rng.random() < 0.15,
        flush_messages=1 if rng.random() < 0.2 else NEVER_FLUSHED,
        producers=_producers(rng),
        readers=rng.choice((1, 1, 2)),
        records=rng.randint(60, 180),
        load_s=last_s + rng.uniform(2.0, 5.0),
    )


def _producers(rng: Random) -> tuple[ProducerSettings, ...]:
    """Two producers alike, as a scenario has them; now and then of two kinds."""
    acks = rng.choice(("all", "all", "all", "1", "1", "0"))
    first = _producer(rng, acks)
    return (first, _producer(rng, rng.choice(("all", "1"))) if rng.random() < 0.15 else first)


def _producer(rng: Random, acks: str) -> ProducerSettings:
    idempotence = acks == "all" and rng.random() < 0.8
    return ProducerSettings(
        acks=acks,
        idempotence=idempotence,
        max_in_flight=rng.choice((1, 1, 3, 5)),
        delivery_timeout_s=rng.choice((60.0, 60.0, 60.0, 4.0)),
        retries=idempotence or rng.random() < 0.8,
    )


# Faults


def _schedule(rng: Random) -> tuple[Action, ...]:
    """One of the known recipes, or faults one after another that may overlap."""
    kind = rng.random()
    if kind < 0.1:
        return ()
    if kind < 0.45:
        return rng.choice(RECIPES)(rng)
    return _random(rng)


def _random(rng: Random) -> tuple[Action, ...]:
    actions: list[Action] = []
    at_s = FIRST_FAULT_S + rng.uniform(0.0, 2.0)
    for _ in range(rng.randint(1, MOST_FAULTS)):
        action = _action(rng, round(at_s, 3))
        actions.append(action)
        apart = (
            rng.uniform(0.3, action.hold_s) if rng.random() < 0.4 else action.hold_s + rng.uniform(0.5, 6.0)
        )
        at_s += apart
    return tuple(actions)


def _action(rng: Random, at_s: float) -> Action:
    hold_s = round(rng.uniform(1.5, 7.0), 3)
    node = (rng.choice(BROKERS),)
    some = tuple(sorted(rng.sample(BROKERS, rng.choice((1, 1, 2, 3)))))
    match rng.choice(
        ("edges", "edges", "edges", "latency", "pause", "stall", "kill", "kill", "stop", "power", "power")
    ):
        case "edges":
            return Partition(at_s=at_s, hold_s=hold_s, edges=_edges(rng), refuse=rng.random() < 0.5)
        case "latency":
            delay_s = round(rng.uniform(0.05, 0.4), 3)
            return Latency(at_s=at_s, hold_s=hold_s, edges=_edges(rng), delay_s=delay_s)
        case "pause":
            return Pause(at_s=at_s, hold_s=hold_s, nodes=rng.choice((node, node, node, (CONTROLLERS[-1],))))
        case "stall":
            return DiskStall(at_s=at_s, hold_s=hold_s, nodes=node)
        case "kill":
            return Kill(at_s=at_s, hold_s=hold_s, nodes=some)
        case "stop":
            return CleanStop(at_s=at_s, hold_s=hold_s, nodes=node)
        case _:
            return PowerLoss(at_s=at_s, hold_s=round(rng.uniform(0.5, 5.0), 3), nodes=some)


def _edges(rng: Random) -> tuple[str, ...]:
    """Directed edges of one node: its fetches, the fetches from it, its controllers, or all of it."""
    node = rng.choice(BROKERS)
    others = [one for one in BROKERS if one != node]
    to_controllers = [f"{node}->{one}" for one in CONTROLLERS]
    fetches, served = [f"{node}->{one}" for one in others], [f"{one}->{node}" for one in others]
    choices = (
        fetches,
        served,
        [rng.choice(served)],
        to_controllers,
        to_controllers + served,
        fetches + served + to_controllers,
        fetches + served + to_controllers + [f"client->{node}"],
        [f"client->{node}"],
    )
    return tuple(rng.choice(choices))
