"""What a plan must satisfy before anything starts; every refusal is a BadStep with the step's index.

Names are unique; `after` and `once` name earlier steps; nodes, topics, partitions and edges exist; a role is
held by at least one node; a hold is long enough to be proven.
"""

from dataclasses import replace

from faults.errors import BadStep
from faults.kinds.registry import kind_of
from faults.kinds.step import After, At, Step, When
from faults.targets.conditions import Condition, FollowerBehind
from faults.targets.facts import Facts, check_partition, check_target
from faults.targets.target import Target, TopicPartition

MOST_STEPS = 10_000
"""Half a day of faults, one after the other."""


def validate(steps: tuple[Step, ...], facts: Facts) -> tuple[Step, ...]:
    """The same steps with the default partition written into every role that leaves it out."""
    done = tuple(_with_partition(step, facts.default_partition) for step in steps)
    for index, step in enumerate(done):
        try:
            _check(step, done[:index], facts)
        except BadStep as refusal:
            raise refusal.at_step(index) from None
    return done


def _check(step: Step, earlier: tuple[Step, ...], facts: Facts) -> None:
    names = [each.name for each in earlier]
    if step.name in names:
        raise BadStep("name", step.name, "a name that no earlier step has")
    if isinstance(step.start, After) and step.start.anchor not in names:
        raise BadStep("after", step.start.anchor, ["the name of an earlier step", *names])
    if isinstance(step.start, At):
        for name in step.start.once:
            if name not in names:
                raise BadStep("once", name, ["the name of an earlier step", *names])
    shortest_s = kind_of(step).shortest_hold_s
    if step.hold_s < shortest_s:
        allowed = f"at least {shortest_s:g}s: a shorter {step.kind} cannot be proven"
        raise BadStep("for", f"{step.hold_s:g}s", allowed)
    if isinstance(step.start, When):
        _check_condition(step.start.condition, facts)
    step.check(facts)


def _check_condition(condition: Condition, facts: Facts) -> None:
    """BadStep unless the partition exists, and a follower of the rank that is waited for."""
    check_partition(condition.of, "when", facts)
    if isinstance(condition, FollowerBehind):
        check_target(Target(role="follower", rank=condition.rank, of=condition.of), "when", facts)


def _with_partition(step: Step, default: TopicPartition | None) -> Step:
    """The step with `default` where a role or a condition names no partition."""
    step = step.with_partition(default)
    if isinstance(step.start, When) and step.start.condition.of is None:
        condition = replace(step.start.condition, of=default)
        return replace(step, start=replace(step.start, condition=condition))
    return step
