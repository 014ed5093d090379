"""Makes a flat list of steps of blocks and repetitions; every choice is drawn from the seed here.

A repetition is a step of its own, with its number in the name (kill#2), and the steps of a block begin after
each other or together. What stands for several steps, as the name of a block or of a step that is repeated,
begins with the first of them, and has ended or recovered with the last. Within a repetition a name means what
belongs to the same one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from faults.durations import parse_duration
from faults.errors import BadStep, Path
from faults.kinds.fault.step import After, Start, When, Words
from faults.plan import starts
from faults.plan.blocks import Block, Entry, WrittenStep, read
from faults.plan.repeat import Repeat
from faults.targets.moments import (
    MOST_LEVELS,
    PREVIOUS,
    Moment,
    Moments,
    StepMoment,
    combined,
    each_moment,
    levels,
)

MOST_STEPS = 10_000
"""Half a day of faults, one after the other."""

MOST_NAMED = 20_000
"""A name of many steps stands for each of them: so many names the starts of all steps may hold."""

Members = tuple[str, ...]
"""The names of the steps that one name stands for, in the order of the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainStep:
    """One step: its `words` without name and start. It stands at `path`, and its start at `start_path`."""

    name: str
    words: Words
    start: Start
    path: Path
    start_path: Path

    def path_of(self, key: str) -> Path:
        """Where the map stands that has this key."""
        return self.start_path if key in starts.ALL_KEYS else self.path


def expand(plan: Sequence[Words], *, seed: int = 0) -> tuple[PlainStep, ...]:
    """All steps of a plan, in order; a BadStep has the path to what is refused."""
    expansion, scope, previous = _Expansion(seed=seed), _Scope(), Members()
    for entry in read(plan):
        previous = expansion.entry(entry, scope, previous, None)
    return tuple(expansion.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begin:
    """A start whose names are those of steps, and the path of the entry that has it."""

    start: Start
    path: Path


@dataclass(slots=True, kw_only=True)
class _Scope:
    """What names mean, here and in the scope around; `suffix` is that of the names of its steps."""

    names: dict[str, Members] = field(default_factory=dict)
    around: "_Scope | None" = None
    suffix: str = ""

    def inside(self, number: int) -> "_Scope":
        """The scope of one repetition."""
        return _Scope(around=self, suffix=f"{self.suffix}#{number}")

    def members(self, name: str) -> Members:
        """The steps of this name; the name itself, if it is unknown: validation has more to say of it."""
        if name in self.names:
            return self.names[name]
        return (name,) if self.around is None else self.around.members(name)

    def add(self, name: str, members: Members, path: Path) -> None:
        """The name means these steps from now on; BadStep if it means something already."""
        if name in self.names:
            raise BadStep("name", name, "a name that no earlier step has", path=path)
        self.names[name] = members

    def take_over(self, repetitions: Sequence["_Scope"], path: Path) -> None:
        """What is named in repetitions is known outside too, as those of all of them."""
        for name in repetitions[0].names:
            self.add(name, tuple(each for scope in repetitions for each in scope.names[name]), path)


@dataclass(slots=True, kw_only=True)
class _Expansion:
    """One pass over a plan."""

    seed: int
    steps: list[PlainStep] = field(default_factory=list)
    named: int = 0

    def entry(self, entry: Entry, scope: _Scope, previous: Members, given: _Begin | None) -> Members:
        """All steps of one entry; `previous`: those of the one before, `given`: its start from its block."""
        begin = self._own(entry, scope, previous) or given
        assert begin is not None, "an entry has a start, or its block gives it one"
        if entry.repeat is None:
            return self._once(entry, scope, begin)
        return self._repeated(entry, entry.repeat, scope, begin)

    def _own(self, entry: Entry, scope: _Scope, previous: Members) -> _Begin | None:
        """The start that the entry has itself."""
        if entry.start is None:
            return None

        def members(name: str) -> Members:
            if name == PREVIOUS and not previous:
                first = "the name of an earlier step; the first step has none before it"
                raise BadStep(_key(entry.start), name, first, path=entry.path)
            return previous if name == PREVIOUS else scope.members(name)

        def meant(moment: StepMoment) -> Moments:
            return _moment(members(moment.step), moment.moment)

        return _Begin(start=starts.named(entry.start, meant, members), path=entry.path)

    def _repeated(self, entry: Entry, repeat: Repeat, scope: _Scope, first: _Begin) -> Members:
        """One after the other, each in a scope of its own."""
        delays_s = self._delays_s(entry, repeat, scope, first.start)
        scopes = [scope.inside(number) for number in range(1, len(delays_s) + 1)]
        all_members, before = Members(), Members()
        for inner, delay_s in zip(scopes, delays_s, strict=True):
            start = first.start
            if before:
                start = _repetition(
                    start, all_members[0], delay_s, before if repeat.overlap == "forbid" else ()
                )
            before = self._once(entry, inner, replace(first, start=start))
            all_members += before
        scope.take_over(scopes, entry.path)
        return all_members

    def _delays_s(self, entry: Entry, repeat: Repeat, scope: _Scope, start: Start) -> tuple[float, ...]:
        """When each repetition begins, after the first; drawn for this entry alone."""
        try:
            if isinstance(entry, WrittenStep) and (hold_s := _hold_s(entry)) is not None:
                repeat.check_hold(hold_s)
            count = repeat.count(start)
        except BadStep as refusal:
            raise refusal.below(*entry.path, "repeat") from None
        where = ".".join(map(str, entry.path))
        return repeat.delays_s(count, Random(f"{self.seed} {where}{scope.suffix}"))

    def _once(self, entry: Entry, scope: _Scope, begin: _Begin) -> Members:
        """The steps of one entry, or of one repetition of it."""
        if isinstance(entry, WrittenStep):
            members = self._step(entry, scope, begin)
        elif entry.kind == "parallel":
            members = self._parallel(entry, scope, begin)
        else:
            members = self._sequence(entry, scope, begin)
        if entry.name is not None:
            scope.add(entry.name, members, entry.path)
        return members

    def _step(self, entry: WrittenStep, scope: _Scope, begin: _Begin) -> Members:
        name = entry.name + scope.suffix
        if len(self.steps) == MOST_STEPS:
            allowed = f"what makes at most {MOST_STEPS} steps in all"
            raise BadStep("repeat", f"{MOST_STEPS + 1} or more", allowed, path=entry.path[:1])
        self._check(begin)
        self.steps.append(
            PlainStep(name=name, words=entry.words, start=begin.start, path=entry.path, start_path=begin.path)
        )
        return (name,)

    def _check(self, begin: _Begin) -> None:
        """BadStep if a start holds too many moments, or too deep in each other."""
        of, once = _named_in(begin.start)
        self.named += len(once) + sum(1 for _ in each_moment(of)) if of else len(once)
        if self.named > MOST_NAMED:
            allowed = f"at most {MOST_NAMED} names in all; that of a block stands for those of its steps"
            raise BadStep(_key(begin.start), f"{MOST_NAMED + 1} or more", allowed, path=begin.path)
        if of and levels(of) > MOST_LEVELS:
            allowed = f"all() and any() at most {MOST_LEVELS} levels deep; the name of a block is an all()"
            raise BadStep(_key(begin.start), str(of), allowed, path=begin.path)

    def _parallel(self, block: Block, scope: _Scope, begin: _Begin) -> Members:
        """All entries begin with the block, unless they have a start of their own."""
        begin = replace(begin, start=self._since_before(begin.start))
        all_members, before = Members(), Members()
        for entry in block.entries:
            before = self.entry(entry, scope, before, begin)
            all_members += before
        return all_members

    def _since_before(self, start: Start) -> Start:
        """An event that several steps wait for counts for each from the begin of the step before them all."""
        if not isinstance(start, When) or start.since is not None:
            return start
        if not self.steps:
            return replace(start, since=starts.FROM_THE_START)
        return replace(start, since=StepMoment(step=self.steps[-1].name, moment="begin"))

    def _sequence(self, block: Block, scope: _Scope, begin: _Begin) -> Members:
        """Each entry begins after the one before; an event that it waits for counts from then on."""
        all_members, before = Members(), Members()
        for entry in block.entries:
            given = begin
            if before:
                of = _moment(before, block.then.moment)
                given = _Begin(start=After(of=of, delay_s=block.then.delay_s), path=block.path)
                if isinstance(entry.start, When) and entry.start.since is None:
                    entry = replace(entry, start=replace(entry.start, since=of))
            before = self.entry(entry, scope, before, given)
            all_members += before
        return all_members


def _moment(members: Members, moment: Moment) -> Moments:
    """A moment of all these steps together."""
    if moment == "begin":
        return StepMoment(step=members[0], moment="begin")
    return combined("all", tuple(StepMoment(step=name, moment=moment) for name in members))


def _repetition(start: Start, first: str, delay_s: float, once: Members) -> Start:
    """The start of a repetition after the first: so much later, and once these have recovered."""
    if isinstance(start, When):
        return After(of=StepMoment(step=first, moment="begin"), delay_s=delay_s, once=once)
    return replace(starts.later(start, delay_s), once=tuple(dict.fromkeys((*start.once, *once))))


def _named_in(start: Start) -> tuple[Moments | None, Members]:
    """The moments and the names that a start holds."""
    match start:
        case When(since=since):
            return (None if since == starts.FROM_THE_START else since), ()
        case After(of=of, once=once):
            return of, once
        case _:
            return None, start.once


def _key(start: Start | None) -> str:
    """The key at which moments stand."""
    if isinstance(start, When):
        return "when" if starts.is_first_ack(start) else "since"
    return "after" if isinstance(start, After) else "once"


def _hold_s(step: WrittenStep) -> float | None:
    """How long the step holds; None if that is not written as it should be, which its parsing refuses."""
    try:
        return parse_duration(step.words.get("for"), "for")
    except BadStep:
        return None
