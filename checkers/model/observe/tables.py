"""The tables of a history from what was observed: clients, metadata log, brokers' own lines, machine."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from checkers.history.metadata_log.settings import ELR_FEATURE, MIN_ISR, UNCLEAN
from checkers.history.rows import (
    BrokerLine,
    BrokerState,
    ClientEvent,
    ClockPair,
    ConfigChange,
    LogRecord,
    MetadataAppend,
    MetadataChange,
    NodeEvent,
    Pressure,
    Read,
    Send,
)
from checkers.history.rows import Producer as ProducerRow
from checkers.history.tables import NONE, Outcome
from checkers.model.case import BROKERS, CONTROLLERS, NEVER_FLUSHED, TOPIC, ModelSettings
from checkers.model.clients.producer import Producer
from checkers.model.clients.reader import Reader
from checkers.model.kafka.changed_settings import ElrSet, MinIsrSet
from checkers.model.kafka.cluster import BOOT_AT_S, Line
from checkers.model.kafka.controller import Append, Record, Registration
from checkers.model.kafka.log import Sent
from checkers.model.kafka.partition_change import PartitionState
from checkers.model.observe.clock import ORIGIN_MS, nanoseconds, wall_ms
from checkers.model.observe.final_read import Found

STATISTICS_S, CALM_S = 0.5, 5.0
"""How often a client reports, and how long it does not while nothing goes wrong."""


def sends(records: Iterable[Sent]) -> list[Send]:
    """All sends, by partition."""
    ordered = sorted(records, key=lambda one: one.partition)
    return [
        Send(
            topic=TOPIC,
            partition=one.partition,
            producer=one.producer,
            sequence=one.sequence,
            checksum=one.checksum,
            invoked_ns=nanoseconds(one.invoked_s),
            completed_ns=nanoseconds(one.completed_s) if one.done else NONE,
            outcome=Outcome(one.outcome),
            offset=one.offset,
            error=one.error,
        )
        for one in ordered
    ]


def final_log(partition: int, found: Iterable[Found]) -> list[LogRecord]:
    """The final log of one partition."""
    return [
        LogRecord(
            topic=TOPIC,
            partition=partition,
            producer=one.record.producer,
            sequence=one.record.sequence,
            checksum=one.checksum,
            offset=one.offset,
            leader_epoch=one.leader_epoch,
            timestamp_ms=one.record.timestamp_ms,
        )
        for one in found
    ]


def reads(readers: Sequence[Reader]) -> list[Read]:
    """What all readers were given, by partition, each in the order of its time."""
    rows = []
    for partition in range(len(readers[0].delivered) if readers else 0):
        given = [(one.at_s, reader.number, one) for reader in readers for one in reader.delivered[partition]]
        given.sort(key=lambda entry: entry[:2])
        rows += [
            Read(
                topic=TOPIC,
                partition=partition,
                producer=one.record.producer,
                sequence=one.record.sequence,
                checksum=one.checksum,
                reader=number,
                generation=one.generation,
                offset=one.offset,
                leader_epoch=one.leader_epoch,
                read_ns=nanoseconds(at_s),
            )
            for at_s, number, one in given
        ]
    return rows


def metadata(records: Iterable[Record]) -> list[MetadataChange]:
    """The changes of partitions."""
    return [
        MetadataChange(
            topic=TOPIC,
            partition=one.state.partition,
            at_ms=wall_ms(one.at_s + one.ahead_s),
            leader=one.state.leader,
            leader_epoch=one.state.leader_epoch,
            partition_epoch=one.state.partition_epoch,
            replicas=one.state.replicas,
            isr=one.state.isr,
            elr=one.state.elr,
            last_known_elr=one.state.last_known_elr,
            log_offset=one.offset,
            recovering=one.state.recovering,
            controller=one.controller,
        )
        for one in records
        if isinstance(one.state, PartitionState)
    ]


def metadata_appends(appends: Iterable[Append]) -> list[MetadataAppend]:
    """The appends to the metadata log."""
    return [
        MetadataAppend(
            at_ms=wall_ms(one.at_s + one.ahead_s), log_offset=one.offset, controller=one.controller
        )
        for one in appends
    ]


def brokers(records: Iterable[Record]) -> list[BrokerState]:
    """The changes of registrations."""
    return [
        BrokerState(
            at_ms=wall_ms(one.at_s + one.ahead_s),
            log_offset=one.offset,
            node=one.state.node,
            broker_epoch=one.state.broker_epoch,
            fenced=one.state.fenced,
            in_controlled_shutdown=one.state.stopping,
            log_dirs=one.state.log_dirs,
            controller=one.controller,
        )
        for one in records
        if isinstance(one.state, Registration)
    ]


def configs(settings: ModelSettings, first: MetadataChange) -> list[ConfigChange]:
    """What was formatted into the metadata log, what the topic asks for, and what is in effect for it.

    `first`: the record that made the topic's first partition.
    """
    in_effect = {
        MIN_ISR: str(settings.min_isr),
        UNCLEAN: str(settings.unclean_election).lower(),
        "flush.messages": str(settings.flush_messages),
        "flush.ms": str(NEVER_FLUSHED),
        "retention.ms": str(round(settings.retention_s * 1000)),
    }
    reported = [
        ConfigChange(at_ms=NONE, log_offset=NONE, kind="reported", name=TOPIC, key=key, value=value)
        for key, value in in_effect.items()
    ]
    formatted_ms = wall_ms(BOOT_AT_S) - 500
    features = {"metadata.version": "30"} | ({ELR_FEATURE: "1"} if settings.elr else {})
    formatted = [
        ConfigChange(
            at_ms=formatted_ms,
            log_offset=2 + at,
            kind="feature",
            name=name,
            value=level,
            controller=first.controller,
        )
        for at, (name, level) in enumerate(features.items())
    ]
    cluster = ConfigChange(
        at_ms=formatted_ms,
        log_offset=8,
        kind="cluster",
        key=MIN_ISR,
        value=str(settings.min_isr),
        controller=first.controller,
    )
    asked = [MIN_ISR]
    asked += [UNCLEAN] if settings.unclean_election else []
    asked += ["flush.messages"] if settings.flush_messages != NEVER_FLUSHED else []
    topic = [
        ConfigChange(
            at_ms=first.at_ms,
            log_offset=first.log_offset - len(asked) + at,
            kind="topic",
            name=TOPIC,
            key=key,
            value=in_effect[key],
            controller=first.controller,
        )
        for at, key in enumerate(asked)
    ]
    return [*reported, *formatted, *([cluster] if settings.elr else []), *topic]


def config_changes(settings: ModelSettings, records: Iterable[Record]) -> list[ConfigChange]:
    """The settings that were changed later; a feature at level 0 is removed. Where ELR was never on, the
    default of min.insync.replicas comes before it."""
    rows: list[ConfigChange] = []
    had_elr = settings.elr
    for one in records:
        match one.state:
            case MinIsrSet(value=value):
                what = {"kind": "topic", "name": TOPIC, "key": MIN_ISR, "value": str(value)}
            case ElrSet(on=on):
                what = {"kind": "feature", "name": ELR_FEATURE, "value": "1" if on else ""}
            case _:
                continue
        row = ConfigChange(
            at_ms=wall_ms(one.at_s + one.ahead_s),
            log_offset=one.offset,
            removed=not what["value"],
            controller=one.controller,
            **what,
        )
        if isinstance(one.state, ElrSet) and not had_elr:
            default = replace(row, log_offset=row.log_offset - 1, kind="cluster", name="", removed=False)
            rows.append(replace(default, key=MIN_ISR, value=str(settings.min_isr)))
            had_elr = True
        rows.append(row)
    return rows


def producers(instances: Iterable[Producer]) -> list[ProducerRow]:
    """What each producer asked for."""
    return [
        ProducerRow(producer=one.number, acks=one.settings.acks, idempotence=one.settings.idempotence)
        for one in instances
    ]


def client_events(instance: Producer, begin_s: float, end_s: float) -> list[ClientEvent]:
    """The reports of one producer's client: every half second with trouble, else every five."""
    zero = nanoseconds(begin_s)
    rows = [ClientEvent(at_ns=zero, since_ns=zero, producer=instance.number, broker=-1)]
    trouble = sorted(instance.trouble, key=lambda one: one.at_s)
    at_s, since_s, next_one = begin_s, begin_s, 0
    while at_s < end_s:
        at_s = min(at_s + STATISTICS_S, end_s)
        met = []
        while next_one < len(trouble) and trouble[next_one].at_s <= at_s:
            met.append(trouble[next_one])
            next_one += 1
        if not met and at_s < end_s and at_s - since_s < CALM_S:
            continue
        for broker in sorted({one.broker for one in met}) or [-1]:
            of = [one for one in met if one.broker == broker]
            rows.append(
                ClientEvent(
                    at_ns=nanoseconds(at_s),
                    since_ns=nanoseconds(since_s),
                    producer=instance.number,
                    broker=broker,
                    disconnects=sum(one.disconnects for one in of),
                    retries=sum(one.retries for one in of),
                )
            )
        since_s = at_s
    return rows


def first_starts() -> list[NodeEvent]:
    """The start of every process, before the run."""
    roles = {-1: "proxy"} | dict.fromkeys(CONTROLLERS, "controller") | dict.fromkeys(BROKERS, "broker")
    return [
        NodeEvent(at_ns=nanoseconds(BOOT_AT_S - 1.0 + 0.1 * at), node=node, role=role, event="started")
        for at, (node, role) in enumerate(roles.items())
    ]


def last_ends(ends: Iterable[tuple[float, int, bool]]) -> list[NodeEvent]:
    """The ends of the brokers after the run: when, which, and whether cleanly."""
    return [
        NodeEvent(
            at_ns=nanoseconds(at_s),
            node=node,
            role="broker",
            event="exited",
            exit_code=143 if clean else 137,
        )
        for at_s, node, clean in ends
    ]


def clocks(begin_s: float, end_s: float) -> list[ClockPair]:
    """A reading of all clocks every two seconds; they do not move apart."""
    count = int((end_s - begin_s) / 2.0) + 2
    times = [begin_s + 2.0 * at for at in range(count)]
    wall_0 = ORIGIN_MS * 1_000_000 - nanoseconds(0.0)
    return [
        ClockPair(
            at_ns=nanoseconds(at_s),
            wall_ns=wall_0 + nanoseconds(at_s),
            engine_ns=wall_0 + nanoseconds(at_s),
            error_ns=1200,
        )
        for at_s in times
    ]


def pressure(begin_s: float, end_s: float) -> list[Pressure]:
    """A machine that is hardly busy, every second."""
    return [
        Pressure(
            at_ns=nanoseconds(begin_s + at),
            span_ns=1_000_000_000,
            stall_ns=20_000_000,
            steal_ns=0,
            busy_ns=150_000_000,
            late_ns=2_000_000,
        )
        for at in range(1, int(end_s - begin_s) + 2)
    ]


def broker_lines(lines: Iterable[Line]) -> list[BrokerLine]:
    """The lines of the nodes' own logs, node by node."""
    return [
        BrokerLine(
            topic=TOPIC,
            partition=one.partition,
            at_ms=wall_ms(one.at_s + one.ahead_s),
            node=one.node,
            kind=one.kind,
            leader_epoch=one.leader_epoch,
            offset=one.offset,
            high_watermark=one.high_watermark,
            line=_text(one),
        )
        for one in sorted(lines, key=lambda one: (one.node, one.at_s))
    ]


def _text(line: Line) -> str:
    tp = f"{TOPIC}-{line.partition}"
    match line.kind:
        case "leader-start":
            return f"Leader {tp} starts at leader epoch {line.leader_epoch} from offset {line.offset}"
        case "follower-start":
            return f"Follower {tp} starts at leader epoch {line.leader_epoch} from offset {line.offset}"
        case "fetcher-start":
            return f"Added fetcher for {tp} from offset {line.offset} under epoch {line.leader_epoch}"
        case "loaded":
            return f"Completed load of Log(dir=/data/kafka/{tp}, logEndOffset={line.offset})"
        case "recovered":
            return f"Recovering unflushed segment 0. 0 recovered for {tp}."
        case "truncated":
            return f"Truncating partition {tp} with TruncationState(offset={line.offset}, completed=true)"
        case "truncated-below-hw":
            return f"Truncating {tp} to offset {line.offset} below high watermark {line.high_watermark}"
        case _:
            return f"UNCLEAN partition change for {tp}"
