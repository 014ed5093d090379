"""Which Kafka releases a scenario is about: what its nodes begin with, and what they are brought to."""

from compose.releases.settings import releases
from compose.spec.topology import release_numbers
from faults.kinds.process.rolling_upgrade import RollingUpgradeStep
from faults.plan.blocks import steps_as_written
from harness.scenario.model import Scenario


def releases_of(scenario: Scenario) -> tuple[str, ...]:
    """Every release that formats, or that a node runs at some time, once each, oldest first.

    A step's release that there is not is left out: the step itself is refused.
    """
    cluster = scenario.cluster
    formatted = () if cluster.formatted is None else (cluster.formatted,)
    rolls = (
        step for _, step in steps_as_written(scenario.faults) if step.get("do") == RollingUpgradeStep.kind
    )
    later = (step["release"] for step in rolls if step.get("release") in releases())
    return tuple(sorted({cluster.kafka, *formatted, *later}, key=release_numbers))
