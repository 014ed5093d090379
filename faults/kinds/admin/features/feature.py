"""Feature: a feature of the cluster is finalized at another level, as ELR off and on, and back (KIP-584).

Effect: every broker says, asked by itself, that the feature is at the new level.
Recovery: every broker says that it is at the level from before; the ISR is what it was.

Kafka alone knows which ways are open: it is asked before, without a change, and its reason refuses the step.
For the way back it can be asked only when the step is healed: where it refuses that, the fault stays, and its
reason is reported.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from compose.admin_protocol import METADATA_VERSION
from compose.admin_protocol import Feature as Known
from compose.errors import AdminRefused
from compose.releases.upgrades import FEATURE_LEVELS, newest_level
from faults.errors import BadStep, NoTarget
from faults.kinds.admin.features.said import level_now, not_said
from faults.kinds.admin.settings_text import MIN_ISR
from faults.kinds.admin.topic_step import ClusterStep
from faults.kinds.fault.base import Injection, check_free, claim
from faults.kinds.fault.evidence import Evidence, NotYet, Proven
from faults.kinds.fault.kind import BY_CONTROLLERS, Cost, FaultKind
from faults.kinds.fault.step import Head, Words
from faults.kinds.shared.recovery import and_in_sync
from faults.numbers import NUMBER
from faults.targets.facts import Facts
from faults.tasks import as_job

ELR = "eligible.leader.replicas.version"
FEATURES = tuple(sorted((METADATA_VERSION, *FEATURE_LEVELS)))
"""Which levels each release knows, its brokers say."""

_SET = re.compile(rf"(?P<feature>[a-z.]+) ?= ?(?P<level>{NUMBER})")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureStep(ClusterStep):
    """Finalize a feature at another level; 0 is off."""

    kind: ClassVar[str] = "feature"
    keys: ClassVar[tuple[str, ...]] = ("set",)
    feature: str
    level: int

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read feature and level."""
        value = words.get("set")
        if isinstance(value, Mapping) and len(value) == 1:
            ((feature, level),) = value.items()
            value = f"{feature}={level}"
        match = _SET.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise BadStep("set", value, "a feature and its level, as in eligible.leader.replicas.version=0")
        if match["feature"] not in FEATURES:
            raise BadStep("set", match["feature"], FEATURES)
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            feature=match["feature"],
            level=int(match["level"]),
        )

    def write(self) -> dict[str, str]:
        """Feature and level."""
        return {"set": f"{self.feature}={self.level}"}

    @property
    def asked(self) -> str:
        """Feature and level."""
        return f"{self.feature}={self.level}"

    def check_level(self, version: tuple[int, ...]) -> None:
        """BadStep if this version of Kafka does not take the level, or lacks the feature."""
        release, most = ".".join(map(str, version)), newest_level(self.feature, version)
        if not most:
            since = ".".join(map(str, min(FEATURE_LEVELS[self.feature])))
            raise BadStep(
                "set", self.feature, f"a feature that release {release} has; this one is of {since}"
            )
        least = int(self.feature == METADATA_VERSION)
        if not least <= self.level <= most:
            raise BadStep(
                "set", self.asked, f"a level from {least} to {most}, the newest of release {release}"
            )

    @property
    def changes(self) -> frozenset[str]:
        """The feature; with ELR, Kafka writes down min.insync.replicas anew too (KIP-966)."""
        return frozenset({self.feature, MIN_ISR} if self.feature == ELR else {self.feature})

    @property
    def depends_on(self) -> frozenset[str]:
        """The feature."""
        return frozenset({self.feature})

    def in_vain(self, facts: Facts) -> BadStep | None:
        """It begins at that level."""
        if not facts.release:
            return None
        begins = {ELR: int(facts.has_elr), METADATA_VERSION: newest_level(METADATA_VERSION, facts.release)}
        if begins.get(self.feature) != self.level:
            return None
        return BadStep("set", self.asked, f"another level: the cluster begins with {self.asked}")


@dataclass(slots=True)
class Feature:
    """Holds a feature at another level."""

    injection: Injection[FeatureStep]
    _before: int = -1
    _changing: bool = False

    def prepare(self) -> None:
        """At which level every broker says that it is; and whether Kafka would take the change."""
        step = self.injection.step
        check_free(self.injection, step.feature)
        said = self._said()
        if not said:
            raise NoTarget(f"nothing to change: no broker that answers knows {step.feature}")
        for node, known in said.items():
            if not known.oldest <= step.level <= known.newest:
                release = self.injection.cluster.release_of(node)
                takes = f"{step.feature} from {known.oldest} to {known.newest}"
                raise NoTarget(f"nothing to change: broker {node} of release {release} knows {takes}")
        level = level_now(said)
        if level is None:
            levels = sorted({known.level for known in said.values()})
            raise NoTarget(f"the brokers do not agree on {step.feature}: {levels}")
        self._before = level
        if self._before == step.level:
            raise NoTarget(f"nothing to change: {step.feature} is at {step.level}")
        try:
            self.injection.cluster.admin.set_feature(step.feature, step.level, only_check=True)
        except AdminRefused as error:
            raise NoTarget(str(error)) from error

    @as_job
    def inject(self) -> None:
        """Change."""
        step = self.injection.step
        claim(self.injection, step.feature)
        self._changing = True
        self.injection.cluster.admin.set_feature(step.feature, step.level)

    def effect(self) -> Evidence:
        """Does every broker say so?"""
        return self._said_by_all(self.injection.step.level)

    @as_job
    def heal(self) -> None:
        """Change it back, where Kafka allows that."""
        feature = self.injection.step.feature
        if self._changing:
            self.injection.cluster.admin.set_feature(feature, self._before)
            self._changing = False
        self.injection.holds.give_up(feature, self.injection.owner)

    def recovery(self) -> Evidence:
        """Does every broker say what it said before, and is the ISR what it was?"""
        return and_in_sync(self.injection, self._said_by_all(self._before))

    def _said_by_all(self, level: int) -> Evidence:
        feature, said = self.injection.step.feature, self._said()
        if lacking := not_said(self.injection.cluster, said, feature, level):
            return NotYet(instead=lacking)
        values = {"feature": feature, "level": level, "by_brokers": sorted(said)}
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    def _said(self) -> Mapping[int, Known]:
        return self.injection.cluster.admin.features(self.injection.step.feature)


FEATURE = FaultKind(
    step=FeatureStep,
    make=Feature,
    takes=BY_CONTROLLERS,
    shortest_hold_s=1.0,
    cost=Cost(changes_settings=True),
    does="a feature is finalized at another level, 0 is off, as `set: eligible.leader.replicas.version=0`. "
    "What the release or Kafka does not allow is refused with the reason",
    effect="every broker that is not down says, asked by itself, that it is at that level",
    healing="it is finalized at the level from before, where Kafka allows that",
    recovery="every broker says so of the level from before",
)
