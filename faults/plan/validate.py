"""What a plan must satisfy before anything starts; every refusal is a BadStep with the path to the step.

Names are unique; `after`, `once` and `since` name earlier steps; nodes, topics, partitions and edges exist; a
role is held by at least one node; a hold is long enough to be proven; releases come in an order that Kafka
allows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from faults.errors import BadStep
from faults.kinds.fault.step import After, At, Start, Step, When
from faults.kinds.registry import kind_of
from faults.plan.as_planned import as_planned
from faults.plan.parse import PlannedStep
from faults.plan.release_order import check_levels, check_releases
from faults.targets.conditions import (
    BrokerFenced,
    BrokerUnfenced,
    Condition,
    ControllerMoved,
    CoordinatorMoved,
    ElrSize,
    FirstAck,
    FollowerBehind,
    IsrSize,
    ProducerFenced,
    TransactionCoordinatorMoved,
)
from faults.targets.facts import Facts, check_partition, check_target, check_transactional_id
from faults.targets.moments import Combined, StepMoment, each_moment
from faults.targets.target import Target, TopicPartition

MOST_SHOWN = 20
"""Names of earlier steps that a refusal lists: the last ones."""


def validate(steps: tuple[Step, ...], facts: Facts) -> tuple[Step, ...]:
    """The same steps with the default partition written into every role that leaves it out.

    A refusal's path is the index of its step.
    """
    done = tuple(_with_partition(step, facts.default_partition) for step in steps)
    names: dict[str, None] = {}
    planned = as_planned(done, facts)
    for index, step in enumerate(done):
        try:
            _check(step, names, planned)
        except BadStep as refusal:
            raise refusal.below(index) from None
        names[step.name] = None
    check_releases(done, facts)
    check_levels(done, facts)
    _check_in_vain(done, facts)
    return done


def validate_plan(plan: Sequence[PlannedStep], facts: Facts) -> tuple[Step, ...]:
    """The steps as `validate` gives them; a refusal's path leads to the step as it is written."""
    try:
        return validate(tuple(each.step for each in plan), facts)
    except BadStep as refusal:
        path = plan[refusal.step or 0].path_of(refusal.field)
        raise BadStep(refusal.field, refusal.value, refusal.allowed, path=path) from None


def _check(step: Step, earlier: dict[str, None], facts: Facts) -> None:
    """`earlier`: the names of the steps before, in order."""
    if step.name in earlier:
        raise BadStep("name", step.name, "a name that no earlier step has")
    for key, name in _named(step.start):
        if name not in earlier:
            there_are = f": {', '.join(list(earlier)[-MOST_SHOWN:])}" if earlier else ""
            raise BadStep(key, name, f"the name of an earlier step{there_are}")
    shortest_s = kind_of(step).shortest_hold_s
    if step.hold_s < shortest_s:
        allowed = f"at least {shortest_s:g}s: a shorter {step.kind} cannot be proven"
        raise BadStep("for", f"{step.hold_s:g}s", allowed)
    if isinstance(step.start, When):
        _check_condition(step.start.condition, facts)
    step.check(facts)


def _check_in_vain(steps: Sequence[Step], facts: Facts) -> None:
    """BadStep for the first step of which nothing can come in the cluster as it begins, if that stays so
    whichever steps come before it: none of those that are not in vain changes what it depends on."""
    found = {index: refusal for index, step in enumerate(steps) if (refusal := step.in_vain(facts))}
    changed = {thing for index, step in enumerate(steps) if index not in found for thing in step.changes}
    while meaningful := [index for index in found if steps[index].depends_on & changed]:
        for index in meaningful:
            del found[index]
            changed |= steps[index].changes
    for index, refusal in found.items():
        raise refusal.below(index)


def _named(start: Start) -> Iterator[tuple[str, str]]:
    """Each step that a start names, and the key at which it does."""
    match start:
        case At(once=once):
            yield from (("once", name) for name in once)
        case After(of=of, once=once):
            yield from (("after", each.step) for each in each_moment(of))
            yield from (("once", name) for name in once)
        case When(condition=condition, since=StepMoment() | Combined() as since):
            key = "when" if isinstance(condition, FirstAck) else "since"
            yield from ((key, each.step) for each in each_moment(since))
        case When():
            return


def _check_condition(condition: Condition, facts: Facts) -> None:
    """BadStep unless there is what the event is about."""
    match condition:
        case BrokerFenced(broker=broker) | BrokerUnfenced(broker=broker):
            if broker not in facts.brokers:
                raise BadStep("when", str(condition), [f"broker {each}" for each in facts.brokers])
        case ControllerMoved():
            if len(facts.controllers) < 2:
                raise BadStep("when", str(condition), "another event: there is one controller only")
        case CoordinatorMoved():
            pass  # what groups there will be nobody knows
        case TransactionCoordinatorMoved(transactional_id=of):
            check_transactional_id(of, "when", str(condition), facts)
        case ProducerFenced():
            if not facts.transactional_ids:
                raise BadStep("when", str(condition), "another event: the load has no transactions")
        case _:
            check_partition(condition.of, "when", facts)
            if isinstance(condition, FollowerBehind):
                check_target(Target(role="follower", rank=condition.rank, of=condition.of), "when", facts)
            if isinstance(condition, IsrSize | ElrSize):
                _check_size(condition, facts)


def _check_size(condition: IsrSize | ElrSize, facts: Facts) -> None:
    """BadStep if so many replicas can never be in sync, or eligible without that.

    The last replica in sync stays so, unless it is eligible then (KIP-966).
    """
    if isinstance(condition, ElrSize) and not facts.has_elr:
        raise BadStep("when", str(condition), "an event of the ISR: cluster.elr is off")
    least, most = 0 if facts.has_elr else 1, facts.copies(condition.of)
    fits = {"<=": least <= condition.size, ">=": condition.size <= most}
    if not fits.get(condition.how, least <= condition.size <= most):
        raise BadStep("when", str(condition), f"a number from {least} to {most}, the replicas that there are")


def _with_partition(step: Step, default: TopicPartition | None) -> Step:
    """The step with `default` where a role or a condition names no partition."""
    step = step.with_partition(default)
    if not isinstance(step.start, When):
        return step
    match step.start.condition:
        case BrokerFenced() | BrokerUnfenced() | ControllerMoved() | CoordinatorMoved():
            return step
        case TransactionCoordinatorMoved() | ProducerFenced():
            return step
        case condition if condition.of is None:
            return replace(step, start=replace(step.start, condition=replace(condition, of=default)))
        case _:
            return step
