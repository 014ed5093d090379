"""What steps wait for: moments of other steps, and events, each from some moment on.

An event is compared with what was known just before that moment, so that what a fault brings about while it
is injected or healed counts too. That was read by the sampler, and takes no time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from compose.errors import ComposeError
from compose.protocols import PartitionState
from faults.errors import NoTarget
from faults.kinds.fault.step import When
from faults.schedule.known import KnownRoles, NewestRoles
from faults.schedule.probes import UNREADABLE, Probes
from faults.schedule.step_state import StepState
from faults.targets.conditions import (
    BrokerFenced,
    BrokerUnfenced,
    Condition,
    ControllerMoved,
    CoordinatorMoved,
    FirstAck,
    OffsetCondition,
    PartitionCondition,
    ProducerFenced,
    TransactionCoordinatorMoved,
)
from faults.targets.moments import Combined, Moment, Moments, StepMoment, each_moment
from faults.targets.observed import NOBODY, Observed
from faults.targets.roles import Partitions, Roles
from faults.targets.target import TopicPartition
from faults.tasks import Signal, first_of, last_of

LastAck = Callable[[TopicPartition | None], int]
"""When the load got its last acknowledgement for a partition, on the schedule's clock; -1: never."""


LastFencing = Callable[[], int]
"""When a producer of the load was told last that it is fenced, on the schedule's clock; -1: never."""


def no_acks(of: TopicPartition | None) -> int:
    """Of a schedule without a load."""
    return -1


def no_fencings() -> int:
    """The same."""
    return -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Who waits for whom, and for what, in one schedule."""

    states: Sequence[StepState]
    probes: Probes
    last_ack_ns: LastAck = no_acks
    last_fencing_ns: LastFencing = no_fencings
    _by_name: dict[str, StepState] = field(default_factory=dict, init=False)
    _since: dict[int, Signal[int]] = field(default_factory=dict, init=False)
    """From when on the event counts that a step waits for, by its index."""
    _waiting: dict[StepMoment, list[tuple[StepState, Condition]]] = field(default_factory=dict, init=False)
    """The steps that wait for an event, by the moments from which on it counts."""

    def __post_init__(self) -> None:
        """Find out who waits for whom."""
        self._by_name.update({each.step.name: each for each in self.states})
        for state in self.states:
            start = state.step.start
            if isinstance(start, When) and (since := self._moments_of(start, state.index)) is not None:
                self._since[state.index] = self.signal(since)
                for moment in each_moment(since):
                    self._waiting.setdefault(moment, []).append((state, start.condition))

    def _moments_of(self, start: When, index: int) -> Moments | None:
        """From when on its event counts; None: from the start of the schedule."""
        match start.since:
            case None if index > 0:
                return StepMoment(step=self.states[index - 1].step.name, moment="begin")
            case StepMoment() | Combined() as since:
                return since
            case _:
                return None

    def state(self, name: str) -> StepState:
        """The step of this name."""
        return self._by_name[name]

    def signal(self, moments: Moments) -> Signal[int]:
        """Comes with these moments, and has their time."""
        match moments:
            case StepMoment(step=name, moment=moment):
                return self._by_name[name].moments[moment]
            case Combined(which="all", of=of):
                return last_of([self.signal(each) for each in of])
            case Combined(of=of):
                return first_of([self.signal(each) for each in of])

    def since(self, state: StepState) -> Signal[int] | None:
        """Comes when the event begins to count that a step waits for; None: with the start of the plan."""
        return self._since.get(state.index)

    def note_before(self, state: StepState, moment: Moment) -> None:
        """A moment of this step is about to come: keep what is known for those that wait from then on."""
        for waiting, condition in self._waiting.get(StepMoment(step=state.step.name, moment=moment), ()):
            if not self._since[waiting.index].is_settled:
                waiting.before = self._known(condition)

    def _known(self, condition: Condition) -> Observed | None:
        """What a condition is about, as it was read last; None if that is too long ago."""
        source = KnownRoles(self.probes.known)
        match condition:
            case BrokerFenced() | BrokerUnfenced() | FirstAck() | ProducerFenced():
                return None
            case ControllerMoved():
                observed = Observed(controller=_or_nobody(source.active_controller()))
            case CoordinatorMoved(group=group):
                observed = Observed(coordinator=source.coordinator(group))
            case TransactionCoordinatorMoved(transactional_id=of):
                observed = Observed(partition=self._coordinating(source, of))
            case _:
                observed = Observed(partition=self._partition(source, condition.of))
        is_good = self.probes.clock.now_ns() <= source.good_until_ns
        return observed if is_good else None

    def observed(self, condition: Condition) -> Observed:
        """What a condition is about, as it is now; what nobody reports is left out.

        Takes as long as the quick view waits for a silent broker; of the controller, up to a second.
        """
        match condition:
            case BrokerFenced() | BrokerUnfenced():
                return Observed(fenced=self._fenced())
            case ControllerMoved():
                active = self.probes.read_controller()
                return Observed(controller=None if active == UNREADABLE else _or_nobody(active))
            case CoordinatorMoved(group=group):
                read, _ = self.probes.read_coordinators({group})
                return Observed(coordinator=read.get(group))
            case FirstAck(of=of):
                return Observed(last_ack_ns=self.last_ack_ns(of))
            case ProducerFenced():
                return Observed(last_fencing_ns=self.last_fencing_ns())
            case TransactionCoordinatorMoved(transactional_id=transactional_id):
                return Observed(partition=self._coordinating(self._asking(), transactional_id))
            case _:
                return Observed(partition=self._with_offsets(condition))

    def _asking(self) -> NewestRoles:
        """The brokers that answer soon, but for what is known to be newer: they may not have heard of it."""
        return NewestRoles(view=self.probes.quickest, known=self.probes.known)

    def _fenced(self) -> Mapping[int, bool]:
        try:
            return self.probes.quickest.fenced()
        except ComposeError:
            return {}

    def _with_offsets(self, condition: PartitionCondition) -> PartitionState | None:
        """The state of a condition's partition now, with its offsets if the condition is about them."""
        state = self._partition(self._asking(), condition.of)
        if state is None or not isinstance(condition, OffsetCondition):
            return state
        return self.probes.quickest.with_offsets(state)

    def _coordinating(self, source: Partitions, transactional_id: str) -> PartitionState | None:
        """The state of the partition that has this id by this source; None if it does not know it."""
        try:
            return Roles(cluster=self.probes.cluster, view=source).coordinating(transactional_id)
        except (NoTarget, ComposeError):
            return None

    def _partition(self, source: Partitions, of: TopicPartition | None) -> PartitionState | None:
        """The state of a partition by this source; None if it does not know it."""
        try:
            return Roles(cluster=self.probes.cluster, view=source).partition(of)
        except (NoTarget, ComposeError):
            return None


def _or_nobody(active: int | None) -> int:
    """The active controller, or that there is none."""
    return NOBODY if active is None else active
