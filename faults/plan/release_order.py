"""Which order of releases a plan may ask for: what Kafka would refuse, or never refuse, is refused before.

By the order of the plan: nodes go back to an older release only while nothing was finalized since at a newer
one, and a refused downgrade must be one that Kafka refuses. What is finalized is the newest level that all
nodes know then: that of the oldest release among them. Where a role moves, nobody knows which of its nodes a
roll hits: then a step is refused only if it is wrong in either case.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from compose.admin_protocol import METADATA_VERSION
from compose.releases.upgrades import can_be_lowered, version_of
from compose.spec.topology import release_numbers
from faults.errors import BadStep
from faults.kinds.admin.features.feature import ELR, FeatureStep
from faults.kinds.admin.features.finalize import FinalizeStep
from faults.kinds.admin.features.refused_downgrade import RefusedDowngradeStep
from faults.kinds.fault.step import Step
from faults.kinds.process.rolling_upgrade import RollingUpgradeStep
from faults.targets.facts import Facts

Possible: TypeAlias = dict[int, frozenset[str]]
"""The releases that each node may run."""


def check_releases(steps: Sequence[Step], facts: Facts) -> None:
    """BadStep, with the index of the step, for the first that comes too late or in vain."""
    possible = {node: frozenset({release}) for node, release in facts.releases}
    least = by = ""
    most = ".".join(map(str, (*facts.release, 0))) if facts.release else ""
    for index, step in enumerate(steps):
        match step:
            case FinalizeStep() if possible:
                lowest, most = _common(possible, _oldest), _newest([most, _common(possible, _newest)])
                if _newest([least, lowest]) != least:
                    least, by = lowest, step.name
            case FeatureStep(feature=feature) if possible and feature == METADATA_VERSION:
                most = _newest([most, _common(possible, _newest)])
            case RollingUpgradeStep(release=release):
                if least and version_of(release) < version_of(least):
                    allowed = f"{least} or newer: {by} finalizes the features of that release before"
                    raise BadStep("release", release, allowed, path=(index,))
                possible |= _rolled(possible, step, facts)
            case RefusedDowngradeStep(release=release):
                if most and can_be_lowered(most, release):
                    allowed = f"a release to whose metadata.version Kafka refuses to go back from {most}"
                    raise BadStep("release", release, allowed, path=(index,))


def check_levels(steps: Sequence[Step], facts: Facts) -> None:
    """BadStep, with the index of the step, for the first that wants a level which Kafka never takes.

    Whatever the order of the plan: the newest release counts that a node may ever run; for eligible leader
    replicas, which need its metadata.version, only if that may be finalized.
    """
    begins: list[tuple[int, ...]] = [version_of(release) for _, release in facts.releases]
    begins += [facts.release] if facts.release else []
    if not begins:
        return
    later = [version_of(step.release) for step in steps if isinstance(step, RollingUpgradeStep)]
    newest = max([*begins, *later])
    finalized = newest if any(_finalizes(step) for step in steps) else facts.release or newest
    for index, step in enumerate(steps):
        if isinstance(step, FeatureStep):
            try:
                step.check_level(finalized if step.feature == ELR else newest)
            except BadStep as refusal:
                raise refusal.below(index) from None


def _finalizes(step: Step) -> bool:
    return isinstance(step, FinalizeStep) or (
        isinstance(step, FeatureStep) and step.feature == METADATA_VERSION
    )


def _rolled(possible: Possible, step: RollingUpgradeStep, facts: Facts) -> Possible:
    """What the nodes of the target may run afterwards: of a role that moves each has been hit, or not."""
    hit = [node for node in facts.candidates(step.target) if node in possible]
    before = {node: possible[node] if step.target.moves else frozenset() for node in hit}
    return {node: before[node] | {step.release} for node in hit}


def _common(possible: Possible, of_node: Callable[[Iterable[str]], str]) -> str:
    """The newest release whose level all nodes know, where each runs its oldest, or newest, possible one."""
    return _oldest(of_node(releases) for releases in possible.values())


def _oldest(releases: Iterable[str]) -> str:
    return min(releases, key=release_numbers)


def _newest(releases: Iterable[str]) -> str:
    """ "" is older than all."""
    return max(releases, key=lambda release: release_numbers(release) if release else ())
