"""From which release to which: what cannot be is refused before anything starts."""

from dataclasses import dataclass

from compose.releases.settings import releases
from compose.releases.upgrades import FIRST_KRAFT, can_be_lowered, metadata_level, version_of
from compose.spec.topology import RELEASE, release_numbers
from harness.errors import UsageError
from harness.scenario.text.complaints import unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two releases that are known, the older one first."""

    older: str
    newer: str

    @property
    def slug(self) -> str:
        """For names: upgrade-3-9-1-to-4-3-1."""
        return f"upgrade-{self.older}-to-{self.newer}".replace(".", "-")

    @property
    def finalizes(self) -> bool:
        """Whether the newer release has a metadata.version of its own; patch releases have none."""
        return version_of(self.older) != version_of(self.newer)

    @property
    def can_go_back(self) -> bool:
        """Whether Kafka takes the older metadata.version back after the newer one was finalized."""
        return can_be_lowered(self.newer, self.older)

    @property
    def levels(self) -> tuple[int, int]:
        """The levels of metadata.version of both."""
        return metadata_level(self.older), metadata_level(self.newer)


def pair_of(older: str, newer: str) -> Pair:
    """The pair of these releases. UsageError with what is allowed."""
    for release in (older, newer):
        _check(release)
    if older == newer:
        raise UsageError(f"upgrade: from {older} to {newer} there is nothing to upgrade")
    if release_numbers(older) > release_numbers(newer):
        raise UsageError(
            f"upgrade: {older} is newer than {newer}; allowed: the older one first, as in "
            f"`highwater upgrade {newer} {older}`, which goes the way back too"
        )
    return Pair(older=older, newer=newer)


def _check(release: str) -> None:
    if not RELEASE.fullmatch(release):
        raise UsageError(f"upgrade: {release!r} is not a release; write it as in 4.3.1")
    if version_of(release) < FIRST_KRAFT:
        first = ".".join(map(str, FIRST_KRAFT))
        raise UsageError(
            f"upgrade: {release} runs with ZooKeeper, or with a KRaft that is not fit for use: Kafka 4 takes "
            f"clusters over from {first} on; allowed: {', '.join(releases())}"
        )
    if release not in releases():
        raise UsageError(f"upgrade: {unknown(release, releases()).replace('unknown', 'unknown release', 1)}")
