"""A crowded case: so many faults, so near to each other, that a broker is hit again before it is in sync.

What one fault has done then hides behind the next: who lost what, who was in sync again in between, who was
elected and never led. Faults of one broker do not overlap, as the harness lets none begin while another holds
its node.
"""

from collections.abc import Iterator
from random import Random

from checkers.model.bugs import Bug
from checkers.model.case import (
    BROKERS,
    Action,
    Case,
    CleanStop,
    Kill,
    ModelSettings,
    Partition,
    Pause,
    PowerLoss,
    ProducerSettings,
)

APART_S = 0.3
FAULTS = (4, 8)
GAPS_S = (0.1, 0.5, 1.5, 2.5, 4.0)
HOLDS_S = (0.7, 1.0, 2.0, 6.0, 10.0)
ALL = ProducerSettings(acks="all", idempotence=True)
ONE = ProducerSettings(acks="1", idempotence=False)


def draw_crowded_case(seed: int, bugs: frozenset[Bug] = frozenset()) -> Case:
    """Settings and faults that `seed` decides."""
    rng = Random(f"crowded/{seed}")
    settings = ModelSettings(
        first_leader=rng.choice(BROKERS),
        min_isr=rng.choice((1, 2, 2, 2)),
        elr=rng.random() < 0.6,
        unclean_election=rng.random() < 0.3,
        producers=rng.choice(((ALL, ALL), (ONE, ONE), (ONE, ALL))),
        readers=rng.choice((0, 0, 1)),
        records=60,
        load_s=20.0,
    )
    return Case(seed=seed, settings=settings, schedule=tuple(_schedule(rng)), bugs=bugs)


def _schedule(rng: Random) -> Iterator[Action]:
    at_s, free_s = rng.uniform(3.0, 5.0), dict.fromkeys(BROKERS, 0.0)
    for _ in range(rng.randint(*FAULTS)):
        hold_s = rng.choice(HOLDS_S)
        some = sorted(rng.sample(BROKERS, rng.choice((1, 1, 1, 2, 2, 3))))
        nodes = tuple(node for node in some if free_s[node] <= at_s)
        if rng.random() < 0.2:
            edge = "{}->{}".format(*rng.sample(BROKERS, 2))
            yield Partition(at_s=at_s, hold_s=rng.uniform(4.0, 12.0), edges=(edge,))
        elif nodes:
            free_s.update(dict.fromkeys(nodes, at_s + hold_s + APART_S))
            yield rng.choice((Kill, Kill, PowerLoss, PowerLoss, PowerLoss, CleanStop, Pause))(
                at_s=at_s, hold_s=hold_s, nodes=nodes
            )
        at_s = round(at_s + rng.choice(GAPS_S), 3)
    if rng.random() < 0.3:
        away = tuple(f"client->{node}" for node in BROKERS)
        yield Partition(at_s=rng.uniform(3.0, 10.0), hold_s=rng.uniform(4.0, 12.0), edges=away)
