"""A controller that takes every change at once, and brokers that learn of it at once."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from compose.admin_protocol import METADATA_VERSION, ElectionKind, Feature, Place, Quorum, Resource
from compose.errors import AdminRefused
from compose.releases.upgrades import metadata_level

ELR = "eligible.leader.replicas.version"


@dataclass
class FakeAdmin:
    """Topics by their replicas, dynamic settings by resource, and features; `calls` has the changes in order.

    `refuses`: what Kafka says against a call of this name. `ignores`: calls that return and change nothing.
    `unaware`: brokers that do not learn of a change of settings or features, and say what was before.
    `static`: the settings of server.properties, the same for all brokers. `named`: the release of each
    broker, by which it knows levels of metadata.version.
    """

    brokers: tuple[int, ...] = (1, 2, 3)
    replicas: dict[Place, tuple[int, ...]] = field(default_factory=lambda: {("orders", 0): (1, 2, 3)})
    dynamic: dict[Resource, dict[str, str]] = field(default_factory=dict)
    static: dict[str, str] = field(
        default_factory=lambda: {
            "min.insync.replicas": "2",
            "unclean.leader.election.enable": "false",
            "flush.messages": "9223372036854775807",
            "num.replica.fetchers": "1",
        }
    )
    levels: dict[str, int] = field(default_factory=lambda: {ELR: 1, METADATA_VERSION: 30})
    known: dict[str, tuple[int, int]] = field(
        default_factory=lambda: {ELR: (0, 1), METADATA_VERSION: (7, 30)}
    )
    named: Mapping[int, str] = field(default_factory=dict)
    refuses: dict[str, str] = field(default_factory=dict)
    ignores: set[str] = field(default_factory=set)
    unaware: set[int] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._old: dict[Resource, dict[str, str]] = {}
        self._old_levels = dict(self.levels)

    def _takes(self, name: str, what: str) -> bool:
        """Whether a change is made; AdminRefused if it is not allowed."""
        self.calls.append(f"{name} {what}")
        if name in self.refuses:
            raise AdminRefused(f"Kafka refuses {what}: {self.refuses[name]}")
        return name not in self.ignores

    def reassign(self, replicas: Mapping[Place, tuple[int, ...]]) -> None:
        """They are moved at once."""
        for place, to in replicas.items():
            if self._takes("reassign", f"{place[0]}-{place[1]} to {list(to)}"):
                self.replicas[place] = to
                self.moved(place)

    def moved(self, place: Place) -> None:
        """The replicas of a partition are others now."""

    def elect(self, partitions: Collection[Place], kind: ElectionKind) -> None:
        """See `elected`."""
        for place in partitions:
            if self._takes("elect", f"{kind} {place[0]}-{place[1]}"):
                self.elected(place, kind)

    def elected(self, place: Place, kind: ElectionKind) -> None:
        """A leader is to be elected."""

    def create_topic(self, name: str, *, partitions: int, replication: int) -> None:
        """On the first brokers."""
        if self._takes("create_topic", f"{name} {partitions} x {replication}"):
            for number in range(partitions):
                self.replicas.setdefault((name, number), self.brokers[:replication])

    def add_partitions(self, name: str, *, count: int) -> None:
        """On the brokers of the first one."""
        if self._takes("add_partitions", f"{name} {count}"):
            for number in range(count):
                self.replicas.setdefault((name, number), self.replicas[name, 0])

    def delete_topic(self, name: str) -> None:
        """At once."""
        if self._takes("delete_topic", name):
            self.replicas = {place: to for place, to in self.replicas.items() if place[0] != name}

    def change_settings(self, of: Resource, settings: Mapping[str, str]) -> None:
        """Every broker that is not `unaware` knows them at once."""
        if self._takes("change_settings", f"{of.kind} {of.name} {dict(settings)}"):
            self._old[of] = dict(self.dynamic.get(of, {}))
            self.dynamic.setdefault(of, {}).update(settings)

    def settings(self, of: Resource, keys: Collection[str]) -> Mapping[int, Mapping[str, str]]:
        """The topic's, the broker's, all brokers', server.properties'."""
        asked = [int(of.name)] if of.kind == "broker" and of.name else self.brokers
        return {broker: self._settings_by(broker, of, keys) for broker in asked}

    def _settings_by(self, broker: int, of: Resource, keys: Collection[str]) -> Mapping[str, str]:
        found = dict(self.static)
        dynamic = self.dynamic | self._old if broker in self.unaware else self.dynamic
        own = of if of.kind == "topic" else Resource(kind="broker", name=str(broker))
        for resource in (Resource(kind="broker", name=""), own):
            found |= dynamic.get(resource, {})
        return {key: found[key] for key in keys if key in found}

    def set_feature(self, name: str, level: int, *, only_check: bool = False) -> None:
        """At once; nothing is asked of Kafka where every broker is at that level."""
        if {known.level for known in self.features(name).values()} == {level}:
            return
        takes = self._takes("check_feature" if only_check else "set_feature", f"{name} {level}")
        if takes and not only_check:
            self._old_levels[name] = self.levels.get(name, 0)
            self.levels[name] = level

    def features(self, name: str) -> Mapping[int, Feature]:
        """What each broker says."""
        if name not in self.known:
            return {}
        oldest, newest = self.known[name]
        return {
            broker: Feature(
                level=(self._old_levels if broker in self.unaware else self.levels).get(name, 0),
                oldest=oldest,
                newest=self._newest(name, broker, newest),
            )
            for broker in self.brokers
        }

    def _newest(self, name: str, broker: int, newest: int) -> int:
        """What the broker's release knows."""
        of_release = name == METADATA_VERSION and broker in self.named
        return metadata_level(self.named[broker]) if of_release else newest

    def quorum(self) -> Quorum:
        """One active controller, which the others follow."""
        return Quorum(leader=101, log_ends={101: 100, 102: 100, 103: 100})
