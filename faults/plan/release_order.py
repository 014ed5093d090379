"""Which order of releases a plan may ask for: what Kafka would refuse, or never refuse, is refused before.

By the order of the plan: nodes go back to an older release only while nothing was finalized since at a newer
one, and a refused downgrade must be one that Kafka refuses.
"""

from collections.abc import Sequence

from compose.releases.upgrades import can_be_lowered
from compose.spec.topology import release_numbers
from faults.errors import BadStep
from faults.kinds.admin.features.finalize import FinalizeStep
from faults.kinds.admin.features.refused_downgrade import RefusedDowngradeStep
from faults.kinds.process.rolling_upgrade import RollingUpgradeStep
from faults.kinds.step import Step


def check_releases(steps: Sequence[Step], newest: str) -> None:
    """BadStep, with the index of the step, for the first that comes too late or in vain.

    `newest` is the newest release of a node before the first step; "": not known.
    """
    finalized = by = ""
    for index, step in enumerate(steps):
        match step:
            case FinalizeStep():
                finalized, by = newest, step.name
            case RollingUpgradeStep(release=release):
                if finalized and release_numbers(release)[:2] < release_numbers(finalized)[:2]:
                    allowed = f"{finalized} or newer: {by} finalizes the features of that release before"
                    raise BadStep("release", release, allowed, path=(index,))
                newest = max(newest, release, key=_numbers)
            case RefusedDowngradeStep(release=release):
                if newest and can_be_lowered(newest, release):
                    allowed = f"a release to whose metadata.version Kafka refuses to go back from {newest}"
                    raise BadStep("release", release, allowed, path=(index,))


def _numbers(release: str) -> tuple[int, ...]:
    return release_numbers(release) if release else ()
