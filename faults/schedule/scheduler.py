"""Runs a plan of faults against a cluster: injects in time, proves, heals always, proves again.

One hand, many eyes: everything that changes the cluster is done on the calling thread, in order; looks for
evidence go to other threads, so that a node that does not answer delays no injection and no healing.

Healing is always done: when a hold is over, when `stop` is set, and when anything raises; latest fault first.
A heal that fails is tried again, and reported.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from threading import Event

from compose.protocols import Cluster, PartitionState, View
from faults.clock import Clock, ns
from faults.kinds.node_holds import Holds
from faults.plan.conditions import holds
from faults.plan.steps import After, At, FaultStep, Moment, When
from faults.schedule.event_loop import Agenda
from faults.schedule.lookout import Lookout
from faults.schedule.probes import Watch
from faults.schedule.record import FaultEvent, FaultRecord, Stage
from faults.schedule.resolve_targets import Aimed, Missed, Sights
from faults.schedule.step_runner import Hand
from faults.schedule.step_state import Course

AIM_S = 5.0
"""How long a role may be vacant when a step is due: an election takes 3.4 to 4.3 s after a kill."""

RECOVERY_S = 60.0
"""Restart to full ISR took 3 to 6.4 s, once 13 s; counted from when no fault is in force any more."""

RECOVERY_AFTER_STOP_S = 10.0
"""Whoever interrupts a run waits for it."""

AIM_AGAIN_S = 0.25
EVENT_AGAIN_S = 0.2
EYES = 4

OnEvent = Callable[[FaultEvent], None]


def run_schedule(
    steps: Sequence[FaultStep],
    cluster: Cluster,
    view: View,
    clock: Clock,
    *,
    stop: Event,
    on_event: OnEvent,
    eyes: Executor | None = None,
) -> tuple[FaultRecord, ...]:
    """Run validated `steps`, counting from now; returns when every fault is healed and its recovery decided.

    `on_event` is called on this thread at each stage of each step. `stop`, set by another thread, ends the
    injections and heals. `eyes` run the looks, by default a few threads. Whatever is raised, here or by
    `on_event`, is raised after healing.
    """
    pool = ThreadPoolExecutor(EYES, thread_name_prefix="fault-look") if eyes is None else nullcontext(eyes)
    with pool as looking:
        return Scheduler(steps, cluster, view, clock, Agenda(clock, looking), on_event).run(stop)


class Scheduler:
    """One run of one plan: decides when each step is due, and lets `Hand` carry it out."""

    def __init__(
        self,
        steps: Sequence[FaultStep],
        cluster: Cluster,
        view: View,
        clock: Clock,
        agenda: Agenda,
        on_event: OnEvent,
    ) -> None:
        self._clock, self._agenda, self._on_event = clock, agenda, on_event
        self._courses = [Course(index=index, step=step) for index, step in enumerate(steps)]
        watch = Watch(cluster=cluster, view=view, clock=clock)
        self._sights = Sights(cluster=cluster, view=view, clock=clock, holds=Holds(), watch=watch)
        self._hand = Hand(clock=clock, agenda=agenda, caller=self)
        self._start_ns = clock.now_ns()
        self._lookout = Lookout(
            clock=clock, agenda=agenda, watch=watch, courses=self._courses, start_ns=self._start_ns
        )
        self._recovery_s = RECOVERY_S
        self._closing = self._healing_all = False
        self._raised: list[Exception] = []

    def run(self, stop: Event) -> tuple[FaultRecord, ...]:
        """Run to the end, or to `stop`; see `run_schedule`."""
        try:
            self._plan()
            self._agenda.run(stop, self._all_over)
        except BaseException:
            self._heal_everything()
            raise
        self._heal_everything()
        if self._raised:
            raise self._raised[0]
        self._wind_up()
        return tuple(course.record() for course in self._courses)

    def _all_over(self) -> bool:
        return all(course.is_over for course in self._courses)

    def _plan(self) -> None:
        """Put on the agenda what does not depend on other steps."""
        self._agenda.at(self._start_ns, self._lookout.keep)
        for course in self._courses:
            match course.step.start:
                case At(offset_s=offset_s):
                    self._due(course, self._start_ns + ns(offset_s))
                case When() if course.index == 0:
                    self._await_event(course, None, self._start_ns)

    def _due(self, course: Course, due_ns: int) -> None:
        course.due_ns = due_ns
        self._agenda.at(due_ns, lambda: self._aim(course))

    def _aim(self, course: Course) -> None:
        event = self._event_after(course)
        job = partial(self._sights.aim, course.step, event)
        self._agenda.look(job, lambda aimed: self._aimed(course, aimed))

    def _aimed(self, course: Course, aimed: Aimed | Missed) -> None:
        """Strike; or aim again for a while, if the role is vacant or nobody tells who holds it."""
        match aimed:
            case Aimed(awaited=awaited):
                self._hand.strike(course, aimed)
                if self._event_after(course) is not None:
                    self._await_event(self._courses[course.index + 1], awaited, course.begin_ns)
            case Missed(reason=reason) if self._clock.now_ns() >= course.due_ns + ns(AIM_S):
                self._skip(course, f"{reason}, for {AIM_S:g} s")
            case Missed():
                self._agenda.soon(AIM_AGAIN_S, lambda: self._aim(course))

    def _event_after(self, course: Course) -> When | None:
        """The event that the next step waits for, if it does."""
        following = self._courses[course.index + 1 : course.index + 2]
        starts = [each.step.start for each in following]
        return starts[0] if starts and isinstance(starts[0], When) else None

    def _await_event(self, course: Course, before: PartitionState | None, since_ns: int) -> None:
        """Look for the event of `course`; without a state from before, the first one seen counts as that."""
        start = course.step.start
        assert isinstance(start, When), course.step
        seen = partial(self._event_seen, course, start, before, since_ns)
        self._agenda.look(lambda: self._sights.partition(start.condition.of), seen)

    def _event_seen(
        self,
        course: Course,
        start: When,
        before: PartitionState | None,
        since_ns: int,
        now: PartitionState | None,
    ) -> None:
        before = before or now
        if before and now and holds(start.condition, before, now):
            self._due(course, self._clock.now_ns())
        elif self._clock.now_ns() >= since_ns + ns(start.within_s):
            waited = f"{start.condition} did not come within {start.within_s:g} s"
            self._skip(course, f"{waited}; seen last: {now}")
        else:
            self._agenda.soon(EVENT_AGAIN_S, lambda: self._await_event(course, before, since_ns))

    def _heal_everything(self) -> None:
        """Inject nothing more, and heal what is in force, the latest first, whatever is raised on the way."""
        self._closing = self._healing_all = True
        self._agenda.clear()
        for course in sorted(self._courses, key=lambda each: each.inject_ns, reverse=True):
            try:
                if course.in_force:
                    self._hand.heal_now(course)
            except Exception as error:
                self._raised.append(error)
        self._healing_all = False

    def _wind_up(self) -> None:
        """After an interruption: look for recoveries for a short while, and say what was never injected."""
        self._recovery_s = RECOVERY_AFTER_STOP_S
        for course in self._courses:
            if course.inject_ns < 0 and not course.is_over:
                self._skip(course, "the schedule was interrupted")
            self._hand.look_at_recovery(course)
        self._agenda.run(Event(), self._all_over)

    def _skip(self, course: Course, reason: str) -> None:
        course.over_ns, course.reason = self._clock.now_ns(), f"not injected: {reason}"
        self.say(course, "skipped", course.reason)
        self.never(course, reason)

    def say(self, course: Course, stage: Stage, detail: str = "") -> None:
        """Tell the caller of the schedule; while everything is being healed, his errors have to wait."""
        event = FaultEvent(
            at_ns=self._clock.now_ns(),
            index=course.index,
            name=course.step.name,
            kind=course.step.kind,
            stage=stage,
            nodes=course.nodes,
            edges=course.edges,
            detail=detail,
        )
        try:
            self._on_event(event)
        except Exception as error:
            if not self._healing_all:
                raise
            self._raised.append(error)

    def happened(self, course: Course, moment: Moment) -> None:
        """Steps that wait for this moment are due after their delay."""
        for waiting, after in self._waiting_for(course):
            if after.moment == moment and not self._closing:
                self._due(waiting, course.moment_ns(moment) + ns(after.delay_s))

    def never(self, course: Course, reason: str) -> None:
        """Steps that wait for a moment of this one, or for an event after its begin, are skipped."""
        for waiting, _ in self._waiting_for(course):
            self._skip(waiting, f"{course.step.name}: {reason}")
        if course.begin_ns < 0 and self._event_after(course) is not None:
            self._skip(self._courses[course.index + 1], f"{course.step.name}: {reason}")

    def _waiting_for(self, course: Course) -> list[tuple[Course, After]]:
        return [
            (each, each.step.start)
            for each in self._courses
            if isinstance(each.step.start, After)
            and each.step.start.anchor == course.step.name
            and each.due_ns < 0
            and not each.is_over
        ]

    def patience_ends_ns(self, course: Course) -> int:
        """The ISR cannot be full while another fault is in force: patience counts from the last healing."""
        if any(each.in_force and not each.is_over for each in self._courses):
            return self._clock.now_ns() + 1
        return max(each.heal_ns for each in self._courses) + ns(self._recovery_s)
