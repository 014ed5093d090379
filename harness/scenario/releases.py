"""Which Kafka releases a scenario is about: what its nodes begin with, and what they are brought to."""

from collections.abc import Iterator

from compose.releases.settings import releases
from compose.spec.topology import release_numbers
from faults.kinds.process.rolling_upgrade import RollingUpgradeStep
from faults.plan.blocks import BLOCK_KINDS
from harness.scenario.model import Scenario


def releases_of(scenario: Scenario) -> tuple[str, ...]:
    """Every release that formats, or that a node runs at some time, once each, oldest first.

    A step's release that there is not is left out: the step itself is refused.
    """
    cluster = scenario.cluster
    formatted = () if cluster.formatted is None else (cluster.formatted,)
    later = (each for each in _of_plan(scenario.faults) if each in releases())
    return tuple(sorted({cluster.kafka, *formatted, *later}, key=release_numbers))


def _of_plan(plan: object) -> Iterator[str]:
    """The releases of the steps in a plan as it is written, in blocks too."""
    for words in plan if isinstance(plan, list) else ():
        if not isinstance(words, dict):
            continue
        release = words.get("release")
        if words.get("do") == RollingUpgradeStep.kind and isinstance(release, str):
            yield release
        for kind in BLOCK_KINDS:
            yield from _of_plan(words.get(kind))
