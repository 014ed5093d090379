"""Cases in which a planted bug shows: settings and faults that lead into what it does wrong.

`ring`: three brokers in the order of the replicas of some partition; there are three partitions, so any
rotation is one. The first of them leads at the begin.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from checkers.model.bugs import Bug
from checkers.model.case import (
    BROKERS,
    CONTROLLERS,
    NEVER_FLUSHED,
    Action,
    Case,
    CleanStop,
    Kill,
    Latency,
    ModelSettings,
    Partition,
    Pause,
    PowerLoss,
    ProducerSettings,
)

Ring = tuple[int, int, int]
Recipe = Callable[[Random, Ring], tuple[Action, ...]]
Change = Callable[[ModelSettings], ModelSettings]


def case_for(bug: Bug, drawn: Case, rng: Random) -> Case:
    """A case of the same seed and bugs in which `bug` is likely to show."""
    first = rng.randrange(3)
    ring = (BROKERS[first], BROKERS[first - 2], BROKERS[first - 1])
    recipe, change = _RECIPES[bug]
    schedule = recipe(rng, ring)
    last_s = max(action.at_s + action.hold_s for action in schedule)
    return replace(drawn, settings=change(_settings(rng, last_s)), schedule=schedule)


def _settings(rng: Random, last_s: float) -> ModelSettings:
    return ModelSettings(
        partitions=3,
        min_isr=2,
        elr=rng.random() < 0.6,
        unclean_election=False,
        flush_messages=NEVER_FLUSHED,
        producers=(ALL, ALL),
        readers=2,
        records=rng.randint(150, 220),
        load_s=last_s + rng.uniform(2.0, 4.0),
    )


ALL = ProducerSettings(acks="all", idempotence=True, max_in_flight=1)
PIPELINED = ProducerSettings(acks="all", idempotence=True, max_in_flight=5)
ONE = ProducerSettings(acks="1", idempotence=False, max_in_flight=1)


def _as_drawn(settings: ModelSettings) -> ModelSettings:
    return settings


def _without_elr(settings: ModelSettings) -> ModelSettings:
    return replace(settings, elr=False)


def _with_elr(settings: ModelSettings) -> ModelSettings:
    return replace(settings, elr=True)


def _acks_1(settings: ModelSettings) -> ModelSettings:
    return replace(settings, producers=(ONE, ONE))


def _acks_1_unclean(settings: ModelSettings) -> ModelSettings:
    return replace(_acks_1(settings), unclean_election=True, elr=False, min_isr=1)


def _unclean(settings: ModelSettings) -> ModelSettings:
    return replace(settings, unclean_election=True)


def _pipelined(settings: ModelSettings) -> ModelSettings:
    return replace(settings, producers=(PIPELINED, PIPELINED))


def _short_session(settings: ModelSettings) -> ModelSettings:
    """Shorter than the lag limit: else the leaders shrink the ISR before the controller fences the broker."""
    return replace(settings, session_s=2.0)


def _cut(at_s: float, hold_s: float, *edges: tuple[int, int]) -> Partition:
    return Partition(at_s=at_s, hold_s=hold_s, edges=tuple(f"{source}->{to}" for source, to in edges))


def _to_controllers(node: int) -> list[tuple[int, int]]:
    return [(node, controller) for controller in CONTROLLERS]


def _truncated_and_elected(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """A follower of a new leader cannot fetch from it, and succeeds it while still in the ISR."""
    leader, second, third = ring
    at_s = rng.uniform(3.0, 4.0)
    return (
        _cut(at_s, 12.0, (third, second)),
        Kill(at_s=at_s + 0.4, hold_s=14.0, nodes=(leader,)),
        Kill(at_s=at_s + 5.6 + rng.uniform(0.0, 1.0), hold_s=8.0, nodes=(second,)),
    )


def _two_fast_fail_overs(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """Records of an epoch that the next leader does not know; then their leader leads again, uncleanly."""
    leader, second, third = ring
    at_s = rng.uniform(3.0, 3.5)
    return (
        _cut(at_s, 9.0, (third, second)),
        Kill(at_s=at_s + 0.3, hold_s=6.0, nodes=(leader,)),
        Kill(at_s=at_s + 6.0, hold_s=18.0, nodes=(second,)),
        Kill(at_s=at_s + 15.0, hold_s=14.0, nodes=(leader, third)),
    )


def _cut_off_leader(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """A leader reaches neither controllers nor followers, and keeps its clients."""
    leader, second, third = ring
    at_s = rng.uniform(3.0, 4.0)
    peers = [(leader, second), (leader, third), (second, leader), (third, leader)]
    return (_cut(at_s, rng.uniform(6.0, 9.0), *_to_controllers(leader), *peers),)


def _cut_off_followers(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """Followers cannot fetch for some seconds."""
    leader, second, third = ring
    return (_cut(rng.uniform(3.0, 4.0), rng.uniform(7.0, 9.0), (second, leader), (third, leader)),)


def _slow_follower_rejoins(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """A follower that is behind asks for records, and its leader ends before they arrive."""
    leader, second, _ = ring
    at_s = rng.uniform(3.0, 4.0)
    return (
        Latency(at_s=at_s, hold_s=9.0, edges=(f"{second}->{leader}",), delay_s=2.5),
        _cut(at_s + 0.3, 6.0, (second, leader)),
        Kill(at_s=at_s + 7.1, hold_s=8.0, nodes=(leader,)),
    )


def _back_without_its_log(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """A follower comes back without its log, and cannot fetch; then the leader, alone in sync, stops."""
    leader, second, third = ring
    at_s = rng.uniform(3.0, 4.0)
    return (
        _cut(at_s, 18.0, (third, leader)),
        PowerLoss(at_s=at_s + 6.0, hold_s=0.7, nodes=(second,)),
        _cut(at_s + 6.1, 12.0, (second, leader)),
        CleanStop(at_s=at_s + 14.0, hold_s=6.0, nodes=(leader,)),
    )


def _alone_and_killed(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """The leader is alone in the ISR, and is killed."""
    leader, second, third = ring
    at_s = rng.uniform(3.0, 4.0)
    return (
        _cut(at_s, 12.0, (second, leader), (third, leader)),
        Kill(at_s=at_s + 6.5, hold_s=7.0, nodes=(leader,)),
    )


def _last_one_back_first(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """The last in-sync replica loses its power, and is back before the one that was stopped."""
    leader, second, third = ring
    at_s = rng.uniform(3.0, 4.0)
    return (
        _cut(at_s, 14.0, (third, leader)),
        CleanStop(at_s=at_s + 6.0, hold_s=14.0, nodes=(second,)),
        PowerLoss(at_s=at_s + 8.0, hold_s=1.0, nodes=(leader,)),
    )


def _stopped_and_back(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """A follower is killed, another one stopped in order; it is back before the leader, which loses its
    power."""
    leader, second, third = ring
    at_s = rng.uniform(3.0, 4.0)
    return (
        _cut_off_clients(at_s, 8.5),
        Kill(at_s=at_s + 1.5, hold_s=19.0, nodes=(third,)),
        CleanStop(at_s=at_s + 6.5, hold_s=7.5, nodes=(second,)),
        PowerLoss(at_s=at_s + 10.0, hold_s=6.0, nodes=(leader,)),
    )


def _cut_off_clients(at_s: float, hold_s: float) -> Partition:
    return Partition(at_s=at_s, hold_s=hold_s, edges=tuple(f"client->{broker}" for broker in BROKERS))


def _deposed(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """A leader without controllers and followers, until its successor has written more than it."""
    return _cut_off_leader(rng, ring)


def _killed(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """The leader is killed, and comes back."""
    return (Kill(at_s=rng.uniform(4.0, 7.0), hold_s=rng.uniform(2.0, 7.0), nodes=(ring[0],)),)


def _killed_behind_a_cut(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """Followers cannot fetch from the leader, which is killed before they leave the ISR."""
    leader, second, third = ring
    at_s = rng.uniform(3.0, 6.0)
    return (
        _cut(at_s, 2.7, (second, leader), (third, leader)),
        Kill(at_s=at_s + rng.uniform(1.5, 2.5), hold_s=6.0, nodes=(leader,)),
    )


def _all_killed(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """All brokers are killed at once."""
    return (Kill(at_s=rng.uniform(5.0, 8.0), hold_s=rng.uniform(1.0, 4.0), nodes=BROKERS),)


def _all_without_power(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """All brokers lose their power at once."""
    return (PowerLoss(at_s=rng.uniform(5.0, 8.0), hold_s=rng.uniform(1.0, 3.0), nodes=BROKERS),)


def _killed_with_answers_on_the_way(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """The leader is killed while its answers to the clients are late."""
    leader, at_s = ring[0], rng.uniform(3.5, 5.0)
    return (
        Latency(at_s=at_s, hold_s=4.0, edges=(f"client->{leader}",), delay_s=0.5),
        Kill(at_s=at_s + 1.5 + rng.random(), hold_s=6.0, nodes=(leader,)),
    )


def _behind_and_elected(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """A follower has left the ISR, and the leader is killed."""
    leader, second, _ = ring
    at_s = rng.uniform(3.0, 4.0)
    return (
        _cut(at_s, 13.0, (second, leader)),
        Kill(at_s=at_s + 6.5, hold_s=8.0, nodes=(leader,)),
    )


def _leader_stands_still(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """The leader is paused for less than its session."""
    return (
        Pause(at_s=rng.uniform(3.0, 4.0), hold_s=rng.uniform(2.0, 3.2), nodes=(ring[0],)),
        _cut(9.0, 2.5, (ring[2], ring[1]), (ring[0], ring[1])),
    )


def _quiet(rng: Random, ring: Ring) -> tuple[Action, ...]:
    """One broker is cut off for a while, without harm."""
    return (_cut(rng.uniform(4.0, 6.0), 2.0, (ring[1], ring[0])),)


_RECIPES: Mapping[Bug, tuple[Recipe, Change]] = {
    Bug.TRUNCATE_TO_HIGH_WATERMARK: (_truncated_and_elected, _as_drawn),
    Bug.EPOCH_CONFUSION: (
        _two_fast_fail_overs,
        _acks_1_unclean,
    ),
    Bug.HIGH_WATERMARK_BEFORE_ISR_COMMIT: (_cut_off_leader, _as_drawn),
    Bug.ISR_JOIN_TOO_EARLY: (_slow_follower_rejoins, _as_drawn),
    Bug.ISR_JOIN_STALE_BROKER_EPOCH: (_back_without_its_log, _as_drawn),
    Bug.UNCLEAN_ELECTION_FORBIDDEN: (_alone_and_killed, _without_elr),
    Bug.UNCLEAN_ELECTION_TOO_EARLY: (_behind_and_elected, _unclean),
    Bug.ELR_KEPT_AFTER_UNCLEAN_SHUTDOWN: (_last_one_back_first, _with_elr),
    Bug.ELIGIBLE_REPLICA_FORGOTTEN: (_stopped_and_back, _with_elr),
    Bug.HIGH_WATERMARK_EXPOSED_EARLY: (_cut_off_leader, _acks_1),
    Bug.FENCED_BROKER_STAYS_IN_ISR: (_killed, _short_session),
    Bug.DEPOSED_LEADER_ACKS_ALL: (_deposed, _as_drawn),
    Bug.ACK_BEFORE_MIN_ISR: (_cut_off_followers, _as_drawn),
    Bug.HOLE_IN_LOG: (_killed, _as_drawn),
    Bug.SWAPPED_BATCHES: (_quiet, _as_drawn),
    Bug.RETRY_APPENDED_TWICE: (_killed_with_answers_on_the_way, _as_drawn),
    Bug.FOLLOWER_WRITES_OTHER_BYTES: (_quiet, _as_drawn),
    Bug.LOG_START_JUMPS: (_quiet, _as_drawn),
    Bug.OFFSETS_REUSED_AFTER_RESTART: (_all_killed, _without_elr),
    Bug.CLIENT_ACKS_REFUSED_BATCH: (_all_without_power, _pipelined),
    Bug.CLIENT_RESENDS_UNDER_NEW_EPOCH: (_leader_stands_still, _as_drawn),
    Bug.ELECTION_FROM_OLD_ISR: (_behind_and_elected, _as_drawn),
    Bug.READS_ABOVE_HIGH_WATERMARK: (_killed_behind_a_cut, _acks_1),
    Bug.TWO_LEADERS_IN_ONE_EPOCH: (_killed, _acks_1),
}
