"""Finalize: every feature of the cluster goes up to the newest level that all brokers know, metadata.version
first (KIP-584), as the last act of an upgrade.

Effect: every broker says, asked by itself, that each of them is at that level.
Recovery: nothing is held; they still say so, and the ISR is what it was.

Most of it cannot be undone: Kafka refuses to lower a metadata.version that has changed the metadata.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self

from compose.admin_protocol import METADATA_VERSION
from compose.admin_protocol import Feature as Known
from compose.errors import AdminRefused
from faults.errors import NoTarget
from faults.kinds.admin.features.feature import FEATURES
from faults.kinds.admin.features.said import level_now, not_said, serving
from faults.kinds.admin.settings_text import MIN_ISR
from faults.kinds.admin.topic_step import ClusterStep
from faults.kinds.fault.base import Injection, check_free, claim
from faults.kinds.fault.evidence import Evidence, NotYet, Proven
from faults.kinds.fault.kind import BY_CONTROLLERS, Cost, FaultKind
from faults.kinds.fault.step import Head, Words
from faults.kinds.shared.recovery import and_in_sync
from faults.tasks import as_job

IN_ORDER = (METADATA_VERSION, *(feature for feature in FEATURES if feature != METADATA_VERSION))
"""The others depend on the level of metadata.version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalizeStep(ClusterStep):
    """Finalize every feature."""

    kind: ClassVar[str] = "finalize"

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """It adds no key."""
        return cls(name=head.name, start=head.start, hold_s=head.hold_s)

    def write(self) -> dict[str, str]:
        """Nothing."""
        return {}

    @property
    def asked(self) -> str:
        """What all such steps hit."""
        return "every feature"

    @property
    def changes(self) -> frozenset[str]:
        """Every feature; with ELR, Kafka writes down min.insync.replicas anew too (KIP-966)."""
        return frozenset({*FEATURES, MIN_ISR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The levels of a feature: before, and the one that it goes up to."""

    before: int
    to: int


@dataclass(slots=True)
class Finalize:
    """Finalizes what is not at its newest level."""

    injection: Injection[FinalizeStep]
    _changes: Mapping[str, Change] = field(default_factory=dict)

    def prepare(self) -> None:
        """Which features go up; and whether Kafka would take the metadata.version now."""
        admin = self.injection.cluster.admin
        said = {feature: admin.features(feature) for feature in IN_ORDER}
        silent = set(serving(self.injection.cluster)) - said[METADATA_VERSION].keys()
        if silent:
            raise NoTarget(f"brokers {sorted(silent)} do not say which {METADATA_VERSION} they know")
        self._changes = {
            feature: change for feature in IN_ORDER if (change := self._change(feature, said[feature]))
        }
        if not self._changes:
            raise NoTarget("nothing to finalize: every feature is at the newest level that all brokers know")
        for feature in self._changes:
            check_free(self.injection, feature)
        try:
            if METADATA_VERSION in self._changes:
                admin.set_feature(METADATA_VERSION, self._changes[METADATA_VERSION].to, only_check=True)
        except AdminRefused as error:
            raise NoTarget(str(error)) from error

    def _change(self, feature: str, said: Mapping[int, Known]) -> Change | None:
        """None if there is nowhere to go: a broker that does not know a feature knows its level 0 only."""
        if not said or set(serving(self.injection.cluster)) - said.keys():
            return None
        level, newest = level_now(said), min(known.newest for known in said.values())
        if level is None:
            raise NoTarget(f"the brokers do not agree on the level of {feature}")
        return Change(before=level, to=newest) if newest > level else None

    @as_job
    def inject(self) -> None:
        """One after the other."""
        for feature, change in self._changes.items():
            claim(self.injection, feature)
            self.injection.cluster.admin.set_feature(feature, change.to)

    def effect(self) -> Evidence:
        """Does every broker say so of each?"""
        cluster, by_brokers = self.injection.cluster, set(self.injection.cluster.brokers)
        for feature, change in self._changes.items():
            said = cluster.admin.features(feature)
            if lacking := not_said(cluster, said, feature, change.to):
                return NotYet(instead=lacking)
            by_brokers &= said.keys()
        levels = {feature: [change.before, change.to] for feature, change in self._changes.items()}
        values = {"levels": levels, "by_brokers": sorted(by_brokers)}
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    @as_job
    def heal(self) -> None:
        """Nothing is undone."""
        for feature in self._changes:
            self.injection.holds.give_up(feature, self.injection.owner)

    def recovery(self) -> Evidence:
        """Is it still so, and is the ISR what it was?"""
        return and_in_sync(self.injection, self.effect())


FINALIZE = FaultKind(
    step=FinalizeStep,
    make=Finalize,
    takes=BY_CONTROLLERS,
    shortest_hold_s=1.0,
    cost=Cost(changes_settings=True),
    does="every feature is finalized at the newest level that all brokers know, `metadata.version` first: "
    "the last act of an upgrade. Refused where there is nothing to finalize",
    effect="every broker that is not down says, asked by itself, that each of them is at that level",
    healing="nothing: the levels stay",
    recovery="every broker still says so",
)
