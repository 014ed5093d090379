"""Rolling upgrade: every targeted node is stopped and started again with another Kafka release, one after the
other; to an older release it is a downgrade.

To a newer release the controllers go before the brokers, to an older one after them. Each is waited for: it
answers, a broker's partitions all have their full ISR, and a controller's metadata log reaches as far as the
active one's did when it was back.
Effect: each process ended in order, and its successor names the release in its own log; a broker also
registered under a greater broker epoch, and knows another newest metadata.version (ApiVersions).
Recovery: the nodes answer; the ISR is what it was. The nodes keep the release.

What the cluster can do is not changed by it: that takes `finalize`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Self

from compose.admin_protocol import METADATA_VERSION
from compose.protocols import Cluster
from compose.releases.settings import releases
from compose.releases.upgrades import version_of
from compose.spec.topology import release_numbers
from faults.choices import parse_choice
from faults.errors import BadStep, NoTarget
from faults.kinds.fault.base import all_alive
from faults.kinds.fault.evidence import Evidence, NotYet, Proven, by_name, seconds
from faults.kinds.fault.kind import Cost, FaultKind, Takes
from faults.kinds.fault.step import Head, TargetStep, Words
from faults.kinds.process.roll import Roll
from faults.kinds.shared.outage import STOPPED, close_edges_behind, stop_or_kill
from faults.kinds.shared.recovery import not_serving, under_replicated
from faults.targets.facts import Facts
from faults.targets.target import parse_target
from faults.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingUpgradeStep(TargetStep):
    """Bring nodes to another release in turn."""

    kind: ClassVar[str] = "rolling-upgrade"
    keys: ClassVar[tuple[str, ...]] = (*TargetStep.keys, "release")
    release: str

    @classmethod
    def parse(cls, head: Head, words: Words) -> Self:
        """Read target and release."""
        return cls(
            name=head.name,
            start=head.start,
            hold_s=head.hold_s,
            target=parse_target(words.get("target")),
            release=parse_choice(words.get("release"), "release", releases()),
        )

    def write(self) -> dict[str, str]:
        """Target and release."""
        return TargetStep.write(self) | {"release": self.release}

    @property
    def asked(self) -> str:
        """The target and the release."""
        return f"{self.target} to {self.release}"

    def check(self, facts: Facts) -> None:
        """No node can run a release that does not know the metadata.version that the cluster begins with."""
        TargetStep.check(self, facts)
        if facts.release and version_of(self.release) < facts.release:
            oldest = ".".join(map(str, facts.release))
            allowed = f"{oldest} or newer: the cluster begins with the metadata.version of {oldest}"
            raise BadStep("release", self.release, allowed)

    @property
    def changes(self) -> frozenset[str]:
        """What the nodes run."""
        return frozenset({"the releases"})

    def in_vain(self, facts: Facts) -> BadStep | None:
        """Every node that it may hit begins with the release."""
        begins, hit = dict(facts.releases), self.candidates(facts.brokers, facts.controllers)
        if any(begins.get(node) != self.release for node in hit):
            return None
        return BadStep(
            "release", self.release, f"another release than that of {self.target} from the beginning"
        )


@dataclass(slots=True)
class RollingUpgrade(Roll[RollingUpgradeStep]):
    """Brings those of the injection's nodes to the release that do not run it."""

    _before: dict[int, str] = field(default_factory=dict)
    _epochs: dict[int, int] = field(default_factory=dict)
    _known: dict[int, int] = field(default_factory=dict)
    _goals: dict[int, int] = field(default_factory=dict)

    @property
    def _release(self) -> str:
        return self.injection.step.release

    def prepare(self) -> None:
        """All must run, since one that is down would be left behind; and not all that release already."""
        cluster = self.injection.cluster
        running = all_alive(self.injection, what="upgrade")
        others = [node for node in running if cluster.release_of(node) != self._release]
        if not others:
            raise NoTarget(f"nothing to upgrade: {self.injection.step.target} run {self._release}")
        self.nodes = in_order(others, cluster, self._release)
        self._before = {node: cluster.release_of(node) for node in self.nodes}
        self._known = self._newest_known()
        if silent := [node for node in self._brokers if node not in self._known]:
            raise NoTarget(f"brokers {silent} do not say which {METADATA_VERSION} they know")

    @property
    def _brokers(self) -> tuple[int, ...]:
        return tuple(node for node in self.nodes if node in self.injection.cluster.brokers)

    def _newest_known(self) -> dict[int, int]:
        """The newest metadata.version that each broker's release knows, by the word of each that answers."""
        said = self.injection.cluster.admin.features(METADATA_VERSION)
        return {node: known.newest for node, known in said.items()}

    def note(self, node: int) -> None:
        """A broker's epoch."""
        if node in self._brokers:
            self._epochs[node] = self.injection.cluster.broker_epoch(node)

    def end(self, node: int) -> Task[None]:
        """As `stop` does it."""
        yield from stop_or_kill(self.injection, node)
        yield from close_edges_behind(self.injection, node)

    def before_start(self, node: int) -> None:
        """It gets its release while it is down."""
        self.injection.cluster.change_release(node, self._release)

    def lacking(self, node: int) -> str:
        """It serves; then a broker's partitions are all in sync, and a controller has caught up."""
        if found := not_serving(self.injection, (node,)):
            return found
        if node in self.injection.cluster.controllers and (found := self._behind(node)):
            return found
        return under_replicated(self.injection.view) if node in self._brokers else ""

    def _behind(self, node: int) -> str:
        """How far a controller's log lacks what the active one's held when this one was first found back.

        What the active one knows of it from its life before ends sooner: the log grows twice a second.
        """
        quorum = self.injection.cluster.admin.quorum()
        active = quorum.log_ends.get(quorum.leader, -1)
        if active < 0:
            return f"the active controller {quorum.leader} does not say where its log ends"
        goal, ends = self._goals.setdefault(node, active), quorum.log_ends.get(node, -1)
        return "" if ends >= goal else f"the metadata log of controller {node} ends at {ends} of {goal}"

    def not_new(self, node: int) -> str:
        """Its log names the release, and a broker has registered under a greater epoch."""
        cluster = self.injection.cluster
        if (named := cluster.reported_release(node)) != self._release:
            return f"its log names {f'Kafka {named}' if named else 'no release'}, to be {self._release}"
        if node not in self._brokers:
            return ""
        epoch = cluster.broker_epoch(node)
        return "" if epoch > self._epochs[node] else f"its broker epoch is {epoch}, was {self._epochs[node]}"

    def effect(self) -> Evidence:
        """Did each end in order, and is what each says of itself that of the release?"""
        codes = {node: self.codes.get(node) for node in self.nodes}
        if any(code not in STOPPED for code in codes.values()):
            return NotYet(instead=f"exit codes: {by_name(codes)}")
        for node in self.nodes:
            if lacking := self.not_new(node):
                return NotYet(instead=f"node {node}: {lacking}")
        known = self._newest_known()
        for node in self._brokers:
            if node not in known:
                return NotYet(instead=f"broker {node} does not say which {METADATA_VERSION} it knows")
            other = version_of(self._before[node]) != version_of(self._release)
            if other and known[node] == self._known[node]:
                return NotYet(instead=f"broker {node} knows {METADATA_VERSION} up to {known[node]} as before")
        values = {
            "releases_before": by_name(self._before),
            "release": self._release,
            "order": list(self.nodes),
            "exit_codes": by_name(codes),
            "broker_epochs_before": by_name(self._epochs),
            "newest_metadata_version_before": by_name({node: self._known[node] for node in self._brokers}),
            "newest_metadata_version": by_name({node: known[node] for node in self._brokers}),
            "took_s": seconds(self.took_ns),
        }
        return Proven(since_ns=self.injection.clock.now_ns(), values=values)


def in_order(nodes: Iterable[int], cluster: Cluster, release: str) -> tuple[int, ...]:
    """To a newer release controllers first, to an older one brokers first; each by ascending id.

    A node with both roles goes with the brokers.
    """
    listed = tuple(nodes)
    newer = all(release_numbers(cluster.release_of(node)) < release_numbers(release) for node in listed)
    return tuple(sorted(listed, key=lambda node: ((node in cluster.brokers) == newer, node)))


ROLLING_UPGRADE = FaultKind(
    step=RollingUpgradeStep,
    make=RollingUpgrade,
    takes=Takes(inject_s=5.0, heal_s=2.5, waits=True),
    cost=Cost(ends_process=True, changes_settings=True),
    does="every node of the target is stopped (SIGTERM) and started again with another Kafka `release`, one "
    "after the other: to a newer one the controllers first, to an older one the brokers. Each waits for the "
    "one before, up to 60 s: it answers, all partitions have their full ISR, a controller has caught up",
    effect="each process ended with the exit code of its signal, and the next one names the release in its "
    "log; a broker registered under a greater broker epoch, and knows another newest `metadata.version`",
    healing="start what it has ended and is down; nothing after a whole round. The nodes keep the release",
    recovery="the nodes answer",
)
