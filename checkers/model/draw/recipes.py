"""Schedules that are known to lose something, or to come close to it."""

from random import Random

from checkers.model.case import BROKERS, CONTROLLERS, Action, CleanStop, Kill, Partition, PowerLoss


def leader_kill_behind_a_cut(rng: Random) -> tuple[Action, ...]:
    """Followers cannot fetch from a broker, which is then killed."""
    node, at_s, behind_s = rng.choice(BROKERS), rng.uniform(3.0, 5.0), rng.uniform(0.5, 2.5)
    served = tuple(f"{one}->{node}" for one in BROKERS if one != node)
    return (
        Partition(at_s=at_s, hold_s=behind_s + 1.5, edges=served, refuse=rng.random() < 0.5),
        Kill(at_s=at_s + behind_s, hold_s=rng.uniform(1.0, 7.0), nodes=(node,)),
    )


def zombie(rng: Random) -> tuple[Action, ...]:
    """A broker does not reach the controllers, nor perhaps the others, and keeps its clients."""
    node, at_s = rng.choice(BROKERS), rng.uniform(3.0, 5.0)
    edges = [f"{node}->{one}" for one in CONTROLLERS]
    if rng.random() < 0.5:
        edges += [f"{one}->{node}" for one in BROKERS if one != node]
        edges += [f"{node}->{one}" for one in BROKERS if one != node]
    return (
        Partition(at_s=at_s, hold_s=rng.uniform(5.0, 9.0), edges=tuple(edges), refuse=rng.random() < 0.5),
    )


def last_replica_standing(rng: Random) -> tuple[Action, ...]:
    """One follower falls behind, the other one ends, and the leader loses its power."""
    node = rng.choice(BROKERS)
    behind, other = rng.sample([one for one in BROKERS if one != node], 2)
    at_s = rng.uniform(3.0, 4.0)
    end = (CleanStop if rng.random() < 0.6 else Kill)(at_s=at_s + 6.0, hold_s=4.0, nodes=(other,))
    return (
        Partition(at_s=at_s, hold_s=8.0, edges=(f"{behind}->{node}",), refuse=rng.random() < 0.5),
        end,
        PowerLoss(at_s=at_s + rng.uniform(6.5, 7.5), hold_s=rng.uniform(1.0, 8.0), nodes=(node,)),
    )


def in_sync_alone(rng: Random) -> tuple[Action, ...]:
    """Both followers fall behind; the leader, alone in the ISR, ends or loses its power."""
    node, at_s = rng.choice(BROKERS), rng.uniform(3.0, 4.0)
    served = tuple(f"{one}->{node}" for one in BROKERS if one != node)
    end = (PowerLoss if rng.random() < 0.6 else Kill)(
        at_s=at_s + rng.uniform(6.0, 7.5), hold_s=rng.uniform(1.0, 6.0), nodes=(node,)
    )
    return (Partition(at_s=at_s, hold_s=8.0, edges=served, refuse=rng.random() < 0.5), end)


def power_of_several(rng: Random) -> tuple[Action, ...]:
    """Two or three brokers lose their power at once, or one shortly after the other."""
    nodes = tuple(sorted(rng.sample(BROKERS, rng.choice((2, 3, 3)))))
    at_s = rng.uniform(3.0, 8.0)
    if rng.random() < 0.6:
        return (PowerLoss(at_s=at_s, hold_s=rng.uniform(0.5, 4.0), nodes=nodes),)
    return tuple(
        PowerLoss(at_s=at_s + place * rng.uniform(0.4, 3.0), hold_s=rng.uniform(2.0, 8.0), nodes=(node,))
        for place, node in enumerate(nodes)
    )


def kills_in_a_row(rng: Random) -> tuple[Action, ...]:
    """Brokers are killed one after another, each before the one before is back."""
    at_s = rng.uniform(3.0, 5.0)
    nodes = rng.sample(BROKERS, rng.choice((2, 3)))
    return tuple(
        Kill(at_s=at_s + place * rng.uniform(0.5, 5.0), hold_s=rng.uniform(1.0, 7.0), nodes=(node,))
        for place, node in enumerate(nodes)
    )


RECIPES = (
    leader_kill_behind_a_cut,
    zombie,
    last_replica_standing,
    in_sync_alone,
    power_of_several,
    kills_in_a_row,
)
