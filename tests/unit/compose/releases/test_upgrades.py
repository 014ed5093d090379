"""From which release to which a cluster can go, and where there is no way back."""

import pytest

from compose.releases.settings import releases
from compose.releases.upgrades import (
    FEATURE_LEVELS,
    METADATA_LEVELS,
    can_be_lowered,
    metadata_level,
    newest_level,
    version_of,
    version_with,
)


def test_every_release_that_is_known_has_a_level_and_later_ones_have_higher_levels() -> None:
    assert {version_of(release) for release in releases()} == METADATA_LEVELS.keys()
    levels = [metadata_level(release) for release in releases()]
    assert levels == sorted(levels)
    assert (metadata_level("3.9.1"), metadata_level("4.0.0"), metadata_level("4.3.1")) == (21, 25, 30)


@pytest.mark.parametrize(
    ("level", "version"),
    [
        (13, None),
        (14, (3, 6)),
        (18, (3, 6)),
        (19, (3, 7)),
        (26, (4, 0)),
        (27, (4, 1)),
        (30, (4, 3)),
        (31, None),
    ],
)
def test_the_newest_level_that_a_broker_knows_is_that_of_its_version(
    level: int, version: tuple[int, int] | None
) -> None:
    assert version_with(level) == version


@pytest.mark.parametrize(
    ("newer", "older", "lowered"),
    [
        ("4.3.1", "4.2.1", False),
        ("4.3.1", "3.9.1", False),
        ("4.0.0", "3.9.1", False),
        ("4.2.0", "4.0.0", True),
        ("3.9.1", "3.7.0", True),
        ("3.7.0", "3.6.1", False),
        ("4.3.1", "4.3.0", True),
    ],
)
def test_a_level_is_taken_back_only_if_none_in_between_changed_the_metadata(
    newer: str, older: str, lowered: bool
) -> None:
    """The upgrade notes of 4.2 allow it, those of 4.0 and 4.3 do not."""
    assert can_be_lowered(newer, older) is lowered


@pytest.mark.parametrize(
    ("version", "levels"),
    [
        ((3, 9), (0, 0, 0, 0, 0)),
        ((4, 0), (1, 1, 0, 0, 2)),
        ((4, 1), (1, 1, 1, 0, 2)),
        ((4, 3), (1, 1, 1, 1, 2)),
    ],
)
def test_the_newest_level_of_each_feature(version: tuple[int, int], levels: tuple[int, ...]) -> None:
    """As `Feature.PRODUCTION_FEATURES` of the jars of 3.9.2, 4.0.2, 4.1.2 and 4.3.1 has them."""
    assert tuple(newest_level(feature, version) for feature in sorted(FEATURE_LEVELS)) == levels
    assert newest_level("metadata.version", version) == METADATA_LEVELS[version]
