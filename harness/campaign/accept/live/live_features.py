"""What the features of a running cluster say: its release, and whether eligible leader replicas are on.

A broker knows metadata.version up to the level of its own release, and says at which level it is finalized.
Kafka's clients do not hand that on, so each broker is asked by itself; nothing is changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from checkers.history.metadata_log.settings import ELR_FEATURE
from compose.admin_protocol import METADATA_VERSION, Feature
from compose.kafka.admin import ClusterAdmin
from compose.releases.settings import releases
from compose.releases.upgrades import METADATA_LEVELS, Version, version_of, version_with
from compose.spec.topology import ELR_EXISTS
from workloads.clients.live_topic import LiveTopic

ASKED_OVER = "plaintext"
"""The security.protocol over which brokers are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Two features by the word of each broker that answers; `why_not` says why none does."""

    metadata: Mapping[int, Feature] = field(default_factory=dict)
    elr: Mapping[int, Feature] = field(default_factory=dict)
    why_not: str = ""

    @property
    def kafka(self) -> str | None:
        """The release of the oldest broker, the newest patch of it; None: not known."""
        return _newest_release(version_with(self._newest_level)) if self.metadata else None

    @property
    def formatted(self) -> str | None:
        """The release whose metadata.version is finalized, if that is older than the brokers."""
        finalized = version_with(max((said.level for said in self.metadata.values()), default=0))
        older = self.kafka is not None and finalized is not None and finalized < version_of(self.kafka)
        return _newest_release(finalized) if older else None

    @property
    def elr_on(self) -> bool | None:
        """Whether eligible leader replicas are on; None: not known."""
        if self.elr:
            return any(said.level > 0 for said in self.elr.values())
        before = bool(self.metadata) and self._newest_level < METADATA_LEVELS[ELR_EXISTS]
        return False if before else None

    @property
    def unknown(self) -> str:
        """What the brokers leave open, in a sentence; "" for nothing."""
        if self.why_not:
            return f"its release and its eligible leader replicas were not read: {self.why_not}"
        if self.kafka is None:
            return f"its release was not read: it knows metadata.version up to {self._newest_level}"
        return ""

    @property
    def _newest_level(self) -> int:
        """The newest level of metadata.version that the oldest broker knows."""
        return min(said.newest for said in self.metadata.values())


def features_of(topic: LiveTopic, client: Mapping[str, str]) -> Features:
    """Ask every broker, for some seconds; `client` are librdkafka's settings to reach them."""
    protocol = client.get("security.protocol", ASKED_OVER).lower()
    if protocol != ASKED_OVER:
        return Features(why_not=f"features are not read over {protocol}")
    admin = ClusterAdmin(",".join(broker.address for broker in topic.brokers))
    metadata, elr = admin.features(METADATA_VERSION), admin.features(ELR_FEATURE)
    return Features(metadata=metadata, elr=elr, why_not="" if metadata else "no broker says its features")


def _newest_release(version: Version | None) -> str | None:
    """The newest release of a version."""
    return next((release for release in reversed(releases()) if version_of(release) == version), None)
