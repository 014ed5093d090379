"""Whole runs of three brokers and one partition, orders-0, in seconds: histories in run directories, judged.

Seconds are those of the history's clock and of every wall clock, unless a test gives readings of its own.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from checkers.history.rows import Fault, History, LogRecord, MetadataChange, Read, ReplicaOffset, Send
from fakes.history.history_rows import TOPIC, history, info, logged, ok, read
from fakes.run.run_directories import make_run, reference
from harness.report.judge import judge
from harness.report.report import Report

SECOND = 1_000_000_000
ALL = (1, 2, 3)


def ns(second: float) -> int:
    """A second of the run on the history's clock."""
    return int(second * SECOND)


def acked(sequence: int, offset: int, at: float, *, producer: int = 1) -> Send:
    """A record that was acknowledged at a second; offset -1: without one."""
    return ok(producer, sequence, at=offset, invoked=ns(at) - SECOND // 1000, done=ns(at))


def unanswered(sequence: int, sent: float, *, producer: int = 1) -> Send:
    """A record that nobody acknowledged."""
    return info(producer, sequence, invoked=ns(sent))


def kept(sequence: int, offset: int, epoch: int, *, producer: int = 1) -> LogRecord:
    """A record of the final log."""
    return replace(logged(producer, sequence, offset), leader_epoch=epoch)


def given(sequence: int, offset: int, at: float, *, producer: int = 1) -> Read:
    """What the reader was given at a second."""
    return replace(read(producer, sequence, offset), read_ns=ns(at))


def metadata(*states: tuple[float, int, int, tuple[int, ...]]) -> list[MetadataChange]:
    """The metadata log: (second, leader, leader epoch, ISR), ..."""
    return [
        MetadataChange(
            at_ms=int(second * 1000),
            topic=TOPIC,
            partition=0,
            leader=leader,
            leader_epoch=epoch,
            partition_epoch=number,
            log_offset=number,
            replicas=ALL,
            isr=isr,
        )
        for number, (second, leader, epoch, isr) in enumerate(states)
    ]


def power_loss(second: float, *, back: float, before: int, after: int) -> tuple[Fault, list[ReplicaOffset]]:
    """All brokers lose their power at a second and are back at another; how far their logs reached."""
    down_ns, up_ns = ns(second + 0.2), ns(back - 1)
    fault = Fault(
        index=0,
        name="power",
        kind="power-loss",
        target="brokers",
        nodes=ALL,
        inject_ns=ns(second),
        effect_ns=down_ns,
        heal_ns=up_ns,
        recovered_ns=ns(back),
        down=ALL,
        down_ns=(down_ns,) * 3,
        up_ns=(up_ns,) * 3,
        data_lost=ALL,
        unclean=ALL,
    )
    ends = [
        ReplicaOffset(topic=TOPIC, partition=0, broker=broker, at_ns=at_ns, log_end=end, source=source)
        for broker in ALL
        for at_ns, end, source in (
            (down_ns, before, "before-power-loss"),
            (up_ns, after, "after-power-loss"),
        )
    ]
    return fault, ends


def judged(path: Path, rows: Iterable[Any], *, tables: dict[str, Any], **facts: Any) -> Report:
    """The verdict on a run with these rows and tables, by the reference; what is permitted is expected.

    Without replicas among the tables, none were collected.
    """
    its: History = replace(history(*rows), **tables)
    if not its.replicas:
        its = replace(its, collected=its.collected - {"replicas"})
    schedule = [fault.name for fault in its.faults]
    return judge(make_run(path, its, **{"schedule": schedule, "expect": "any"} | facts), reference)


def findings(report: Report) -> list[tuple[str, str, int, int]]:
    """(property, label, first and last offset) of each finding of a report."""
    return [
        (next(iter(each["counts"])), each["label"], each["first_offset"], each["last_offset"])
        for each in report.document["findings"]
    ]


def clauses(report: Report) -> list[str]:
    """The clause of each finding."""
    return [each["clause"] for each in report.document["findings"]]
