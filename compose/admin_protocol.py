"""What can be changed in a running Kafka cluster: `Admin`, and the plain data that it takes and returns.

The real one is `compose.kafka.admin.ClusterAdmin`; an in-memory one is in `tests/fakes/world/admin.py`.
A change returns when the active controller has taken it. A broker learns of it with its next fetch of the
metadata log, so what a broker knows is asked of each by itself.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Place = tuple[str, int]
"""Topic and partition."""

METADATA_VERSION = "metadata.version"
"""The feature whose level says what the metadata log may hold, and so which releases can read it."""

ElectionKind = Literal["preferred", "unclean"]
"""`preferred` gives a partition to the first of its replicas, if that is in sync; `unclean` gives one without
a leader to any replica that runs, whatever it lacks (KIP-460)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What has settings: a topic by its name, a broker by its number, or all brokers ("") by default."""

    kind: Literal["topic", "broker"]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One broker's word on a feature: its finalized level (0: off), and the levels that its release knows."""

    level: int
    oldest: int
    newest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    """The controllers by the active one's word: which it is, and where the log of each voter ends.

    -1: it does not know.
    """

    leader: int
    log_ends: Mapping[int, int]


class Admin(Protocol):
    """Changes are idempotent, and raise AdminRefused with Kafka's reason, or ViewError if nobody answers."""

    def reassign(self, replicas: Mapping[Place, tuple[int, ...]]) -> None:
        """Begin to move partitions to these brokers, the preferred leader first (KIP-455)."""

    def elect(self, partitions: Collection[Place], kind: ElectionKind) -> None:
        """Elect a leader of each; nothing to do for one that has such a leader."""

    def create_topic(self, name: str, *, partitions: int, replication: int) -> None:
        """Create a topic; nothing to do if there is one of that name."""

    def add_partitions(self, name: str, *, count: int) -> None:
        """Let a topic have at least `count` partitions."""

    def delete_topic(self, name: str) -> None:
        """Delete a topic; nothing to do if there is none of that name."""

    def change_settings(self, of: Resource, settings: Mapping[str, str]) -> None:
        """Give these dynamic settings to a resource (KIP-339)."""

    def settings(self, of: Resource, keys: Collection[str]) -> Mapping[int, Mapping[str, str]]:
        """The values in effect, by the word of each broker that answers: for a topic, or for itself.

        A broker leaves out a setting that it does not know.
        """

    def set_feature(self, name: str, level: int, *, only_check: bool = False) -> None:
        """Finalize a feature at a level, 0 is off (KIP-584), unless every broker that answers is at it. With
        `only_check` nothing is changed."""

    def features(self, name: str) -> Mapping[int, Feature]:
        """A feature by the word of each broker that answers and knows it."""

    def quorum(self) -> Quorum:
        """The controllers by the active one's word. Raises ViewError while there is none that answers."""
