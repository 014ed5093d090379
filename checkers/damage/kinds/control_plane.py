"""Damage to the control plane: what the controllers decided, what was registered, and what leaders
reported."""

from dataclasses import replace
from itertools import pairwise
from random import Random

from checkers.damage.damage_kind import noticed_by, perhaps_harmless
from checkers.damage.editable_history import EditableHistory, NotApplicable, pick, swap
from checkers.damage.healthy.controllers import MIN_ISR, MS_NS, NODES, WALL_NS
from checkers.damage.healthy.simulate import STEP_NS
from checkers.history.rows import BrokerState, MetadataChange, Send, TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.properties import Property


def _states(history: EditableHistory, tp: TopicPartition) -> list[MetadataChange]:
    return [row for row in history.metadata if row.tp == tp]


def _steps(history: EditableHistory) -> list[tuple[MetadataChange, MetadataChange]]:
    """Each state with the one that follows it in its partition."""
    return [pair for tp in history.partitions for pair in pairwise(_states(history, tp))]


@noticed_by(Property.EPOCH_STEP)
def drop_metadata_record(history: EditableHistory, rng: Random) -> None:
    """A record between two others of its partition is not in the log."""
    steps = _steps(history)
    _, lost = pick(rng, [(a, b) for (a, b), (c, _) in pairwise(steps) if b is c])
    history.metadata = [row for row in history.metadata if row is not lost]


@noticed_by(Property.EPOCH_STEP)
def lower_epoch(history: EditableHistory, rng: Random) -> None:
    """From some record on, the leader epochs of a partition are lower; or its partition epochs are."""
    before, since = pick(rng, [pair for pair in _steps(history) if pair[0].partition_epoch > 0])
    name = rng.choice(("leader_epoch", "partition_epoch"))
    by = getattr(since, name) - getattr(before, name) + rng.randint(1, 2)
    lowered = replace(since, **{name: getattr(since, name) - by})
    by += lowered.leader_epoch == lowered.partition_epoch == 0  # it would be a partition made anew
    history.metadata = [
        replace(row, **{name: getattr(row, name) - by})
        if row.tp == since.tp and row.log_offset >= since.log_offset
        else row
        for row in history.metadata
    ]


@noticed_by(Property.ELIGIBLE_STEP)
def make_eligible(history: EditableHistory, rng: Random) -> None:
    """A replica becomes eligible that was neither in sync nor eligible."""
    outside = [
        (row, node)
        for before, row in _steps(history)
        if row.partition_epoch
        for node in {*row.replicas} - {*before.isr, *before.elr, *row.isr}
    ]
    row, node = pick(rng, outside)
    swap(history.metadata, row, replace(row, elr=(*row.elr, node)))


@noticed_by(Property.LEADER_LEGAL)
def forge_election(history: EditableHistory, rng: Random) -> None:
    """A replica that was neither in sync nor eligible is elected, cleanly or not, though nothing allows
    that."""
    if any(row.key.startswith("unclean") and row.value == "true" for row in history.configs):
        raise NotApplicable
    states = [_states(history, tp)[-1] for tp in history.partitions]
    state = pick(rng, [s for s in states if 0 < len(s.isr) < len(s.replicas)])
    fit = {*state.isr, *state.elr, *state.last_known_elr}
    outsider = pick(rng, [node for node in state.replicas if node not in fit])
    history.metadata.append(
        replace(
            state,
            log_offset=_end(history),
            leader=outsider,
            leader_epoch=state.leader_epoch + 1,
            partition_epoch=state.partition_epoch + 1,
            isr=(outsider,),
            elr=(),
            last_known_elr=(),
            recovering=rng.random() < 0.5,
        )
    )


@noticed_by(Property.LEADER_LEGAL)
def elect_outside_isr(history: EditableHistory, rng: Random) -> None:
    """The leader that an election names is not in the ISR that comes with it."""
    elections = [b for a, b in _steps(history) if b.leader != NONE and b.leader_epoch > a.leader_epoch]
    row = pick(rng, [row for row in elections if len(row.isr) > 1])
    swap(history.metadata, row, replace(row, isr=tuple(n for n in row.isr if n != row.leader)))


@noticed_by(Property.FENCED_OUT)
def fence_without_removal(history: EditableHistory, rng: Random) -> None:
    """A broker is fenced, or begins to shut down, and stays in the ISR of its partitions."""
    states = [_states(history, tp)[-1] for tp in history.partitions]
    state = pick(rng, [state for state in states if state.leader != NONE])
    known = [row for row in history.brokers if row.node in state.isr]
    node = pick(rng, sorted({row.node for row in known}))
    last = max((row for row in known if row.node == node), key=lambda row: row.log_offset)
    flags = rng.choice(({"fenced": True}, {"in_controlled_shutdown": True}, {"registered": False}))
    offset, at_ms = _end(history), max(row.at_ms for row in history.metadata) + 5
    history.brokers.append(_flagged(replace(last, log_offset=offset, at_ms=at_ms), flags))


def _flagged(state: BrokerState, flags: dict[str, bool]) -> BrokerState:
    return BrokerState(
        at_ms=state.at_ms,
        log_offset=state.log_offset,
        node=state.node,
        broker_epoch=state.broker_epoch,
        registered=flags.get("registered", True),
        fenced=flags.get("fenced", False),
        in_controlled_shutdown=flags.get("in_controlled_shutdown", False),
    )


def _end(history: EditableHistory) -> int:
    """An offset behind all of the metadata log."""
    rows = [row.log_offset for row in history.metadata] + [row.log_offset for row in history.brokers]
    return max(rows) + 1


@noticed_by(Property.ACK_CONTRACT)
def acknowledge_below_min_isr(history: EditableHistory, rng: Random) -> None:
    """The ISR was too small around an acknowledgement of acks=all, and its leader reported that."""
    send = _acked_by_all(history, rng)
    early_ns, late_ns = send.invoked_ns - 20 * STEP_NS, send.completed_ns + 20 * STEP_NS
    first = _states(history, send.tp)[0]
    small = replace(
        first,
        at_ms=(WALL_NS + early_ns) // MS_NS,
        partition_epoch=first.partition_epoch + 1,
        isr=first.isr[: MIN_ISR - 1],
    )
    back = replace(first, at_ms=(WALL_NS + late_ns) // MS_NS, partition_epoch=first.partition_epoch + 2)
    others = [row for row in history.metadata if row.tp != send.tp]
    history.metadata = [first, *others, small, back]
    history.metadata = [replace(row, log_offset=at + 100) for at, row in enumerate(history.metadata)]
    history.watermarks.append(
        Watermark(
            at_ns=early_ns + STEP_NS,
            topic=send.topic,
            partition=send.partition,
            leader=small.leader,
            leader_epoch=small.leader_epoch,
            isr=small.isr,
        )
    )


def _acked_by_all(history: EditableHistory, rng: Random) -> Send:
    waits = {each.producer for each in history.producers if each.acks == "all"}
    return pick(rng, [send for send in history.sends if send.acked and send.producer in waits])


@noticed_by(Property.HW_MONOTONE)
def lower_watermark(history: EditableHistory, rng: Random) -> None:
    """A leader, or its successor, answers a lower high watermark than the one before."""
    sample = pick(rng, [s for s in history.watermarks if s.leader_epoch != NONE and s.high_watermark > 0])
    history.watermarks.append(
        replace(
            sample,
            at_ns=sample.at_ns + rng.randint(1, STEP_NS),
            leader_epoch=sample.leader_epoch + rng.choice((0, 0, 1)),
            high_watermark=rng.randrange(sample.high_watermark),
        )
    )


@noticed_by(Property.EARLY_READ, Property.HW_MONOTONE)
def answer_below_what_was_read(history: EditableHistory, rng: Random) -> None:
    """A reader was given a record before the last leader's high watermark had passed it; or that fell, if an
    earlier sample had."""
    if len(history.clocks) < 2:  # nobody knows when an epoch ended
        raise NotApplicable
    decided = history.decided()
    read = pick(rng, [read for read in history.reads if read.tp in decided])
    last = pick(rng, _states(history, read.tp)[-1:])
    asked_ns = read.read_ns + rng.randint(1, STEP_NS)
    history.watermarks.append(
        Watermark(
            at_ns=asked_ns + rng.randint(0, STEP_NS),
            asked_ns=asked_ns,
            topic=read.topic,
            partition=read.partition,
            leader=last.leader,
            leader_epoch=last.leader_epoch,
            isr=last.isr,
            high_watermark=rng.randint(max(0, read.offset - 3), read.offset),
        )
    )


@noticed_by(Property.EPOCH_STEP)
def sample_another_leader(history: EditableHistory, rng: Random) -> None:
    """Two brokers report that they lead under one epoch, or one under an epoch that was never given out."""
    sample = pick(rng, [s for s in history.watermarks if s.leader_epoch != NONE])
    epochs = {row.leader_epoch for row in _states(history, sample.tp)}
    leaders = {row.leader for row in _states(history, sample.tp) if row.leader_epoch == sample.leader_epoch}
    other = replace(sample, leader=pick(rng, [node for node in NODES if node not in leaders]))
    unknown = replace(sample, leader_epoch=max(epochs) + 1)
    history.watermarks.append(rng.choice((other, unknown)))


@perhaps_harmless
def step_clock(history: EditableHistory, rng: Random) -> None:
    """The wall clock is set forward or back in the middle of the run: the slack grows by as much."""
    since, by_ns = pick(rng, history.clocks), rng.choice((-1, 1)) * rng.randint(1, 30) * STEP_NS
    history.clocks = [
        replace(pair, wall_ns=pair.wall_ns + by_ns, engine_ns=max(NONE, pair.engine_ns + by_ns))
        if pair.at_ns >= since.at_ns
        else pair
        for pair in history.clocks
    ]


@perhaps_harmless
def forget_control_plane(history: EditableHistory, rng: Random) -> None:
    """One table of the control plane was not collected, or lacks a row."""
    name = rng.choice(("brokers", "configs", "producers", "clocks"))
    if rng.random() < 0.5:
        history.collected.discard(name)
        setattr(history, name, [])
    else:
        rows = getattr(history, name)
        rows.remove(pick(rng, rows))


@perhaps_harmless
def change_acks(history: EditableHistory, rng: Random) -> None:
    """A producer asked for something else."""
    producer = pick(rng, history.producers)
    swap(history.producers, producer, replace(producer, acks=rng.choice(("0", "1", "all"))))


@perhaps_harmless
def raise_min_isr(history: EditableHistory, rng: Random) -> None:
    """A topic's min.insync.replicas was another one, or is removed in the middle of the run."""
    row = pick(rng, [row for row in history.configs if row.key == "min.insync.replicas"])
    state = pick(rng, history.metadata)
    changed = replace(
        row, kind="topic", value=rng.choice("123"), log_offset=state.log_offset, at_ms=state.at_ms
    )
    history.configs.append(replace(changed, removed=rng.random() < 0.3))


CONTROL_PLANE_KINDS = (
    drop_metadata_record,
    lower_epoch,
    make_eligible,
    forge_election,
    elect_outside_isr,
    fence_without_removal,
    acknowledge_below_min_isr,
    lower_watermark,
    answer_below_what_was_read,
    sample_another_leader,
    step_clock,
    forget_control_plane,
    change_acks,
    raise_min_isr,
)
