"""What is done to the cluster for one step: inject, look for the effect, heal, look for the recovery."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from compose.errors import ComposeError
from faults.clock import Clock, ns
from faults.kinds.evidence import Finding, NotYet, Proven
from faults.plan.steps import Moment
from faults.schedule.event_loop import Agenda
from faults.schedule.record import Stage
from faults.schedule.resolve_targets import Aimed
from faults.schedule.step_state import Course

HEAL_TRIES = 5
HEAL_AGAIN_S = 1.0
EFFECT_AGAIN_S = 0.1
LAST_LOOK_S = 0.5
"""Healing late by this is better than no evidence; by more, the hold would not be what the plan says."""

RECOVERY_AGAIN_S = 0.25


class Caller(Protocol):
    """Who has to know how a step goes on."""

    def say(self, course: Course, stage: Stage, detail: str = "") -> None:
        """A stage is reached."""

    def happened(self, course: Course, moment: Moment) -> None:
        """A moment that other steps may wait for has come."""

    def never(self, course: Course, reason: str) -> None:
        """No further moment of this step will come."""

    def patience_ends_ns(self, course: Course) -> int:
        """Until when to look for the recovery of this step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """Carries out steps. Its methods run on the one thread that changes the cluster."""

    clock: Clock
    agenda: Agenda
    caller: Caller

    def strike(self, course: Course, aimed: Aimed) -> None:
        """Inject, and put on the agenda what follows: looks at the effect, and the healing after the hold."""
        course.fault, course.nodes, course.edges = aimed.fault, aimed.nodes, tuple(map(str, aimed.edges))
        course.inject_ns = self.clock.now_ns()
        try:
            aimed.fault.inject()
        except ComposeError as error:
            course.failed, course.reason = True, f"the injection failed: {error}"
        course.begin_ns = self.clock.now_ns()
        self.agenda.at(course.begin_ns, lambda: self._look_at_effect(course))
        self.caller.say(course, "injected", course.reason)
        self.caller.happened(course, "begin")
        hold_s = 0.0 if course.failed else course.step.hold_s
        self.agenda.at(course.begin_ns + ns(hold_s), lambda: self._end(course))

    def _look_at_effect(self, course: Course) -> None:
        if course.fault is not None and course.effect_ns < 0 and course.in_force and not course.failed:
            look = _safely(course.fault.effect)
            course.looking = self.agenda.look(look, lambda finding: self._effect_seen(course, finding))

    def _effect_seen(self, course: Course, finding: Finding) -> None:
        if course.in_force:
            self._note_effect(course, finding)
            self.agenda.soon(EFFECT_AGAIN_S, lambda: self._look_at_effect(course))

    def _note_effect(self, course: Course, finding: Finding) -> None:
        if course.effect_ns >= 0:
            return
        match finding:
            case Proven(since_ns=since_ns, evidence=evidence):
                course.effect_ns, course.effect, course.reason = since_ns, evidence, ""
                self.caller.say(course, "effect")
            case NotYet(seen=seen):
                course.reason = f"no evidence of an effect: {seen}"

    def _end(self, course: Course) -> None:
        """The hold is over: heal, and once more if that fails."""
        if course.heal_attempts == 0:
            self._look_for_the_last_time(course)
        if self._heal(course):
            self.look_at_recovery(course)
        elif course.heal_attempts < HEAL_TRIES:
            self.agenda.soon(HEAL_AGAIN_S, lambda: self._end(course))
        else:
            self._give_up(course)

    def heal_now(self, course: Course) -> None:
        """Heal without the agenda, waiting between tries: at the end of a run, or when it broke off."""
        try:
            if course.heal_attempts == 0:
                self._look_for_the_last_time(course)
        finally:
            self._heal_at_last(course)

    def _heal_at_last(self, course: Course) -> None:
        for attempt in range(HEAL_TRIES):
            if attempt > 0:
                self.clock.sleep_until(self.clock.now_ns() + ns(HEAL_AGAIN_S))
            if self._heal(course):
                return
        self._give_up(course)

    def _heal(self, course: Course) -> bool:
        """One try; whether it is healed."""
        assert course.fault is not None, "only what was injected is healed"
        course.heal_attempts += 1
        try:
            course.fault.heal()
        except ComposeError as error:
            self.caller.say(course, "heal-failed", f"try {course.heal_attempts}: {error}")
            return False
        course.heal_ns = self.clock.now_ns()
        self.caller.say(course, "healed")
        self.caller.happened(course, "end")
        return True

    def _look_for_the_last_time(self, course: Course) -> None:
        """Wait a little for the look that goes on, and look once more: what is healed shows no effect."""
        if course.effect_ns < 0 and not course.failed:
            try:
                if course.looking is not None:
                    self._note_effect(course, course.looking.result(LAST_LOOK_S))
                if course.effect_ns < 0 and course.fault is not None:
                    self._note_effect(course, _safely(course.fault.effect)())
            except TimeoutError:
                course.reason = (
                    course.reason or f"no evidence of an effect: a look took {LAST_LOOK_S:g} s more"
                )
        if course.effect_ns < 0:
            self.caller.say(course, "unproven", course.reason)

    def _give_up(self, course: Course) -> None:
        course.over_ns = self.clock.now_ns()
        given_up = f"not healed after {HEAL_TRIES} tries"
        course.reason = f"{course.reason}; {given_up}" if course.reason else given_up
        self.caller.say(course, "not-recovered", given_up)
        self.caller.never(course, given_up)

    def look_at_recovery(self, course: Course) -> None:
        """Look until the recovery is proven, or patience ends."""
        if course.fault is None or course.is_over:
            return
        began_ns = self.clock.now_ns()
        look = _safely(course.fault.recovery)
        self.agenda.look(look, lambda finding: self._recovery_seen(course, began_ns, finding))

    def _recovery_seen(self, course: Course, began_ns: int, finding: Finding) -> None:
        match finding:
            case Proven(evidence=evidence):
                course.recovered_ns, course.recovery = began_ns, evidence
                self._over(course, "recovered", "")
            case NotYet(seen=seen) if self.clock.now_ns() >= self.caller.patience_ends_ns(course):
                course.recovery = {"lacking": seen}
                self._over(course, "not-recovered", seen)
            case _:
                self.agenda.soon(RECOVERY_AGAIN_S, lambda: self.look_at_recovery(course))

    def _over(self, course: Course, stage: Stage, detail: str) -> None:
        course.over_ns = self.clock.now_ns()
        self.caller.say(course, stage, detail)
        self.caller.happened(course, "recovered")


def _safely(look: Callable[[], Finding]) -> Callable[[], Finding]:
    """A look that cannot be had now has seen nothing; a later one may."""

    def try_to() -> Finding:
        try:
            return look()
        except ComposeError as error:
            return NotYet(seen=str(error))

    return try_to
