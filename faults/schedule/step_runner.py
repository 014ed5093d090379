"""The life of one step, top to bottom: prepared, due, injected, held, healed, recovered.

What takes time before an injection is done before it is due: from AHEAD_NS before its instant on, or longer
where its kind needs that, the fault is kept ready, prepared anew when its roles move or another fault changes
its nodes. At its instant it is injected at once.

Each method is a task on the event loop. What raises, other than an error of the cluster, ends the schedule;
the scheduler then heals what is in force.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeGuard

from compose.errors import ComposeError
from faults.clock import Clock, ns
from faults.errors import NotInjected
from faults.kinds.fault.base import VACANT_S, Fault, Ongoing
from faults.kinds.fault.evidence import STILL_NS, Evidence, NotYet, Proven
from faults.kinds.fault.step import After, At, When
from faults.kinds.registry import kind_of
from faults.schedule.events import Events
from faults.schedule.record import Reporter, Stage
from faults.schedule.resolve_targets import Ready, Resolver, Vacant
from faults.schedule.step_state import StepState
from faults.targets.observed import Observed, baseline, holds, in_words, tells
from faults.tasks import Task, in_background, outcome, sleep_until, start, submit

AHEAD_NS = ns(1.2)
"""A preparation asks the engine for the state of nodes (0.05 s each on a busy machine) and probes edges
(0.1 s; 1 s where two probes get no answer)."""

READY_EVERY_NS = ns(0.1)
LATE_EVERY_NS = ns(0.02)
"""How often it is looked whether a step is still ready that is not due, and is ready that is late."""

PREPARE_AGAIN_NS = ns(0.25)
LATE_NS = ns(0.1)
"""Later than this, the reason is recorded."""

EVENT_AGAIN_S = 0.2
EFFECT_AGAIN_S = 0.1
FAIR_PROBES = 3
"""So many find an effect that is there: a first look, one after 0.75 s of stillness, and one to spare."""

LAST_PROBES_S = 3.0
"""Where the hold was too short for FAIR_PROBES, since the machine is busy, healing late by this is better
than no evidence; by more, the hold would not be that of the plan."""

HEAL_TRIES = 5
HEAL_AGAIN_S = 1.0
RECOVERY_AGAIN_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRunner:
    """Runs the steps of one schedule, all on the same `states`. `recovery_s` counts from the last healing."""

    clock: Clock
    states: Sequence[StepState]
    resolver: Resolver
    events: Events
    reporter: Reporter
    start_ns: int
    recovery_s: float

    def life(self, state: StepState) -> Task[None]:
        """One step, from its start to its recovery."""
        try:
            state.due_ns = yield from self._due_ns(state)
            yield from self._others_recovered(state)
            yield from self._until_due(state)
            ready = yield from self._ready(state)
        except NotInjected as error:
            self.skip(state, str(error))
            return
        yield from self._inject(state, ready)
        if isinstance(ready.fault, Ongoing) and not state.failed:
            yield from start(ready.fault.go_on())
        yield from self._hold(state)
        yield from self._last_probes(state)
        if (yield from self._heal(state)):
            yield from self.recover(state)

    def _due_ns(self, state: StepState) -> Task[int]:
        """When the step is due, once that is known; NotInjected if it never is."""
        match state.step.start:
            case At(offset_s=offset_s):
                return self.start_ns + ns(offset_s)
            case After(of=of, delay_s=delay_s):
                return (yield from self.events.signal(of).wait()) + ns(delay_s)
            case When() as when:
                return (yield from self._event_ns(state, when))

    def _event_ns(self, state: StepState, when: When) -> Task[int]:
        """When the event was noticed; without a reading from before, the first one counts as that.

        It came after the last reading was begun that said that it had not, or else after it began to count.
        """
        since = self.events.since(state)
        since_ns = self.start_ns if since is None else (yield from since.wait())
        before, not_yet_ns = state.before, since_ns
        while True:
            asked_ns = self.clock.now_ns()
            now = yield from in_background(partial(self.events.observed, when.condition))
            before = baseline(when.condition, before, now)
            if before and holds(when.condition, before, now, since_ns=since_ns):
                self._learn(state, now, asked_ns)
                noticed_ns = self.clock.now_ns()
                state.noticed_within_ns = noticed_ns - not_yet_ns
                return noticed_ns
            if tells(when.condition, now):
                not_yet_ns = asked_ns
            yield from self._keep_ready(state)
            if self.clock.now_ns() >= since_ns + ns(when.within_s):
                late = f"{when.condition} did not come within {when.within_s:g} s"
                raise NotInjected(f"{late}; the last state was {in_words(when.condition, now)}")
            yield from self._sleep(EVENT_AGAIN_S)

    def _learn(self, state: StepState, now: Observed, asked_ns: int) -> None:
        """What has come is newer than what the step was prepared on, unless that is for the same nodes."""
        if now.partition is not None:
            self.resolver.probes.learn(now.partition)
        if now.controller is not None:
            self.resolver.probes.keep_controller(now.controller, asked_ns)
        ready = state.prepared
        if not isinstance(ready, Ready) or not self.resolver.hits_the_same(state.step, ready):
            state.prepared = None
        state.preparing = None

    def _others_recovered(self, state: StepState) -> Task[None]:
        """Wait for the steps that must have recovered first; NotInjected if one of them never does.

        The step is due `_ahead_ns` after the last of them has, if that is later than it would be due.
        """
        drawn_ns = state.due_ns
        once = () if isinstance(state.step.start, When) else state.step.start.once
        for earlier in map(self.events.state, once):
            try:
                recovered_ns = yield from earlier.moments["recovered"].wait()
            except NotInjected:
                if earlier.inject_ns >= 0:
                    raise
                continue  # it was not injected either, and so impairs nothing
            if earlier.recovered_ns < 0:
                raise NotInjected(f"{earlier.step.name} did not recover")
            if recovered_ns + _ahead_ns(state) > state.due_ns:
                state.due_ns = recovered_ns + _ahead_ns(state)
                state.postponed_ns, state.postponed = state.due_ns - drawn_ns, earlier.step.name

    def _until_due(self, state: StepState) -> Task[None]:
        """Keep the step ready from `_ahead_ns` before it is due until it is."""
        yield from sleep_until(state.due_ns - _ahead_ns(state))
        while self.clock.now_ns() < state.due_ns:
            yield from self._keep_ready(state)
            yield from sleep_until(min(state.due_ns, self.clock.now_ns() + READY_EVERY_NS))

    def _ready(self, state: StepState) -> Task[Ready]:
        """The fault that is ready, now if it is; NotInjected if there is nothing to hit for VACANT_S."""
        since_ns = self.clock.now_ns()
        while True:
            yield from self._keep_ready(state)
            found = state.prepared
            if self._can_be_injected(found, state):
                return found
            now_ns = self.clock.now_ns()
            if isinstance(found, Vacant) and now_ns >= since_ns + ns(VACANT_S):
                raise NotInjected(f"{found.reason}, for {VACANT_S:g} s")
            if now_ns >= state.due_ns + LATE_NS and not state.delayed:
                state.delayed = found.reason if isinstance(found, Vacant) else "it was not prepared in time"
            yield from sleep_until(now_ns + LATE_EVERY_NS)

    def _keep_ready(self, state: StepState) -> Task[None]:
        """Begin to prepare the fault in the background, unless it is ready or is being prepared."""
        if state.preparing is None and self._should_prepare(state):
            state.preparing = yield from submit(partial(self.resolver.ready, state.step, state.due_ns))
        if state.preparing is not None and state.preparing.done():
            state.prepared, state.prepared_ns = state.preparing.result(), self.clock.now_ns()
            state.preparing = None

    def _should_prepare(self, state: StepState) -> bool:
        if isinstance(state.prepared, Vacant):
            return self.clock.now_ns() >= state.prepared_ns + PREPARE_AGAIN_NS
        return not self._can_be_injected(state.prepared, state)

    def _can_be_injected(self, found: Ready | Vacant | None, state: StepState) -> TypeGuard[Ready]:
        """Whether the fault is ready, and nothing that it was based on has changed since.

        A step that is late is not made later by what changes while it is prepared.
        """
        if not isinstance(found, Ready) or not self.resolver.still_holds(state.step, found, state.due_ns):
            return False
        if found.was_begun_late(state.due_ns):
            return True
        others = [each for each in self.states if each is not state]
        if any(each.has_changed(found.targets.nodes, found.since_ns) for each in others):
            return False
        return bool(found.targets.edges) or not any(each.is_ending(found.targets.nodes) for each in others)

    def _inject(self, state: StepState, ready: Ready) -> Task[None]:
        """Inject; an error of the cluster is noted, and what was done is healed at once."""
        state.fault, state.outages = ready.fault, ready.outages
        self.events.note_before(state, "begin")
        state.nodes, state.edges = ready.targets.nodes, tuple(map(str, ready.targets.edges))
        state.inject_ns = self.clock.now_ns()
        self.reporter.on_record(state.record())
        state.is_changing = True
        self._allow_ends(state)
        try:
            yield from ready.fault.inject()
        except ComposeError as error:
            state.failed, state.reason = True, f"the injection failed: {error}"
        finally:
            state.is_changing = False
        state.begin_ns = self.clock.now_ns()
        self._report(state, "injected", state.reason)
        state.moments["begin"].come(state.begin_ns)

    def _allow_ends(self, state: StepState) -> None:
        """Kafka may halt on the nodes because of this fault, if it is such a one, until it is healed."""
        if kind_of(state.step).cost_of(state.step).may_end_node:
            for node in state.nodes:
                self.resolver.cluster.allow_end(node, owner=state.step.name)

    def _disallow_ends(self, state: StepState) -> None:
        for node in state.nodes:
            self.resolver.cluster.disallow_end(node, owner=state.step.name)

    def _hold(self, state: StepState) -> Task[None]:
        """Wait until the hold is over, and probe the effect meanwhile."""
        hold_s = 0.0 if state.failed else state.step.hold_s
        yield from self._probe_until(state, state.begin_ns + ns(hold_s))

    def _probe_until(self, state: StepState, until_ns: int) -> Task[None]:
        """Probe the effect until it is proven; in any case until a time, at which a probe may still go on."""
        try:
            while state.effect_ns < 0 and not state.failed:
                yield from self._probe_effect(state, by_ns=until_ns)
                yield from sleep_until(min(until_ns, self.clock.now_ns() + ns(EFFECT_AGAIN_S)))
                if self.clock.now_ns() >= until_ns:
                    return
        except TimeoutError:
            return
        yield from sleep_until(until_ns)

    def _probe_effect(self, state: StepState, *, by_ns: int) -> Task[None]:
        """One probe of the effect, or the rest of the one that goes on; TimeoutError at `by_ns`."""
        if state.probe is None:
            state.probe = yield from submit(partial(_probe, _fault(state).effect))
        evidence = yield from outcome(state.probe, by_ns=by_ns)
        state.probe, state.probes = None, state.probes + 1
        match evidence:
            case Proven(since_ns=since_ns, values=values):
                state.effect_ns, state.effect, state.reason = since_ns, values, ""
                self._report(state, "effect")
            case NotYet(instead=instead):
                state.reason = f"no evidence of an effect: {instead}"

    def _last_probes(self, state: StepState) -> Task[None]:
        """Probe once more, and until FAIR_PROBES have been made: what is healed shows no effect."""
        until_ns = self.clock.now_ns() + ns(LAST_PROBES_S)
        missing = max(1 if state.probe is None else 2, FAIR_PROBES - state.probes)
        try:
            while state.effect_ns < 0 and not state.failed and missing > 0:
                missing -= 1
                yield from self._probe_effect(state, by_ns=until_ns)
                if state.effect_ns < 0 and missing > 0:
                    yield from sleep_until(min(until_ns, self.clock.now_ns() + STILL_NS // 2))
        except TimeoutError:
            late = "no evidence of an effect: no probe returned before the fault had to be healed"
            state.reason = state.reason or late
        if state.effect_ns < 0:
            self._report(state, "unproven", state.reason)

    def _heal(self, state: StepState, *, probing: bool = True) -> Task[bool]:
        """Heal, and again a second later if that fails; whether it is healed.

        With `probing` the effect can still be proven between tries: a disk that was cut off may be readable
        a little late.
        """
        for attempt in range(HEAL_TRIES):
            if attempt > 0 and probing:
                yield from self._probe_until(state, self.clock.now_ns() + ns(HEAL_AGAIN_S))
            elif attempt > 0:
                yield from self._sleep(HEAL_AGAIN_S)
            if (yield from self._try_to_heal(state)):
                return True
        self._give_up(state)
        return False

    def heal_last(self, state: StepState) -> Task[None]:
        """Heal at the end of a schedule or when it breaks off, after the last probes of the effect."""
        if state.heal_attempts == 0:
            try:
                yield from self._last_probes(state)
            except Exception as error:
                self.reporter.errors.append(error)
        yield from self._heal(state, probing=False)

    def _try_to_heal(self, state: StepState) -> Task[bool]:
        if state.heal_attempts == 0:
            self.events.note_before(state, "end")
        state.heal_attempts += 1
        state.is_changing = True
        state.end_ns = self.clock.now_ns() if state.end_ns < 0 else state.end_ns
        try:
            yield from _fault(state).heal()
        except ComposeError as error:
            self._report(state, "heal-failed", f"try {state.heal_attempts}: {error}")
            return False
        finally:
            state.is_changing = False
        state.heal_ns = self.clock.now_ns()
        state.cut_short = self.resolver.holds.cut_short(state.step.name)
        self._disallow_ends(state)
        self._report(state, "healed")
        state.moments["end"].come(state.heal_ns)
        return True

    def _give_up(self, state: StepState) -> None:
        state.over_ns = self.clock.now_ns()
        state.given_up = f"not healed after {state.heal_attempts} tries"
        self._report(state, "not-recovered", state.given_up)
        state.give_up_moments(state.given_up)

    def recover(self, state: StepState) -> Task[None]:
        """Probe until the recovery is proven, or its deadline has passed."""
        while not state.is_over:
            began_ns = self.clock.now_ns()
            evidence = yield from in_background(partial(_probe, _fault(state).recovery))
            match evidence:
                case Proven(values=values):
                    state.recovered_ns, state.recovery = began_ns, values
                    self._end(state, "recovered", "")
                case NotYet(instead=instead) if self._recovery_is_late():
                    state.recovery = {"lacking": instead}
                    self._end(state, "not-recovered", instead)
                case _:
                    yield from self._sleep(RECOVERY_AGAIN_S)

    def _recovery_is_late(self) -> bool:
        """The ISR cannot be full while a fault is in force, so the deadline counts from the last healing."""
        if any(each.in_force and not each.is_over for each in self.states):
            return False
        healed_ns = max(each.heal_ns for each in self.states)
        return self.clock.now_ns() >= healed_ns + ns(self.recovery_s)

    def _end(self, state: StepState, stage: Stage, detail: str) -> None:
        self.events.note_before(state, "recovered")
        state.over_ns = self.clock.now_ns()
        self._report(state, stage, detail)
        state.moments["recovered"].come(state.over_ns)
        state.let_go()

    def skip(self, state: StepState, reason: str) -> None:
        """Report that the step is not injected; nor are those that wait for it."""
        self.drop(state, reason)
        self.reporter.on_event(state.event(self.clock.now_ns(), "skipped", state.reason))

    def drop(self, state: StepState, reason: str) -> None:
        """Record the same without an event, as of the hundreds that an interrupted storm has left."""
        state.over_ns, state.reason = self.clock.now_ns(), f"not injected: {reason}"
        self.reporter.on_record(state.record())
        state.give_up_moments(reason)

    def _report(self, state: StepState, stage: Stage, detail: str = "") -> None:
        self.reporter.report(state.event(self.clock.now_ns(), stage, detail), state.record())

    def _sleep(self, for_s: float) -> Task[None]:
        return sleep_until(self.clock.now_ns() + ns(for_s))


def _fault(state: StepState) -> Fault:
    assert state.fault is not None, "only what was injected is probed and healed"
    return state.fault


def _ahead_ns(state: StepState) -> int:
    """How long before it is due a step is kept ready."""
    return max(AHEAD_NS, ns(kind_of(state.step).prepares_s))


def _probe(probe: Callable[[], Evidence]) -> Evidence:
    """A probe that cannot be made now proves nothing; a later one may."""
    try:
        return probe()
    except ComposeError as error:
        return NotYet(instead=str(error))
