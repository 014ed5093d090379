"""Config: dynamic settings of a topic, of one broker or of all are changed, and set to what they were.

Effect: every broker says, asked by itself, that the new values are in effect. A broker that is down learns of
them from the metadata log before it serves.
Recovery: every broker says so of the values from before; the ISR is what it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from compose.admin_protocol import Resource
from compose.releases.settings import releases, settings_of
from compose.spec.topology import release_numbers
from faults.errors import BadStep, NoTarget
from faults.kinds.admin.settings_text import (
    BROKER_SETTINGS,
    CLUSTER_SETTINGS,
    TOPIC_SETTINGS,
    Settings,
    check_changes,
    check_settings,
    parse_settings,
    write_settings,
)
from faults.kinds.admin.topic_step import ClusterStep, parse_topic, topic_facts
from faults.kinds.fault.base import Injection, check_free, claim
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name
from faults.kinds.fault.kind import BY_CONTROLLERS, Cost, FaultKind
from faults.kinds.fault.step import Head, ResolvedTargets, Words
from faults.kinds.shared.recovery import and_in_sync
from faults.targets.facts import Facts, check_target
from faults.targets.roles import Roles
from faults.targets.target import Target, TopicPartition, parse_target
from faults.tasks import as_job


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigStep(ClusterStep):
    """Change settings of a topic, or of the brokers that `target` names: one, or all. Without a target they
    are the topic's, "" until the plan's first one is written there."""

    kind: ClassVar[str] = "config"
    keys: ClassVar[tuple[str, ...]] = ("topic", "target", "set")
    topic: str = ""
    target: Target | None = None
    settings: Settings

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read what the settings are of, and the settings."""
        target = parse_target(words["target"]) if "target" in words else None
        if target is not None and "topic" in words:
            raise BadStep("topic", words["topic"], "nothing: the step names a target")
        if target is not None and target.role != "brokers" and len(target.ids) != 1:
            raise BadStep("target", str(target), "brokers, for the default of all; or one node")
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            topic=parse_topic(words),
            target=target,
            settings=parse_settings(words.get("set")),
        )

    def write(self) -> dict[str, str]:
        """What they are of, and the settings."""
        of = {"target": str(self.target)} if self.target else {"topic": self.topic} if self.topic else {}
        return {**of, "set": write_settings(self.settings)}

    @property
    def of(self) -> Resource:
        """What has the settings."""
        if self.target is None:
            return Resource(kind="topic", name=self.topic)
        return Resource(kind="broker", name="+".join(map(str, self.target.ids)))

    @property
    def asked(self) -> str:
        """What they are of, and the settings."""
        return f"{self.target or f'topic {self.topic}'}: {write_settings(self.settings)}"

    def with_partition(self, default: TopicPartition | None) -> Self:
        """With the topic of `default`, if neither a topic nor brokers are named."""
        if self.target is not None or self.topic or default is None:
            return self
        return replace(self, topic=default.topic)

    def check(self, facts: Facts) -> None:
        """What has the settings must exist, and they must be ones that may be changed there."""
        newest = max((release for _, release in facts.releases), key=release_numbers, default=releases()[-1])
        if self.target is None:
            topic = topic_facts(self.topic, facts)
            check_settings(self.settings, TOPIC_SETTINGS, settings_of(newest, "topic"), topic.replication)
            return
        check_target(self.target, "target", facts)
        if not set(self.target.ids) <= set(facts.brokers):
            raise BadStep("target", str(self.target), f"a broker; the brokers are {list(facts.brokers)}")
        known = BROKER_SETTINGS if self.target.ids else CLUSTER_SETTINGS
        fewest = min((each.replication for each in facts.topics), default=1)
        check_settings(self.settings, known, settings_of(newest, "broker"), fewest)

    @property
    def changes(self) -> frozenset[str]:
        """The settings, whoever has them: a topic without one of its own takes that of the brokers."""
        return frozenset(key for key, _ in self.settings)

    def in_vain(self, facts: Facts) -> BadStep | None:
        """They are in force already, or Kafka does not change them so far."""
        if self.target is None:
            topic = topic_facts(self.topic, facts)
            return check_changes(self.settings, dict(topic.settings), f"topic {topic.name}")
        whose = str(self.target) if self.target.ids else "every broker"
        return check_changes(self.settings, dict(facts.settings), whose)

    def resolve(self, roles: Roles) -> ResolvedTargets:
        """The one broker, if they are its own."""
        return ResolvedTargets(nodes=self.target.ids if self.target else ())


@dataclass(slots=True)
class Config:
    """Holds settings at other values."""

    injection: Injection[ConfigStep]
    _before: Mapping[str, str] = field(default_factory=dict)
    _changing: bool = False

    @property
    def _wanted(self) -> dict[str, str]:
        return dict(self.injection.step.settings)

    def prepare(self) -> None:
        """The values that every broker says are in effect; they must agree, and be others."""
        for thing in self._things():
            check_free(self.injection, thing)
        said = self._said()
        if not said:
            raise NoTarget(f"nothing to change: no broker says what {self._of()} has")
        for node, values in said.items():
            if missing := self._wanted.keys() - values.keys():
                raise NoTarget(f"nothing to change: broker {node} knows no {', '.join(sorted(missing))}")
        first, *others = said.values()
        if any(values != first for values in others):
            raise NoTarget(f"the brokers do not agree on what {self._of()} has: {by_name(said)}")
        if dict(first) == self._wanted:
            raise NoTarget(
                f"nothing to change: {self._of()} has {write_settings(self.injection.step.settings)}"
            )
        self._before = first

    @as_job
    def inject(self) -> None:
        """Change."""
        for thing in self._things():
            claim(self.injection, thing)
        self._changing = True
        self.injection.cluster.admin.change_settings(self.injection.step.of, self._wanted)

    def effect(self) -> Evidence:
        """Does every broker say so?"""
        return self._said_by_all(self._wanted)

    @as_job
    def heal(self) -> None:
        """Set them to what they were. The values stay written down, as ones of their own."""
        if self._changing:
            self.injection.cluster.admin.change_settings(self.injection.step.of, self._before)
            self._changing = False
        for thing in self._things():
            self.injection.holds.give_up(thing, self.injection.owner)

    def recovery(self) -> Evidence:
        """Does every broker say what it said before, and is the ISR what it was?"""
        return and_in_sync(self.injection, self._said_by_all(self._before))

    def _said_by_all(self, wanted: Mapping[str, str]) -> Evidence:
        said = self._said()
        for node in self._serving():
            if node not in said:
                return NotYet(instead=f"broker {node} does not say what {self._of()} has")
            if said[node] != wanted:
                return NotYet(instead=f"broker {node} says that {self._of()} has {dict(said[node])}")
        if not said:
            return NotYet(instead="no broker answers")
        values = {"settings": dict(wanted), "by_brokers": sorted(said)}
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)

    def _said(self) -> Mapping[int, Mapping[str, str]]:
        return self.injection.cluster.admin.settings(self.injection.step.of, list(self._wanted))

    def _serving(self) -> tuple[int, ...]:
        """The brokers that must know: all that have a process. One that is paused may act on it later."""
        cluster, target = self.injection.cluster, self.injection.step.target
        concerned = target.ids if target and target.ids else cluster.brokers
        return tuple(node for node in concerned if cluster.state(node).status in ("running", "paused"))

    def _of(self) -> str:
        step = self.injection.step
        return str(step.target) if step.target else f"topic {step.topic}"

    def _things(self) -> list[str]:
        return [f"{key} of {self._of()}" for key in self._wanted]


CONFIG = FaultKind(
    step=ConfigStep,
    make=Config,
    takes=BY_CONTROLLERS,
    shortest_hold_s=1.0,
    cost=Cost(changes_settings=True),
    does="dynamic settings are changed, `set: min.insync.replicas=1`: of a `topic`, or of a `target`: "
    "`brokers` is the default of all, `node 2` one broker's own",
    effect="every broker that is not down says, asked by itself, that the new values are in effect",
    healing="they are set to what they were",
    recovery="every broker says so of the values from before",
)
