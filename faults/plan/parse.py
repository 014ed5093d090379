"""Between the words of a scenario and the plain data of a plan, both ways.

    {do: partition, at: 5s, edges: followers -> leader, mode: refuse, for: 3s}
    {do: kill, after: previous.begin + 2s, target: leader, for: 8s, name: the-kill}
    {do: power-loss, when: 'isr == {leader}', within: 20s, target: leader, for: 5s}
    {do: pause, at: 40s, once: the-kill + power-loss-3, target: node 1, for: 5s}
    {do: pause, at: 60s, repeat: {every: 10s, jitter: 1s, times: 6}, target: leader, for: 2s}
    {at: 90s, sequence: [{do: stop, target: 1, for: 3s}, {do: pause, target: 2, for: 2s}]}

Keys: `do` and `for` always; one of `at`, `after`, `when`; `once` with `at` or `after`, `within` and `since`
with `when`; `name` and `repeat` if you like; and those that the kind of fault adds. Every error is a BadStep
that names the key.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from faults.durations import parse_duration, write_duration
from faults.errors import BadStep, Path
from faults.kinds.fault.step import Head, Step, Words
from faults.kinds.registry import KINDS
from faults.plan.blocks import OF_KINDS
from faults.plan.expand import PlainStep, expand
from faults.plan.starts import write_start


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A step, and how it is written."""

    step: Step
    written: PlainStep

    def path_of(self, key: str) -> Path:
        """Where the map stands that has this key of the step."""
        return self.written.path_of(key)


def parse_plan(plan: Sequence[Words], *, seed: int = 0) -> tuple[PlannedStep, ...]:
    """The steps of a plan, in order: repetitions drawn from the seed, and blocks, become steps.

    A BadStep has the path to the step as it is written.
    """
    return tuple(PlannedStep(step=_parse(each), written=each) for each in expand(plan, seed=seed))


def parse_steps(plan: Sequence[Words], *, seed: int = 0) -> tuple[Step, ...]:
    """As `parse_plan`, the steps alone."""
    return tuple(each.step for each in parse_plan(plan, seed=seed))


def parse_step(words: Words) -> Step:
    """One step that is not repeated."""
    (step,) = parse_steps([words])
    return step


def _parse(plain: PlainStep) -> Step:
    try:
        kind = _parse_kind(plain.words.get("do"))
        _refuse_keys_of_other_kinds(plain.words, kind)
        hold_s = parse_duration(plain.words.get("for"), "for")
        return kind.parse(Head(name=plain.name, start=plain.start, hold_s=hold_s), plain.words)
    except BadStep as refusal:
        raise refusal.below(*plain.path) from None


def _parse_kind(value: object) -> type[Step]:
    for name, kind in KINDS.items():
        if name == value:
            return kind.step
    raise BadStep("do", value, KINDS)


def _refuse_keys_of_other_kinds(words: Words, step: type[Step]) -> None:
    for key in words:
        if key in OF_KINDS and key not in step.keys:
            takers = ", ".join(name for name, kind in KINDS.items() if key in kind.step.keys)
            keys = ", ".join(step.keys) or "no such key"
            allowed = f"nothing: a {step.kind} takes {keys}; {key} belongs to {takers}"
            raise BadStep(key, words[key], allowed)


def write_step(step: Step) -> dict[str, str]:
    """The words for a step, which `parse_step` reads back to the same step: for the resolved scenario."""
    return (
        {"name": step.name, "do": step.kind}
        | write_start(step.start)
        | step.write()
        | {"for": write_duration(step.hold_s)}
    )
