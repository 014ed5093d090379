"""The control plane of a random healthy history: timeline, registrations, settings, producers, clocks,
samples.

Brokers stop, die and come back at random times. A timeline under which an acknowledgement of the history
would not be backed by enough in-sync replicas is replaced by one in which at most one broker is away at a
time.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from random import Random

from checkers.damage.editable_history import EditableHistory
from checkers.damage.healthy.controllers import MIN_ISR, MS_NS, NODES, WALL_NS, Controllers
from checkers.history.rows import (
    ClockPair,
    ConfigChange,
    MetadataChange,
    Producer,
    Send,
    TopicPartition,
    Watermark,
)
from checkers.history.tables import NONE

READ_EVERY_NS = 1_000_000_000
ANSWER_NS = 50_000_000
TRIES = 3

EndAt = Callable[[int], int]
"""The log end of a partition at a time."""


def add_control_plane(rng: Random, history: EditableHistory, end_ns: int) -> None:
    """Fill every table of the control plane but the samples. The sends are there already."""
    for producer in sorted({send.producer for send in history.sends}):
        acks = rng.choices(("all", "1", "0"), (8, 1, 1))[0]
        history.producers.append(Producer(producer=producer, acks=acks, idempotence=acks == "all"))
    unclean = rng.random() < 0.2
    history.configs = _configs(rng, {tp.topic for tp in history.partitions}, unclean=unclean)
    history.clocks = _clocks(rng, end_ns)
    elr = rng.random() < 0.5
    for wild in (*[True] * rng.randint(0, TRIES), False):
        controllers = Controllers(elr=elr, unclean=unclean)
        _run(rng, controllers, history.partitions, end_ns, wild=wild)
        if not wild or _backs(controllers.metadata, history):
            break
    history.metadata, history.brokers = controllers.metadata, controllers.brokers


def add_samples(
    rng: Random, history: EditableHistory, tp: TopicPartition, log_start: int, end_at: EndAt, end_ns: int
) -> None:
    """Sample a partition's leaders now and then, a deposed one too: it answers what it knew when it led."""
    states = [row for row in history.metadata if row.tp == tp]
    for at_ns in sorted(rng.randint(0, end_ns) for _ in range(rng.randint(0, 12))):
        now = _at(states, at_ns)
        deposed = [row for row in states[:now] if 0 <= row.leader != states[now].leader]
        if deposed and rng.random() < 0.1:
            row = rng.choice(deposed)
            _sample(rng, history, row, at_ns, log_start, end_at(min(at_ns, _ns(_left(states, row)))))
        elif states[now].leader != NONE:
            _sample(rng, history, states[now], at_ns, log_start, end_at(at_ns))


def epoch_at(history: EditableHistory, tp: TopicPartition, at_ns: int) -> int:
    """The epoch of the last leader that a partition had by a time."""
    states = [row for row in history.metadata if row.tp == tp]
    led = [row.leader_epoch for row in states[: _at(states, at_ns) + 1] if row.leader != NONE]
    return led[-1] if led else 0


def _sample(
    rng: Random, history: EditableHistory, row: MetadataChange, at_ns: int, log_start: int, end: int
) -> None:
    known = rng.random() < 0.9
    history.watermarks.append(
        Watermark(
            at_ns=at_ns,
            topic=row.topic,
            partition=row.partition,
            leader=row.leader,
            leader_epoch=row.leader_epoch if rng.random() < 0.95 else NONE,
            isr=row.isr,
            log_start=log_start,
            high_watermark=end if known else NONE,
            last_stable=end if known else NONE,
            asked_ns=NONE if at_ns % 20 == 0 else at_ns - at_ns % ANSWER_NS,
        )
    )


def _left(states: Sequence[MetadataChange], row: MetadataChange) -> MetadataChange:
    """The state that ended a row's leader epoch."""
    return next(later for later in states if later.leader_epoch > row.leader_epoch)


def _ns(row: MetadataChange) -> int:
    return row.at_ms * MS_NS - WALL_NS


def _at(states: Sequence[MetadataChange], at_ns: int) -> int:
    return max(0, bisect_right(states, at_ns, key=_ns) - 1)


def _configs(rng: Random, topics: Iterable[str], *, unclean: bool) -> list[ConfigChange]:
    """min.insync.replicas of the topic or of the cluster; what the log lacks was reported."""
    rows = []
    for number, topic in enumerate(sorted(topics)):
        settings = {
            "min.insync.replicas": str(MIN_ISR),
            "unclean.leader.election.enable": str(unclean).lower(),
        }
        for key, value in settings.items():
            rows.append(ConfigChange(at_ms=NONE, kind="reported", name=topic, key=key, value=value))
            if rng.random() < 0.5:
                rows.append(
                    ConfigChange(
                        at_ms=WALL_NS // MS_NS,
                        log_offset=number,
                        kind="topic",
                        name=topic,
                        key=key,
                        value=value,
                    )
                )
    return rows


def _clocks(rng: Random, end_ns: int) -> list[ClockPair]:
    """Readings from before the run to after it; the clocks drift by some microseconds."""
    engine = rng.random() < 0.7
    return [
        ClockPair(
            at_ns=at_ns,
            wall_ns=WALL_NS + at_ns + rng.randint(-50_000, 50_000),
            engine_ns=WALL_NS + at_ns + rng.randint(-50_000, 50_000) if engine else NONE,
            error_ns=rng.randint(10_000, 90_000),
        )
        for at_ns in range(-READ_EVERY_NS, end_ns + 2 * READ_EVERY_NS, READ_EVERY_NS)
    ]


def _run(
    rng: Random, controllers: Controllers, tps: Sequence[TopicPartition], end_ns: int, *, wild: bool
) -> None:
    controllers.begin(-READ_EVERY_NS // 2)
    controllers.create(tps, rng)
    away: dict[int, bool] = {}
    for at_ns in sorted(rng.randint(0, end_ns) for _ in range(rng.randint(0, 10))):
        controllers.begin(at_ns)
        _event(rng, controllers, away, most_away=3 if wild else 1)
        if rng.random() < 0.7:
            controllers.begin(at_ns + 3 * MS_NS)
            for tp in tps:
                for node in NODES:
                    controllers.join(tp, node)


def _event(rng: Random, controllers: Controllers, away: dict[int, bool], *, most_away: int) -> None:
    """One broker leaves or comes back (`away`: whether it stopped cleanly), or an election or a lag."""
    tp, node = rng.choice(list(controllers.partitions)), rng.choice(NODES)
    if node in away:
        controllers.register(node, clean=away.pop(node))
        controllers.begin((controllers.at_ms + 2) * MS_NS - WALL_NS)
        controllers.unfence(node)
    elif rng.random() < 0.3:
        controllers.prefer(tp)
    elif len(away) < most_away and _spares(controllers, node, most_away):
        away[node] = rng.random() < 0.5
        if away[node]:
            controllers.shut_down(node)
            controllers.begin((controllers.at_ms + 2) * MS_NS - WALL_NS)
        controllers.fence(node)
    elif not away:
        controllers.drop(tp, node)


def _spares(controllers: Controllers, node: int, most_away: int) -> bool:
    """Whether every ISR stays large enough without a node, where that is asked for."""
    left = [set(state.isr) - {node} for state in controllers.partitions.values()]
    return most_away > 1 or all(len(isr) >= MIN_ISR for isr in left)


def _backs(metadata: Sequence[MetadataChange], history: EditableHistory) -> bool:
    """Whether each acknowledgement of acks=all overlaps a time of enough in-sync replicas."""
    waits = {each.producer for each in history.producers if each.acks == "all"}
    acks = [send for send in history.sends if send.acked and send.producer in waits]
    for tp in {send.tp for send in acks}:
        states = [row for row in metadata if row.tp == tp]
        for row, after in pairwise([*states, None]):
            if row and (row.leader == NONE or len(row.isr) < MIN_ISR):
                until_ns = _ns(after) if after else 1 << 62
                if any(_inside(send, _ns(row), until_ns) for send in acks if send.tp == tp):
                    return False
    return True


def _inside(send: Send, since_ns: int, until_ns: int) -> bool:
    """Nearly: a millisecond is lost to CreateTime, and the spans of two such states may touch."""
    return since_ns - MS_NS <= send.invoked_ns < until_ns + MS_NS or (
        since_ns - MS_NS <= send.completed_ns < until_ns + MS_NS
    )
