"""Refused downgrade: Kafka is asked to take metadata.version back to the level of an older release, and is to
refuse it: after an upgrade was finalized there is no way back.

Effect: Kafka has refused it, with a reason that is about the downgrade, and every broker says that the level
is what it was. Where Kafka takes it, the step is not proven, and is undone when it is healed.
Recovery: every broker says so; the ISR is what it was.

What Kafka says differs between releases ("Invalid metadata.version 21. Refusing to perform the requested
downgrade …" until 4.2, "Unsupported metadata.version downgrade from 30 to 21. …" since): what all have in
common is the word. A refusal for another reason, as while a controller has not registered yet, is none.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from compose.admin_protocol import METADATA_VERSION
from compose.admin_protocol import Feature as Known
from compose.errors import AdminRefused
from compose.releases.settings import releases
from compose.releases.upgrades import metadata_level
from faults.choices import parse_choice
from faults.clock import ns
from faults.errors import NoTarget
from faults.kinds.admin.features.said import level_now, not_said
from faults.kinds.admin.topic_step import ClusterStep
from faults.kinds.fault.base import Injection, check_free, claim
from faults.kinds.fault.evidence import Evidence, NotYet, Proven
from faults.kinds.fault.kind import BY_CONTROLLERS, Cost, FaultKind
from faults.kinds.fault.step import Head, Words
from faults.kinds.shared.recovery import and_in_sync
from faults.tasks import Task, as_job, in_background, sleep_until

OF_THE_DOWNGRADE = re.compile(r"downgrad", re.IGNORECASE)
WITHIN_NS, AGAIN_NS = ns(10.0), ns(1.0)
"""A controller registers within seconds of its start; until then features are refused for that reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedDowngradeStep(ClusterStep):
    """Ask for the metadata.version of an older release."""

    kind: ClassVar[str] = "refused-downgrade"
    keys: ClassVar[tuple[str, ...]] = ("release",)
    release: str

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read the release."""
        release = parse_choice(words.get("release"), "release", releases())
        return cls(name=head.name, start=head.start, hold_s=head.hold_s, release=release)

    def write(self) -> dict[str, str]:
        """The release."""
        return {"release": self.release}

    @property
    def asked(self) -> str:
        """The level that is asked for, and whose it is."""
        return f"{METADATA_VERSION}={metadata_level(self.release)} of {self.release}"


@dataclass(slots=True)
class RefusedDowngrade:
    """Asks once; again, if Kafka has another reason to refuse it for the time being."""

    injection: Injection[RefusedDowngradeStep]
    _before: int = -1
    _refusal: str = ""
    _taken: bool = False

    @property
    def _level(self) -> int:
        return metadata_level(self.injection.step.release)

    def prepare(self) -> None:
        """The level from before, which must be above the one that is asked for."""
        check_free(self.injection, METADATA_VERSION)
        said = self._said()
        level = level_now(said)
        if level is None:
            raise NoTarget(f"the brokers do not agree on {METADATA_VERSION}, or none answers: {sorted(said)}")
        if level <= self._level:
            release = self.injection.step.release
            raise NoTarget(
                f"nothing to refuse: {METADATA_VERSION} is at {level}, {self._level} is {release}'s"
            )
        self._before = level

    def inject(self) -> Task[None]:
        """Ask."""
        clock = self.injection.clock
        by_ns = clock.now_ns() + WITHIN_NS
        claim(self.injection, METADATA_VERSION)
        while True:
            yield from in_background(self._ask)
            if self._is_decided or self.injection.broken_off.is_set() or clock.now_ns() >= by_ns:
                return
            yield from sleep_until(clock.now_ns() + AGAIN_NS)

    @property
    def _is_decided(self) -> bool:
        return self._taken or OF_THE_DOWNGRADE.search(self._refusal) is not None

    def _ask(self) -> None:
        try:
            self.injection.cluster.admin.set_feature(METADATA_VERSION, self._level)
        except AdminRefused as error:
            self._refusal = str(error)
        else:
            self._taken = True

    def effect(self) -> Evidence:
        """Was it refused for that reason, and is the level what it was?"""
        if self._taken:
            return NotYet(instead=f"Kafka has taken {METADATA_VERSION} back to {self._level}")
        if not self._is_decided:
            return NotYet(instead=f"refused, and not as a downgrade: {self._refusal}")
        said = self._said()
        if lacking := not_said(self.injection.cluster, said, METADATA_VERSION, self._before):
            return NotYet(instead=lacking)
        values = {
            "refused": self._refusal,
            "feature": METADATA_VERSION,
            "asked": self._level,
            "level": self._before,
            "by_brokers": sorted(said),
        }
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    @as_job
    def heal(self) -> None:
        """Up again, if Kafka has taken it."""
        if self._taken:
            self.injection.cluster.admin.set_feature(METADATA_VERSION, self._before)
            self._taken = False
        self.injection.holds.give_up(METADATA_VERSION, self.injection.owner)

    def recovery(self) -> Evidence:
        """Does every broker say what it said before, and is the ISR what it was?"""
        said = self._said()
        if lacking := not_said(self.injection.cluster, said, METADATA_VERSION, self._before):
            return NotYet(instead=lacking)
        values = {"feature": METADATA_VERSION, "level": self._before, "by_brokers": sorted(said)}
        return and_in_sync(self.injection, Proven(since_ns=self.injection.clock.now_ns(), values=values))

    def _said(self) -> Mapping[int, Known]:
        return self.injection.cluster.admin.features(METADATA_VERSION)


REFUSED_DOWNGRADE = FaultKind(
    step=RefusedDowngradeStep,
    make=RefusedDowngrade,
    takes=BY_CONTROLLERS,
    shortest_hold_s=1.0,
    cost=Cost(changes_settings=True),
    does="Kafka is asked to take `metadata.version` back to the level of an older `release`, and must refuse",
    effect="Kafka has refused it as a downgrade, in its own words, and every broker that is not down says, "
    "asked by itself, that the level is what it was",
    healing="the level from before, if Kafka has taken it",
    recovery="every broker says that the level is what it was",
)
