"""The lines of a node's own log that show the fate of a replica, or of the node.

Lines of Kafka's default loggers, as 3.6 to 4.3 write them. They are read by their fields, not by their whole
wording; a line that is not recognised is left out, so that there is none proves nothing. The nodes' JVMs run
on UTC, and a line has the time of the node's own wall clock.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Kind = Literal[
    "loaded",
    "leader-start",
    "follower-start",
    "fetcher-start",
    "truncated",
    "truncated-below-hw",
    "recovered",
    "unclean-election",
    "halted",
    "version",
]
"""What a line shows: a log was loaded · the node became leader or follower of a partition · it begins to
fetch one · a log was cut · a segment that had not been flushed was read again · an unclean election · the
process ends itself · it names its Kafka release."""

MOST_KEPT = 1000
"""Characters of a line that are kept; what decides is in its front."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLogLine:
    """One recognised line; -1 and "" where it does not say.

    `offset`: the log end when it was loaded or the role began, from where a fetcher fetches, where a log was
    cut, the first offset of a recovered segment. `leader_epoch`: the one that begins, or under which it is
    fetched; of a cut, the last one that both logs have.
    """

    at_ms: int
    kind: Kind
    topic: str = ""
    partition: int = -1
    leader_epoch: int = -1
    offset: int = -1
    high_watermark: int = -1
    line: str = ""


HEAD = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ")
WORTH_A_TRY = re.compile(
    r"Completed load of|starts at leader epoch|Added fetcher to|Truncating|Recovering unflushed|UNCLEAN"
    r"|[Ff]atal|Halting|Shutdown broker|Kafka version:"
)

TP = r"(?P<topic>[\w.-]+)-(?P<partition>\d+)"
ANNOUNCED = "Truncating partition "
PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "loaded",
        re.compile(
            r"Completed load of \w*Log\(.*\btopic=(?P<topic>[\w.-]+), partition=(?P<partition>\d+)"
            r"(?:.*?\bhighWatermark=(?P<high_watermark>\d+))?.*?\blogEndOffset=(?P<offset>\d+)"
        ),
    ),
    (
        "leader-start",
        re.compile(
            rf"Leader {TP} .*?starts at leader epoch (?P<leader_epoch>\d+) from offset (?P<offset>\d+)"
            r"(?:.*?high watermark (?P<high_watermark>\d+))?"
        ),
    ),
    (
        "follower-start",
        re.compile(
            rf"Follower {TP} starts at leader epoch (?P<leader_epoch>\d+) from offset (?P<offset>\d+)"
            r"(?:.*?high watermark (?P<high_watermark>\d+))?"
        ),
    ),
    (
        "truncated",
        re.compile(
            rf"{ANNOUNCED}{TP} with (?:Offset)?TruncationState\((?:offset=)?(?P<offset>\d+)"
            r"(?:.*?EpochEndOffset\(.*?\bleaderEpoch=(?P<leader_epoch>\d+))?"
            r"(?:.*?local high watermark (?P<high_watermark>\d+))?"
        ),
    ),
    (
        "truncated-below-hw",
        re.compile(
            rf"Truncating {TP} to offset (?P<offset>\d+) below high watermark (?P<high_watermark>\d+)"
        ),
    ),
    (
        "truncated",
        re.compile(rf"\[\w*Log partition={TP}, dir=.*\] Truncating to offset (?P<offset>\d+)"),
    ),
    (
        "recovered",
        re.compile(rf"\[\w+ partition={TP}, dir=.*\] Recovering unflushed segment (?P<offset>\d+)"),
    ),
    (
        "unclean-election",
        re.compile(
            rf"UNCLEAN partition change for {TP}(?: with topic ID [\w-]+)?:"
            r"(?:.*?\bleaderEpoch: -?\d+ -> (?P<leader_epoch>\d+))?"
        ),
    ),
    (
        "halted",
        re.compile(
            r"Encountered fatal fault|Halting (?:broker|Kafka)|Shutdown broker because"
            r"|Exiting Kafka due to fatal exception|Fatal error during \w+ startup"
        ),
    ),
    ("version", re.compile(r"Kafka version: \d")),
)
VERSION = re.compile(r"Kafka version: (\d+\.\d+\.\d+)")
REGISTERED = re.compile(r"Successfully registered broker \d+ with broker epoch (\d+)")
FETCHERS = re.compile(r"\[ReplicaFetcherManager on broker \d+\] Added fetcher to broker \d+ for partitions ")
FETCHED = re.compile(
    rf"{TP} -> InitialFetchState\((?:(?! -> ).)*?[\])], ?(?P<leader_epoch>-?\d+), ?(?P<offset>-?\d+)\)"
)
"""One partition of such a line: `leader, currentLeaderEpoch, initOffset` (AbstractFetcherThread.scala); the
log end, at which no earlier fetcher appends any more (ReplicaManager.scala)."""
NO_EFFECT = re.compile(rf"\[\w*Log partition={TP}, dir=.*\] Truncating to \d+ has no effect")


def parse(text: str) -> Iterator[BrokerLogLine]:
    """The recognised lines, in the order of the log.

    A fetcher announces a cut, and the log then reports it, or that there was nothing to cut: that is one line
    here, or none.
    """
    announced: dict[tuple[str, int], BrokerLogLine] = {}
    for line in text.splitlines():
        if not WORTH_A_TRY.search(line) or (head := HEAD.match(line)) is None:
            continue
        if nothing := NO_EFFECT.search(line):
            announced.pop((nothing["topic"], int(nothing["partition"])), None)
        elif fetchers := FETCHERS.search(line):
            yield from _fetched(_at_ms(head[1]), line, fetchers)
        elif found := _recognised(_at_ms(head[1]), line):
            yield from _merged(found, announced)
    yield from announced.values()


def broker_epoch(text: str) -> int:
    """The broker epoch of the last registration (BrokerLifecycleManager.scala); -1 if there is none."""
    found = REGISTERED.findall(text)
    return int(found[-1]) if found else -1


def release(text: str) -> str:
    """The Kafka release that the log names last (AppInfoParser.java), as "4.3.1"; "" if it names none."""
    found = VERSION.findall(text)
    return str(found[-1]) if found else ""


def naming_release(text: str) -> str:
    """The line in which the log names its release last, with its end; "" if there is none."""
    named = [line for line in text.splitlines(keepends=True) if VERSION.search(line)]
    return named[-1] if named else ""


def _fetched(at_ms: int, line: str, fetchers: re.Match[str]) -> Iterator[BrokerLogLine]:
    """A line for each partition of one that may have many."""
    for found in FETCHED.finditer(line, fetchers.end()):
        yield BrokerLogLine(
            at_ms=at_ms,
            kind="fetcher-start",
            topic=found["topic"],
            partition=int(found["partition"]),
            leader_epoch=int(found["leader_epoch"]),
            offset=int(found["offset"]),
            line=f"{line[: fetchers.end()]}{found[0]}"[:MOST_KEPT],
        )


def _merged(found: BrokerLogLine, announced: dict[tuple[str, int], BrokerLogLine]) -> Iterator[BrokerLogLine]:
    """What is known now that `found` was read; an announced cut waits in `announced`."""
    place = (found.topic, found.partition)
    before = announced.pop(place, None)
    if before and found.kind == "truncated" and found.offset == before.offset:
        yield before
        return
    if before:
        yield before
    if ANNOUNCED in found.line:
        announced[place] = found
    else:
        yield found


def _recognised(at_ms: int, line: str) -> BrokerLogLine | None:
    for kind, pattern in PATTERNS:
        if found := pattern.search(line):
            parts = {name: value for name, value in found.groupdict().items() if value is not None}
            topic = parts.pop("topic", "")
            numbers = {name: int(value) for name, value in parts.items()}
            return BrokerLogLine(at_ms=at_ms, kind=kind, topic=topic, line=line[:MOST_KEPT], **numbers)
    return None


def _at_ms(text: str) -> int:
    at = datetime.strptime(text, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
    return round(at.timestamp() * 1000)
