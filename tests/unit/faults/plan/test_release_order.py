"""The order of releases in a plan: what Kafka would refuse, or never refuse, is refused before."""

import pytest

from faults.errors import BadStep
from faults.plan.parse import parse_steps
from faults.plan.release_order import check_levels, check_releases
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


def feature(name: str, level: int) -> dict[str, object]:
    return {"at": "2s", "do": "feature", "set": f"{name}={level}", "for": "1s"}


ELR = "eligible.leader.replicas.version"


@pytest.mark.parametrize(
    ("steps", "formatted", "release", "value", "allowed"),
    [
        ([feature(ELR, 7)], (4, 3), "4.3.1", f"{ELR}=7", "a level from 0 to 1, the newest of release 4.3"),
        (
            [feature("metadata.version", 99)],
            (4, 3),
            "4.3.1",
            "metadata.version=99",
            "a level from 1 to 30, the newest of release 4.3",
        ),
        (
            [feature("metadata.version", 0)],
            (4, 3),
            "4.3.1",
            "metadata.version=0",
            "a level from 1 to 30, the newest of release 4.3",
        ),
        (
            [feature("metadata.version", 30)],
            (4, 0),
            "4.2.1",
            "metadata.version=30",
            "a level from 1 to 29, the newest of release 4.2",
        ),
        (
            [feature("transaction.version", 2)],
            (3, 7),
            "3.7.0",
            "transaction.version",
            "a feature that release 3.7 has; this one is of 4.0",
        ),
        (
            [feature("share.version", 1)],
            (4, 0),
            "4.0.0",
            "share.version",
            "a feature that release 4.0 has; this one is of 4.1",
        ),
        (
            [roll("4.3.1"), feature(ELR, 1)],
            (3, 9),
            "3.9.1",
            ELR,
            "a feature that release 3.9 has; this one is of 4.0",
        ),
    ],
)
def test_a_level_that_no_release_of_the_plan_takes_is_refused(
    steps: list[dict[str, object]], formatted: tuple[int, int], release: str, value: str, allowed: str
) -> None:
    """Eligible leader replicas need the metadata.version of 4.0, which nothing finalizes here."""
    with pytest.raises(BadStep) as refused:
        check_levels(parse_steps(steps), facts(formatted, release))
    found = refused.value
    assert (found.path, found.field, found.value, found.allowed) == (
        (len(steps) - 1,),
        "set",
        value,
        allowed,
    )


@pytest.mark.parametrize(
    ("steps", "formatted", "release"),
    [
        ([feature("transaction.version", 2)], (3, 9), "4.0.0"),
        ([feature("share.version", 1), roll("4.1.1")], (4, 0), "4.0.0"),
        ([roll("4.3.1"), FINALIZE, feature(ELR, 0)], (3, 9), "3.9.1"),
        ([feature("metadata.version", 25), feature(ELR, 1)], (3, 9), "4.0.0"),
        ([feature("streams.version", 1)], (4, 2), "4.2.0"),
    ],
)
def test_a_level_that_some_release_of_the_plan_takes_is_taken(
    steps: list[dict[str, object]], formatted: tuple[int, int], release: str
) -> None:
    """Whichever step comes first."""
    check_levels(parse_steps(steps), facts(formatted, release))


def test_of_a_cluster_of_which_nothing_is_known_no_level_is_refused() -> None:
    unknown = Facts(brokers=BROKERS, controllers=CONTROLLERS, edges=(), topics=())
    check_levels(parse_steps([feature(ELR, 7)]), unknown)
