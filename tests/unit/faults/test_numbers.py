"""Numbers in a plan: of whatever length and letters, they are read or refused, and no error of ours."""

import pytest

from faults.durations import parse_duration
from faults.errors import BadStep
from faults.numbers import parse_number
from faults.plan.parse import parse_step
from faults.plan.storm import parse_storm

LONG = "9" * 5000
"""More digits than Python reads as a whole number."""
FAR = "9" * 400
"""More than a float holds."""
KILL = {"at": "1s", "do": "kill", "target": "leader", "for": "1s"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"target": f"node {LONG}"}, "target"),
        ({"target": f"1+{LONG}"}, "target"),
        ({"target": f"follower {LONG}"}, "target"),
        ({"target": f"leader(orders-{LONG})"}, "target"),
        ({"target": "node １"}, "target"),
        ({"for": f"{FAR}s"}, "for"),
        ({"for": f"{LONG}s"}, "for"),
        ({"for": "1000000001s"}, "for"),
        ({"at": f"{FAR}s"}, "at"),
        ({"at": None, "when": f"hw < leo - {LONG}"}, "when"),
        ({"at": None, "when": f"follower behind by {LONG}"}, "when"),
        ({"at": None, "when": f"follower {LONG} behind by 1"}, "when"),
        ({"at": None, "when": f"isr.size >= {LONG}"}, "when"),
        ({"do": "cpu-limit", "cpus": LONG}, "cpus"),
        ({"do": "memory-limit", "memory": f"{LONG}GiB"}, "memory"),
        ({"do": "bandwidth", "rate": f"{LONG}KB/s"}, "rate"),
        ({"do": "slicing", "delay": "1ms", "size": f"{LONG}B"}, "size"),
        ({"do": "disk-stall", "log_dir": LONG}, "log_dir"),
        ({"do": "disk-stall", "log_dir": "２"}, "log_dir"),
        ({"do": "clock-skew", "offset": f"+{FAR}d"}, "offset"),
        ({"do": "create-topic", "target": None, "partitions": LONG}, "partitions"),
        ({"do": "create-topic", "target": None, "partitions": "６"}, "partitions"),
        ({"do": "reassign", "target": None, "to": f"{LONG} replicas"}, "to"),
        ({"do": "reassign", "target": None, "to": f"1+{LONG}"}, "to"),
        ({"do": "feature", "target": None, "set": f"metadata.version={LONG}"}, "set"),
    ],
)
def test_a_number_that_nothing_counts_is_refused(change: dict[str, str | None], field: str) -> None:
    """At its key, with the value as it is written."""
    words = {key: value for key, value in (KILL | change).items() if value is not None}
    with pytest.raises(BadStep) as refused:
        parse_step(words)
    assert refused.value.field == field
    assert str(refused.value.value) in str(words[field])


@pytest.mark.parametrize("kinds", [[["kill"]], [{"kill": 1}], [None], [7], ["kill", ["stop"]]])
def test_a_kind_of_a_storm_that_is_no_word_is_refused(kinds: list[object]) -> None:
    with pytest.raises(BadStep, match=r"kinds: .* is refused; allowed: a list of partition, "):
        parse_storm({"duration": "60s", "kinds": kinds})


def test_the_longest_duration() -> None:
    """Thirty years and more; a fraction may have many digits."""
    assert parse_duration("1000000000s", "for") == 1e9
    assert parse_duration(f"1.{'0' * 5000}s", "for") == 1.0
    with pytest.raises(BadStep, match="for: '277778h' is refused; allowed: at most 1000000000s"):
        parse_duration("277778h", "for")


@pytest.mark.parametrize("value", [1, "1", "05", 5])
def test_a_number_within_its_bounds_is_read(value: object) -> None:
    assert parse_number(value, "n", "1 to 5", least=1, most=5) == int(str(value))


@pytest.mark.parametrize("value", [0, 6, -1, "-1", "+1", "1.0", 1.0, "", " 1", "１", True, None, [1], LONG])
def test_what_is_no_number_within_its_bounds_is_refused(value: object) -> None:
    with pytest.raises(BadStep) as refused:
        parse_number(value, "n", "1 to 5", least=1, most=5)
    assert (refused.value.field, refused.value.value, refused.value.allowed) == ("n", value, "1 to 5")
