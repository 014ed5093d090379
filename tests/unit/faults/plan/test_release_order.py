"""The order of releases in a plan: what Kafka would refuse, or never refuse, is refused before."""

import pytest

from faults.errors import BadStep
from faults.plan.parse import parse_steps
from faults.plan.release_order import check_releases

FINALIZE = {"at": "2s", "do": "finalize", "for": "1s"}


def roll(release: str) -> dict[str, object]:
    return {"at": "1s", "do": "rolling-upgrade", "target": "nodes", "release": release, "for": "0s"}


def refused(release: str) -> dict[str, object]:
    return {"at": "3s", "do": "refused-downgrade", "release": release, "for": "1s"}


def refusal(*steps: dict[str, object], newest: str = "4.0.0") -> tuple[object, ...] | None:
    """The path and what is allowed instead; None if nothing is refused."""
    try:
        check_releases(parse_steps(list(steps)), newest)
    except BadStep as found:
        return found.path, found.value, found.allowed
    return None


@pytest.mark.parametrize(
    "steps",
    [
        (roll("4.3.1"), FINALIZE, refused("4.0.0")),
        (roll("4.3.1"), roll("4.0.0")),
        (roll("4.3.1"), roll("4.0.0"), FINALIZE),
        (roll("4.3.1"), FINALIZE, roll("4.3.0")),
    ],
)
def test_a_way_back_before_anything_is_finalized_and_a_refusal_after_it_are_taken(
    steps: tuple[dict[str, object], ...],
) -> None:
    assert refusal(*steps) is None


def test_no_node_goes_back_after_the_newer_release_was_finalized() -> None:
    allowed = "4.3.1 or newer: finalize-2 finalizes the features of that release before"
    assert refusal(roll("4.3.1"), FINALIZE, roll("4.0.0")) == ((2,), "4.0.0", allowed)


def test_what_the_cluster_begins_with_is_finalized_too() -> None:
    """Of a cluster that was upgraded before the run, and formatted by an older release."""
    allowed = "4.3.1 or newer: finalize-1 finalizes the features of that release before"
    assert refusal(FINALIZE, roll("4.0.0"), newest="4.3.1") == ((1,), "4.0.0", allowed)


def test_a_way_back_that_kafka_takes_cannot_be_refused() -> None:
    """4.1 and 4.2 have changed nothing of what the metadata log holds."""
    allowed = "a release to whose metadata.version Kafka refuses to go back from 4.2.0"
    assert refusal(roll("4.2.0"), FINALIZE, refused("4.0.0")) == ((2,), "4.0.0", allowed)
