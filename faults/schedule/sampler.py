"""Samples the cluster while a step is near, so that all it needs to know is known when it is due."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from compose.kafka.coordinators import INTERNAL, TRANSACTION_LOG
from faults.clock import Clock, ns
from faults.kinds.fault.step import After, At, Step, When
from faults.kinds.registry import kind_of
from faults.schedule.probes import Probes
from faults.schedule.step_state import StepState
from faults.targets.conditions import ControllerMoved, CoordinatorMoved
from faults.targets.moments import Combined, StepMoment, time_of
from faults.tasks import Task, in_background, sleep_until

EVERY_NS = ns(0.5)
ROLES_EVERY_NS = ns(0.25)
AHEAD_NS = ns(2.5)
"""How long before a step can be due it is near: twice as long as its preparation begins before (1.2 s), so
that there are counters from before by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """A task each for counters, partitions, controller, coordinators: what is late delays its own only."""

    clock: Clock
    probes: Probes
    states: Sequence[StepState]
    start_ns: int

    def sample_counters(self) -> Task[None]:
        """Every half second, if a step is near, the counters of all nodes that the near steps may hit."""
        while self._waiting():
            next_ns = self.clock.now_ns() + EVERY_NS
            near = self._near()
            if counters := {counter for each in near if (counter := kind_of(each.step).counter) is not None}:
                read = partial(self.probes.read, counters, self._nodes(near))
                self.probes.keep((yield from in_background(read)))
            yield from sleep_until(next_ns)

    def sample_partitions(self) -> Task[None]:
        """Four times a second, if a step is near, who leads each partition and which replicas are in sync."""
        yield from in_background(self.probes.learn_topics)
        while self._waiting():
            next_ns = self.clock.now_ns() + ROLES_EVERY_NS
            if self._near():
                read, asked_ns = yield from in_background(self.probes.read_partitions)
                self.probes.keep_partitions(read, asked_ns)
            yield from sleep_until(next_ns)

    def sample_controller(self) -> Task[None]:
        """Twice a second, if a step is near that may hit the active controller, or awaits another: which."""
        while self._waiting():
            asked_ns = self.clock.now_ns()
            if any(_asks_for_controller(each.step) for each in self._near()):
                active = yield from in_background(self.probes.read_controller)
                self.probes.keep_controller(active, asked_ns)
            yield from sleep_until(asked_ns + EVERY_NS)

    def sample_coordinators(self) -> Task[None]:
        """Four times a second, if a step is near that waits for another one, who coordinates its group."""
        while self._waiting():
            next_ns = self.clock.now_ns() + ROLES_EVERY_NS
            if groups := {group for each in self._near() for group in _awaited_groups(each.step)}:
                read, asked_ns = yield from in_background(partial(self.probes.read_coordinators, groups))
                self.probes.keep_coordinators(read, asked_ns)
            yield from sleep_until(next_ns)

    def _waiting(self) -> list[StepState]:
        return [each for each in self.states if each.inject_ns < 0 and not each.is_over]

    def _near(self) -> list[StepState]:
        times = earliest(self.states, self.start_ns)
        horizon_ns = self.clock.now_ns() + AHEAD_NS
        return [each for each in self._waiting() if times[each.index] <= horizon_ns]

    def _nodes(self, near: Sequence[StepState]) -> set[int]:
        cluster = self.probes.cluster
        return {node for each in near for node in each.step.candidates(cluster.brokers, cluster.controllers)}


def earliest(states: Sequence[StepState], start_ns: int) -> list[int]:
    """For each step the earliest time at which it can be due, as far as is known now.

    Steps depend on earlier ones only, so one pass over them in order is enough.
    """
    by_name = {state.step.name: state for state in states}
    times: list[int] = []
    for state in states:
        known = state.due_ns >= 0
        times.append(state.due_ns if known else _guess(state, states, by_name, times, start_ns))
    return times


def _guess(
    state: StepState,
    states: Sequence[StepState],
    by_name: Mapping[str, StepState],
    times: list[int],
    start_ns: int,
) -> int:
    """From the earliest times of earlier steps, which are in `times`, and their holds."""

    def moment_ns(moment: StepMoment) -> int:
        earlier = by_name[moment.step]
        begin_ns = _begin(earlier, times)
        end_ns = earlier.heal_ns if earlier.heal_ns >= 0 else begin_ns + ns(earlier.step.hold_s)
        return begin_ns if moment.moment == "begin" else end_ns

    match state.step.start:
        case At(offset_s=offset_s):
            return start_ns + ns(offset_s)
        case After(of=of, delay_s=delay_s):
            return time_of(of, moment_ns) + ns(delay_s)
        case When(since=StepMoment() | Combined() as since):
            return time_of(since, moment_ns)
        case When(since=None) if state.index > 0:
            return _begin(states[state.index - 1], times)
        case When():
            return start_ns


def _awaited_groups(step: Step) -> tuple[str, ...]:
    """The consumer group whose coordinator is to move, if the step waits for that."""
    match step.start:
        case When(condition=CoordinatorMoved(group=group)):
            return (group,)
        case _:
            return ()


def internal_topics(steps: Iterable[Step]) -> tuple[str, ...]:
    """Kafka's own topics in which steps name a partition, or which say who holds a role that they name."""
    return tuple(topic for topic in INTERNAL if any(_names(step, topic) for step in steps))


def _names(step: Step, topic: str) -> bool:
    condition = step.start.condition if isinstance(step.start, When) else None
    texts = (step.asked, str(condition))
    if topic == TRANSACTION_LOG and any("transaction coordinator(" in text for text in texts):
        return True
    return any(f"({topic}-" in text for text in texts)


def _asks_for_controller(step: Step) -> bool:
    """Whether the active controller is a role that it may hit, or part of the event that it waits for."""
    if isinstance(step.start, When) and isinstance(step.start.condition, ControllerMoved):
        return True
    return "active controller" in step.asked


def _begin(state: StepState, times: list[int]) -> int:
    return state.begin_ns if state.begin_ns >= 0 else times[state.index]
