"""The settings that decide what may be lost, as they changed while a run went on.

A topic begins with the settings that it was read back with. A later record of the metadata log may change
one: the controller elects by it from that record on, but a broker that leads goes by the older value until
it has learnt of the newer one, and one that is cut off learns of it much later. So at a time several values
may be in force; a loss is judged by each of them, and decided only where all agree.

Invariant: `between` has every value that some leader may have gone by in a span of time.
Evidence: the configs table, along the metadata log; the faults that changed a setting, which have seen every
broker know the new value (`effect_ns`) and the old one again (`recovered_ns`).
Counterexample to "the record in the metadata log decides":
    min.insync.replicas goes from 1 to 2 at 10 s; leader 1, alone in sync, is cut off from 9 s to 15 s
    at 12 s it acknowledges a record that only it has: one unclean shutdown may take it
Counterexample to "what was acknowledged keeps the promise of its time":
    min.insync.replicas is 2 when a record is acknowledged that all three replicas have, and 1 from 10 s on
    at 20 s leader 1 is alone in sync: one is enough, so nobody else is eligible when it loses its power
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Generic, TypeVar

from checkers.contract.realised.downtimes import NEVER_NS
from checkers.contract.realised.timeline import Clock, Election
from checkers.history.metadata_log.settings import ELR_FEATURE, MIN_ISR, UNCLEAN, Settings
from checkers.history.operations.changed_settings import known_by_all_ns
from checkers.history.operations.node_releases import UncleanBySetting
from checkers.history.rows import ConfigChange, Context
from checkers.history.tables import NONE

FLUSH_MESSAGES = "flush.messages"
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPromise:
    """The settings of a topic that decide what may be lost, as it was made."""

    min_isr: int = 1
    """As a leader counts: at most the number of replicas."""
    unclean: bool = False
    flush_messages: int = 0
    """Records after which the log is flushed; 1: before each acknowledgement; 0: when the kernel likes."""
    retention_ms: int = 7 * 86_400_000
    """Older records are deleted; -1: none are. No run changes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Settings by which one loss is judged: those of its topic, and whether the cluster had ELR on.

    `unclean`: whether the controllers elect a replica that is not in sync, without being asked to.
    """

    min_isr: int
    unclean: bool
    flush_messages: int
    elr: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce(Generic[Value]):
    """A value (None: not known) that was set at `log_offset`, and that some broker may have gone by from
    `since_ns` until `until_ns`."""

    value: Value
    log_offset: int
    since_ns: int
    until_ns: int


class TermsOverTime:
    """The terms of each topic along a run."""

    def __init__(self, context: Context, clock: Clock, elr: bool) -> None:
        """`elr`: whether it was on, in a run whose metadata log does not turn it on or off."""
        self._context, self._clock, self._elr = context, clock, elr
        self._settings = Settings(context.configs)
        self._unclean_by_setting = UncleanBySetting(context.broker_lines)
        placed = (row for row in reversed(context.metadata) if row.log_offset != NONE)
        self._changes = {row.log_offset: row for row in placed}
        self._made_at: dict[str, int] = {}
        self._fewest: dict[str, int] = {}
        """The fewest replicas that a partition of a topic has had."""
        for row in context.metadata:
            self._fewest[row.topic] = min(len(row.replicas), self._fewest.get(row.topic, len(row.replicas)))

    def of(
        self,
        name: str,
        topic: TopicPromise,
        since_ns: int,
        election: Election | None,
        last_enough_ns: Callable[[int], int] = lambda least: NONE,
    ) -> tuple[Terms | None, ...]:
        """All that may have been in force from a time until an election, and uncleanly elected at it.

        `last_enough_ns`: when so many replicas that had what is judged were last in sync before that, NONE if
        they never were. As many as the strictest value wants leave nobody else eligible, so what
        min.insync.replicas and ELR were before does not matter any more.
        None among the terms: a setting was changed to what is not known. Without an election none decides.
        """
        at_ns, offset = (election.at_ns, election.log_offset) if election else (since_ns, NONE)
        since_ns = min(since_ns, at_ns)  # a deposed leader appends after the election that has removed it
        slack_ns, by_min_isr = self._clock.slack_ns, self.min_isr(name, topic)
        wanted = [value for value in between(by_min_isr, since_ns, at_ns, slack_ns) if value is not None]
        counts_ns = max(since_ns, last_enough_ns(max(wanted, default=1)))
        ways = product(
            between(by_min_isr, counts_ns, at_ns, slack_ns),
            (_at(self._unclean(name, topic), offset) if self.reads_unclean(election) else False,),
            between(self._flush(name, topic), since_ns, at_ns, slack_ns),
            between(self.elr(name), counts_ns, at_ns, slack_ns),
        )
        found = (
            None
            if min_isr is None or unclean is None or flush is None or elr is None
            else Terms(min_isr=min_isr, unclean=unclean, flush_messages=flush, elr=elr)
            for min_isr, unclean, flush, elr in ways
        )
        return tuple(dict.fromkeys(found))

    def reads_unclean(self, election: Election | None) -> bool:
        """Whether the controller that decided an election goes by unclean.leader.election.enable."""
        decided = self._changes.get(election.log_offset) if election else None
        return self._unclean_by_setting.when(decided)

    def marks(self, name: str, topic: TopicPromise) -> Iterator[int]:
        """The times at which terms begin and end."""
        for values in (self.min_isr(name, topic), self._flush(name, topic), self.elr(name)):
            yield from (at_ns for each in values for at_ns in (each.since_ns, each.until_ns))

    def min_isr(self, name: str, topic: TopicPromise) -> Sequence[InForce[int | None]]:
        """min.insync.replicas of a topic, by time, as a leader counts: at most the number of replicas."""
        fewest = self._fewest.get(name)
        return self._along(
            name, MIN_ISR, topic.min_isr, lambda text: int(text) if fewest is None else min(int(text), fewest)
        )

    def _unclean(self, name: str, topic: TopicPromise) -> Sequence[InForce[bool | None]]:
        return self._along(name, UNCLEAN, topic.unclean, lambda text: text.lower() == "true")

    def _flush(self, name: str, topic: TopicPromise) -> Sequence[InForce[int | None]]:
        return self._along(name, FLUSH_MESSAGES, topic.flush_messages, int)

    def elr(self, name: str) -> Sequence[InForce[bool | None]]:
        """Whether ELR was on, by time. It is the controllers' alone: no broker has to learn of it."""
        made = self._made(name)
        rows = sorted(
            (row for row in self._context.configs if row.kind == "feature" and row.name == ELR_FEATURE),
            key=lambda row: row.log_offset,
        )
        later = [row for row in rows if row.log_offset > made]
        earlier = [row for row in rows if row.log_offset <= made]
        first = _level(earlier[-1]) > 0 if earlier else self._elr and not later
        changes = [(row, _level(row) > 0) for row in later]
        return _spans(first, changes, self._clock, lambda row: self._clock.at(row.at_ms))

    def _along(
        self, name: str, key: str, first: Value, read: Callable[[str], Value]
    ) -> Sequence[InForce[Value | None]]:
        """A setting of a topic since it was made."""
        later = [
            row
            for row in self._settings.changes(name, key)
            if row.log_offset > self._made(name) and row.kind != "reported" and row.key == key
        ]
        texts = [self._settings.at(name, key, row.log_offset) for row in later]
        changes = [
            (row, None if text is None else read(text)) for row, text in zip(later, texts, strict=True)
        ]
        return _spans(first, changes, self._clock, lambda row: self._known_ns(name, row))

    def _made(self, name: str) -> int:
        """The offset of the last record that made the topic's partitions; NONE if that is not known."""
        if not self._made_at:
            for row in self._context.metadata:
                if row.leader_epoch == 0 and row.partition_epoch == 0:
                    self._made_at[row.topic] = max(row.log_offset, self._made_at.get(row.topic, NONE))
        return self._made_at.get(name, NONE)

    def _known_ns(self, name: str, row: ConfigChange) -> int:
        """When every broker had learnt of a change; NEVER_NS: nothing shows it."""
        known_ns = known_by_all_ns(name, row, self._context.faults, self._clock)
        return NEVER_NS if known_ns is None else known_ns


def _spans(
    first: Value,
    changes: Sequence[tuple[ConfigChange, Value | None]],
    clock: Clock,
    known_ns: Callable[[ConfigChange], int],
) -> Sequence[InForce[Value | None]]:
    """The values one after the other; each until every broker has learnt of the next one."""
    found: list[InForce[Value | None]] = [
        InForce(value=first, log_offset=NONE, since_ns=0, until_ns=NEVER_NS)
    ]
    for row, value in changes:
        if value is None or value != found[-1].value:
            found[-1] = replace(found[-1], until_ns=known_ns(row))
            at_ns = clock.at(row.at_ms)
            found.append(InForce(value=value, log_offset=row.log_offset, since_ns=at_ns, until_ns=NEVER_NS))
    return found


def between(
    values: Sequence[InForce[Value]], since_ns: int, until_ns: int, slack_ns: int
) -> tuple[Value, ...]:
    """The values that some broker may have gone by in [since_ns, until_ns], each once."""
    begin, end = since_ns - slack_ns, until_ns + slack_ns
    return tuple(
        dict.fromkeys(each.value for each in values if each.since_ns <= end and begin <= each.until_ns)
    )


def _at(values: Sequence[InForce[Value]], log_offset: int) -> Value:
    """The value after a record of the metadata log: that by which the controller goes."""
    return next(each.value for each in reversed(values) if each.log_offset <= log_offset)


def _level(row: ConfigChange) -> int:
    return 0 if row.removed else int(row.value)
