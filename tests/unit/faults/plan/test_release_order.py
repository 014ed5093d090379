"""The order of releases in a plan: what Kafka would refuse, or never refuse, is refused before."""

import pytest

from faults.errors import BadStep
from faults.plan.parse import parse_steps
from faults.plan.release_order import check_releases
from faults.targets.facts import Facts

BROKERS, CONTROLLERS = (1, 2, 3), (101,)
FINALIZE = {"at": "2s", "do": "finalize", "for": "1s"}


def roll(release: str, target: str = "nodes") -> dict[str, object]:
    return {"at": "1s", "do": "rolling-upgrade", "target": target, "release": release, "for": "0s"}


def refused(release: str) -> dict[str, object]:
    return {"at": "3s", "do": "refused-downgrade", "release": release, "for": "1s"}


def facts(formatted: tuple[int, int], release: str) -> Facts:
    """All nodes begin with one release."""
    releases = tuple((node, release) for node in (*BROKERS, *CONTROLLERS))
    return Facts(
        brokers=BROKERS, controllers=CONTROLLERS, edges=(), topics=(), release=formatted, releases=releases
    )


def refusal(
    *steps: dict[str, object], formatted: tuple[int, int] = (4, 0), release: str = "4.0.0"
) -> tuple[object, ...] | None:
    """The path and what is allowed instead; None if nothing is refused."""
    try:
        check_releases(parse_steps(list(steps)), facts(formatted, release))
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
    assert refusal(FINALIZE, roll("4.0.0"), release="4.3.1") == ((1,), "4.0.0", allowed)


def test_a_way_back_that_kafka_takes_cannot_be_refused() -> None:
    """4.1 and 4.2 have changed nothing of what the metadata log holds."""
    allowed = "a release to whose metadata.version Kafka refuses to go back from 4.2.0"
    assert refusal(roll("4.2.0"), FINALIZE, refused("4.0.0")) == ((2,), "4.0.0", allowed)


def test_what_was_finalized_is_what_the_oldest_node_knew_then() -> None:
    """Up, back before anything is finalized, finalize, and up again by less than the first time."""
    back = (roll("4.3.1"), roll("4.0.0"), FINALIZE, roll("4.1.1"))
    assert refusal(*back, formatted=(3, 9), release="3.9.1") is None
    allowed = "4.0.0 or newer: finalize-3 finalizes the features of that release before"
    assert refusal(*back[:3], roll("3.9.1"), formatted=(3, 9), release="3.9.1") == ((3,), "3.9.1", allowed)


def test_one_node_that_was_left_behind_keeps_the_level_down() -> None:
    brokers = roll("4.3.1", "brokers")
    assert refusal(brokers, FINALIZE, roll("4.0.0")) is None
    assert refusal(brokers, roll("4.3.1", "controllers"), FINALIZE, roll("4.0.0")) is not None


def test_of_a_role_that_moves_nobody_knows_which_node_was_rolled() -> None:
    """The leader of a partition may be any broker: one alone, or by and by all; neither step is refused."""
    of_leader = (roll("4.3.1", "controllers"), roll("4.3.1", "leader(orders-0)"), FINALIZE)
    assert refusal(*of_leader, roll("4.0.0")) is None
    assert refusal(*of_leader, refused("4.0.0")) is None


def test_a_refusal_is_asked_of_the_level_that_is_in_force() -> None:
    """Back at 4.2 when it is finalized, whatever ran before: Kafka takes that back to 4.0."""
    allowed = "a release to whose metadata.version Kafka refuses to go back from 4.2.0"
    back = (roll("4.3.1"), roll("4.2.0"), FINALIZE, refused("4.0.0"))
    assert refusal(*back) == ((3,), "4.0.0", allowed)
    assert refusal(refused("4.1.1"), formatted=(4, 3), release="4.3.1") is None, "as it was formatted"
    assert refusal(roll("4.3.1"), refused("4.0.0")) is not None, "nothing was finalized yet"
