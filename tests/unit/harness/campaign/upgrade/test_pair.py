"""From which release to which: what cannot be is refused, with what is allowed."""

import re

import pytest

from harness.campaign.upgrade.pair import pair_of
from harness.errors import UsageError


def test_two_known_releases_are_a_pair_with_their_levels() -> None:
    """The levels are those of Kafka's MetadataVersion: 3.9-IV0 is 21, 4.3-IV0 is 30."""
    pair = pair_of("3.9.1", "4.3.1")
    assert (pair.slug, pair.levels) == ("upgrade-3-9-1-to-4-3-1", (21, 30))
    assert pair.finalizes
    assert not pair.can_go_back


def test_between_patches_there_is_nothing_to_finalize() -> None:
    pair = pair_of("4.3.0", "4.3.1")
    assert not pair.finalizes
    assert pair.can_go_back


def test_kafka_goes_back_where_nothing_of_the_metadata_log_has_changed() -> None:
    assert pair_of("4.0.0", "4.2.0").can_go_back
    assert not pair_of("4.2.0", "4.3.0").can_go_back


@pytest.mark.parametrize(
    ("older", "newer", "why"),
    [
        ("4.3", "4.3.1", "'4.3' is not a release; write it as in 4.3.1"),
        (
            "2.8.0",
            "4.3.1",
            "2.8.0 runs with ZooKeeper, or with a KRaft that is not fit for use: Kafka 4 takes",
        ),
        ("3.2.3", "4.3.1", "clusters over from 3.3 on; allowed: 3.6.0, 3.6.1,"),
        ("3.5.0", "4.3.1", "unknown release '3.5.0'; did you mean 3."),
        ("4.0.0", "4.9.0", "unknown release '4.9.0'"),
        ("4.3.1", "4.3.1", "from 4.3.1 to 4.3.1 there is nothing to upgrade"),
        (
            "4.3.1",
            "3.9.1",
            "4.3.1 is newer than 3.9.1; allowed: the older one first, as in `highwater upgrade 3.9",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(older: str, newer: str, why: str) -> None:
    with pytest.raises(UsageError, match=rf"^upgrade: .*{re.escape(why)}"):
        pair_of(older, newer)
