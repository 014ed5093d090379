"""Pulses: nodes are held still and let go in turn, for as long as the fault holds.

A steady fault is seen once and waited for; pulses shorter than the limits of lag and session are not seen at
all, but each lets time-outs run on, requests pile up, and a process find that its clock has jumped.
Effect: in two pulses in a row each node is held, at both ends of the pulse, and a counter of it stands still;
between them it moves. A slow counter stands still by itself now and then.

The first pulse begins with the injection. A pulse that cannot be made is left out, and the next one tried.
"""

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import ClassVar, Generic, Self, TypeVar

from compose.errors import ComposeError
from faults.clock import ns
from faults.durations import parse_duration, write_duration
from faults.errors import BadStep
from faults.kinds.fault.base import UP, Injection, check_fit, try_all
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name, seconds
from faults.kinds.fault.node_holds import Hold
from faults.kinds.fault.step import Head, TargetStep, Words
from faults.targets.facts import Facts
from faults.targets.target import parse_target
from faults.tasks import Task, in_background, sleep_until

SHORTEST_S = 0.1
"""A change takes half as long by itself."""

LONGEST_S = 10.0
"""What is longer is a pause or a stall, several times."""

PULSES = 3
"""So many have time within the shortest hold: two to prove it, and one to spare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsedStep(TargetStep, ABC):
    """Nodes in pulses: held for `on_s`, let go for `off_s`. `change_s`: what both changes of a pulse take."""

    keys: ClassVar[tuple[str, ...]] = (*TargetStep.keys, "on", "off")
    change_s: ClassVar[float]
    on_s: float
    off_s: float

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the target, and how long a pulse and the time between two are."""
        target = parse_target(words.get("target"))
        on_s, off_s = (parse_length(words.get(key), key) for key in ("on", "off"))
        return cls(
            name=head.name, start=head.start, hold_s=head.hold_s, target=target, on_s=on_s, off_s=off_s
        )

    def write(self) -> dict[str, str]:
        """Target and lengths."""
        lengths = {"on": write_duration(self.on_s), "off": write_duration(self.off_s)}
        return TargetStep.write(self) | lengths

    @classmethod
    def shortest_hold_s(cls, on_s: float = SHORTEST_S, off_s: float = SHORTEST_S) -> float:
        """The time of PULSES pulses."""
        return round(PULSES * (on_s + off_s + cls.change_s), 3)

    def check(self, facts: Facts) -> None:
        """The hold must have time for as many pulses as prove it."""
        TargetStep.check(self, facts)
        needed_s = self.shortest_hold_s(self.on_s, self.off_s)
        if self.hold_s < needed_s:
            allowed = f"at least {needed_s:g}s: fewer than {PULSES} pulses cannot be proven"
            raise BadStep("for", write_duration(self.hold_s), allowed)


def parse_length(value: object, field: str) -> float:
    """Seconds of a pulse, or of the time between two."""
    length_s = parse_duration(value, field)
    if not SHORTEST_S <= length_s <= LONGEST_S:
        raise BadStep(field, value, f"from {write_duration(SHORTEST_S)} to {write_duration(LONGEST_S)}")
    return length_s


StepT = TypeVar("StepT", bound=PulsedStep)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """How a node is held still and let go, whether it is held, and a counter that moves unless it is."""

    hold: Hold
    on: Callable[[int], None]
    off: Callable[[int], None]
    is_on: Callable[[int], bool]
    counter: Callable[[int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Whether all nodes were held at one time, and their counters then."""

    all_held: bool
    counters: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """One pulse: what was read as soon as all nodes were held, and just before they were let go."""

    begin_ns: int
    end_ns: int
    first: Reading
    last: Reading


@dataclass(slots=True)
class PulseTrain(Generic[StepT]):
    """Holds the nodes in pulses until it is ended."""

    injection: Injection[StepT]
    switch: Switch
    nodes: tuple[int, ...] = ()
    _pulses: list[Pulse] = field(default_factory=list)
    _held: tuple[int, Reading] | None = None
    _is_over: bool = False
    _trouble: str = ""

    def begin(self) -> None:
        """Begin a pulse; nothing if the train has ended."""
        holds = self.injection.holds
        with holds.changing(self.nodes):
            if self._is_over:
                return
            for node in self.nodes:
                check_fit(self.injection, node, UP if self.switch.hold == "paused" else ("running",))
            for node in self.nodes:
                holds.take("pulsed", node, self.injection.owner)
                holds.take(self.switch.hold, node, self.injection.owner)
                self.switch.on(node)
            self._held = self.injection.clock.now_ns(), self._read()

    def _end_pulse(self) -> None:
        with self.injection.holds.changing(self.nodes):
            if self._is_over:
                return
            try:
                self._note_pulse()
            finally:
                self._let_go()

    def _note_pulse(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            (begin_ns, first), last = held, self._read()
            end_ns = self.injection.clock.now_ns()
            self._pulses.append(Pulse(begin_ns=begin_ns, end_ns=end_ns, first=first, last=last))

    def _read(self) -> Reading:
        return Reading(
            all_held=all(map(self.switch.is_on, self.nodes)),
            counters={node: self.switch.counter(node) for node in self.nodes},
        )

    def _let_go(self) -> None:
        """Except those that another fault holds."""
        try_all(partial(self._release, node) for node in self.nodes)

    def _release(self, node: int) -> None:
        if self.injection.holds.release(self.switch.hold, node, self.injection.owner):
            self.switch.off(node)

    def go_on(self) -> Task[None]:
        """End the first pulse, and make others until the train has ended."""
        clock, step = self.injection.clock, self.injection.step
        while not self._is_over:
            yield from sleep_until(clock.now_ns() + ns(step.on_s))
            yield from self._try(self._end_pulse)
            yield from sleep_until(clock.now_ns() + ns(step.off_s))
            yield from self._try(self.begin)

    def _try(self, change: Callable[[], None]) -> Task[None]:
        try:
            yield from in_background(change)
        except ComposeError as error:
            self._trouble = str(error)

    def end(self) -> None:
        """Let the nodes go, and begin no further pulse."""
        with self.injection.holds.changing(self.nodes):
            self._is_over = True
            for node in self.nodes:
                self.injection.holds.release("pulsed", node, self.injection.owner)
            self._let_go()

    def effect(self) -> Evidence:
        """Did two pulses in a row hold all nodes, and did these move between them?"""
        for one, other in pairwise(self._pulses):
            if _still(one) and _still(other) and _all_moved(one, other):
                return Proven(since_ns=one.begin_ns, values=self._values(one, other))
        still = sum(map(_still, self._pulses))
        trouble = f"; the last error: {self._trouble}" if self._trouble else ""
        found = f"{len(self._pulses)} pulses, in {still} of which all were held and stood still"
        return NotYet(instead=f"{found}{trouble}")

    def _values(self, one: Pulse, other: Pulse) -> Mapping[str, object]:
        first, last = other.first.counters, one.last.counters
        between = {node: first[node] - last[node] for node in self.nodes}
        return {
            "still_for_s": [seconds(pulse.end_ns - pulse.begin_ns) for pulse in (one, other)],
            "moved_between": by_name(between),
            "moved_between_over_s": seconds(other.begin_ns - one.end_ns),
        }


def _still(pulse: Pulse) -> bool:
    held = pulse.first.all_held and pulse.last.all_held
    return held and pulse.first.counters == pulse.last.counters


def _all_moved(one: Pulse, other: Pulse) -> bool:
    first, last = other.first.counters, one.last.counters
    return all(first[node] != last[node] for node in last)
