"""From which Kafka release to which a running cluster can go, and from where there is no way back.

A roll of newer binaries changes nothing in the cluster until `metadata.version` is finalized at the newer
release's level; until then the older binaries can come back. From then on Kafka takes a lower level only if
no level in between has changed what the metadata log holds. Source: `MetadataVersion.java` (each level, and
whether it changed the metadata) and `FeatureControlManager.updateMetadataVersion` in Kafka, 3.6 to 4.3.
"""

from collections.abc import Mapping
from types import MappingProxyType

from compose.admin_protocol import METADATA_VERSION
from compose.spec.topology import release_numbers

Version = tuple[int, int]
"""Major and minor number: a patch release changes no level."""

FIRST_KRAFT: Version = (3, 3)
"""The first release whose clusters without ZooKeeper are fit for use; Kafka 4 takes no older ones."""

METADATA_LEVELS: Mapping[Version, int] = MappingProxyType(
    {
        (3, 6): 14,
        (3, 7): 19,
        (3, 8): 20,
        (3, 9): 21,
        (4, 0): 25,
        (4, 1): 27,
        (4, 2): 29,
        (4, 3): 30,
    }
)
"""The level of metadata.version with which a release formats, and at which it is finalized."""

FEATURE_LEVELS: Mapping[str, Mapping[Version, int]] = MappingProxyType(
    {
        "eligible.leader.replicas.version": {(4, 0): 1},
        "group.version": {(4, 0): 1},
        "share.version": {(4, 1): 1},
        "streams.version": {(4, 2): 1},
        "transaction.version": {(4, 0): 2},
    }
)
"""The newest level of each other feature, and the release from which on it is that: `Feature.java`, as the
jars of the last release of each version have it."""

CHANGED_THE_METADATA = (13, 14, 15, 17, 23, 30)
"""The levels at which the metadata log came to hold something else: 3.6, 3.7, 4.0 and 4.3."""


def version_of(release: str) -> Version:
    """ "4.3.1" → (4, 3)."""
    major, minor, _patch = release_numbers(release)
    return major, minor


def metadata_level(release: str) -> int:
    """The level of metadata.version of a release that is known."""
    return METADATA_LEVELS[version_of(release)]


def newest_level(feature: str, version: tuple[int, ...]) -> int:
    """The newest level of a feature that a version takes; 0: it has none above that."""
    levels = METADATA_LEVELS if feature == METADATA_VERSION else FEATURE_LEVELS[feature]
    return max((level for since, level in levels.items() if since <= version), default=0)


def version_with(level: int) -> Version | None:
    """The version that knows metadata.version up to this level; None: it is older or newer than all known."""
    if not min(METADATA_LEVELS.values()) <= level <= max(METADATA_LEVELS.values()):
        return None
    return max(version for version, its in METADATA_LEVELS.items() if its <= level)


def can_be_lowered(newer: str, older: str) -> bool:
    """Whether Kafka takes metadata.version back from the level of a release to that of an older one."""
    low, high = metadata_level(older), metadata_level(newer)
    return not any(low < level <= high for level in CHANGED_THE_METADATA)
