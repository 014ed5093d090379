"""Clock skew: the wall clock of the node's processes is so far ahead of the others', or behind them.

A node meets that with a wrong time server, after a suspended machine, or by a hand. Its monotonic clock goes
on as before, and with it what Kafka waits for by that; whatever it counts by the time of day jumps, when the
clock is set and when it is set right again. Timers that have once seen a later time stand still until it has
come again, so a node that was ahead may be slow to notice a failure for as long as it was ahead.

Effect: the node's own JVM shows a time that is ahead by the offset, give or take NEAR_MS and the time that
the question took. A process started for the question would show only what a new process sees.
Recovery: it shows the time of the others, and the node answers.

Refused where the cluster was started without it: what sets a clock is loaded when a node's process starts,
and only into the nodes that a scenario's plan may set. Of controllers it needs a release whose dump of the
metadata log says which of them wrote a record: else nobody could place the records of one whose clock is
wrong.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Self

from checkers.history.clocks.node_clocks import KIND, offset_ms
from compose.protocols import ClockAhead
from faults.errors import BadStep, NoTarget
from faults.kinds.fault.base import UP, Injection, all_alive, check_free, claim, fit_node, try_all
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.fault.kind import Cost, FaultKind
from faults.kinds.fault.step import Head, Step, TargetStep, Words
from faults.kinds.shared.recovery import answering
from faults.targets.facts import Facts
from faults.targets.target import parse_target
from faults.tasks import as_job

LEAST_MS, MOST_MS = 30_000, 366 * 86_400_000
"""Less would be near to what questions take on a busy machine, and records could not be told apart by their
time; more is no clock that was set wrong."""

NEAR_MS = 250
WIDEST_MS = 10_000
"""A question that took longer shows nothing."""

NAMES_CONTROLLERS = (4, 2)
"""From this release on, the dump of the metadata log has the controller that each leader change names
(KAFKA-19069)."""

_UNITS: Mapping[str, int] = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSkewStep(TargetStep):
    """Set the clocks of nodes ahead by so many milliseconds, or behind."""

    kind: ClassVar[str] = KIND
    keys: ClassVar[tuple[str, ...]] = (*TargetStep.keys, "offset")
    offset_ms: int

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the target and the offset."""
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            target=parse_target(words.get("target")),
            offset_ms=_parse_offset(words.get("offset")),
        )

    def write(self) -> dict[str, str]:
        """Target and offset."""
        return TargetStep.write(self) | {"offset": write_offset(self.offset_ms)}

    @property
    def asked(self) -> str:
        """Target and offset: what reads the history knows by it how far the clocks were off."""
        return f"{self.target}: {write_offset(self.offset_ms)}"

    def check(self, facts: Facts) -> None:
        """A controller only of a release by which its records can be placed."""
        TargetStep.check(self, facts)
        hit = set(self.candidates(facts.brokers, facts.controllers))
        if not hit.isdisjoint(facts.controllers) and facts.release and facts.release < NAMES_CONTROLLERS:
            since = ".".join(map(str, NAMES_CONTROLLERS))
            allowed = (
                f"brokers that are no controllers: before {since} nothing shows whose clock dated a record"
            )
            raise BadStep("target", str(self.target), f"{allowed} of the metadata log")


def _parse_offset(value: object) -> int:
    try:
        found = offset_ms(value.strip() if isinstance(value, str) else "")
    except ValueError:
        found = 0
    if not LEAST_MS <= abs(found) <= MOST_MS:
        raise BadStep("offset", value, "how far ahead or behind, from 30s to 366d, as in +5m, -1h, +8d")
    return found


def write_offset(ahead_ms: int) -> str:
    """The text of an offset, in the largest unit that divides it."""
    for unit, milliseconds in _UNITS.items():
        if ahead_ms % milliseconds == 0:
            return f"{ahead_ms // milliseconds:+d}{unit}"
    return f"{ahead_ms / 1000:+.3f}s"


def clocks_of(
    steps: Iterable[Step], brokers: tuple[int, ...], controllers: tuple[int, ...]
) -> tuple[int, ...]:
    """The nodes whose clocks a plan may set: their processes are to be started so that it can be."""
    setting = (step for step in steps if isinstance(step, ClockSkewStep))
    return tuple(sorted({node for step in setting for node in step.candidates(brokers, controllers)}))


@dataclass(slots=True)
class ClockSkew:
    """Holds the clocks of the injection's nodes off."""

    injection: Injection[ClockSkewStep]
    _nodes: tuple[int, ...] = ()
    _set: list[int] = field(default_factory=list)

    def prepare(self) -> None:
        """Only nodes that all run, whose clocks can be set, are right, and are asked without trouble.

        All, for what places the records of a wrong clock takes each node of the fault for one that has it.
        """
        cluster = self.injection.cluster
        self._nodes = all_alive(self.injection, what="set the clocks of")
        for node in self._nodes:
            if cluster.clock_setting(node) is None:
                raise NoTarget(f"no clock to set: the cluster was started without one of node {node}'s own")
            check_free(self.injection, _clock_of(node))
        if wrong := self._shown(0)[1]:
            raise NoTarget(f"no clock to set: {wrong}")

    @as_job
    def inject(self) -> None:
        """Set."""
        for node in self._nodes:
            with fit_node(self.injection, node, UP):
                claim(self.injection, _clock_of(node))
                self._set.append(node)
                self.injection.cluster.set_clock(node, self.injection.step.offset_ms)

    def effect(self) -> Evidence:
        """Does each JVM show it?"""
        shown, wrong = self._shown(self.injection.step.offset_ms)
        if wrong:
            return NotYet(instead=wrong)
        return Proven(since_ns=self.injection.clock.now_ns(), values=_values(shown))

    @as_job
    def heal(self) -> None:
        """Set right, also of a node that does not run."""
        try_all(partial(self._release, node) for node in tuple(self._set))

    def _release(self, node: int) -> None:
        with self.injection.holds.changing((node,)):
            self.injection.cluster.set_clock(node, 0)
            self._set.remove(node)
            self.injection.holds.give_up(_clock_of(node), self.injection.owner)

    def recovery(self) -> Evidence:
        """Does each JVM show the time of the others, and do all serve?"""
        shown, wrong = self._shown(0)
        if wrong:
            return NotYet(instead=wrong)
        back = answering(self.injection, self._nodes)
        if isinstance(back, Proven):
            return Proven(since_ns=back.since_ns, values={**back.values, **_values(shown)})
        return back

    def _shown(self, wanted_ms: int) -> tuple[Mapping[int, ClockAhead], str]:
        """What each node shows, and which does not show what is wanted; "" if all do."""
        shown = {node: self.injection.cluster.clock_ahead(node) for node in self._nodes}
        return shown, next(_wrong(shown.items(), wanted_ms), "")


def _clock_of(node: int) -> str:
    return f"the clock of node {node}"


def _wrong(shown: Iterable[tuple[int, ClockAhead]], wanted_ms: int) -> Iterator[str]:
    for node, its in shown:
        least, most = its.least_ms, its.most_ms
        if most - least > WIDEST_MS:
            yield f"the clock of node {node} was read within {most - least} ms, which shows nothing"
        elif not least - NEAR_MS <= wanted_ms <= most + NEAR_MS:
            yield f"the clock of node {node} is {least} to {most} ms ahead"


def _values(shown: Mapping[int, ClockAhead]) -> Mapping[str, object]:
    return {
        "ahead_ms": by_name({node: (its.least_ms + its.most_ms) // 2 for node, its in shown.items()}),
        "read_within_ms": by_name({node: its.most_ms - its.least_ms for node, its in shown.items()}),
    }


CLOCK_SKEW = FaultKind(
    step=ClockSkewStep,
    make=ClockSkew,
    shortest_hold_s=1.5,
    cost=Cost(upsets_timers=True),
    does="the wall clock of the node's processes is ahead of the others' by `offset` (+5m), or behind (-1h), "
    "from 30s to 366d; its monotonic clock is left alone. Of a controller only from release 4.2 on",
    effect="the node's own JVM shows a time that is ahead by `offset`",
    healing="the clock shows the time of the others",
    recovery="the JVM shows that too, the node answers",
)
