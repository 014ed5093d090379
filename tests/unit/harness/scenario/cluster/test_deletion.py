"""A scenario may not ask for settings by which Kafka deletes records during the run, or restamps them."""

import pytest

from harness.errors import ScenarioError
from harness.scenario.cluster.deletion import deleting, retention_ms
from harness.scenario.resolve import resolve

DAY_MS, HOUR_MS = 86_400_000, 3_600_000


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("cleanup.policy", "compact"),
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", "delete, compact"),
        ("log.cleanup.policy", "COMPACT"),
        ("retention.ms", "60000"),
        ("retention.ms", "0"),
        ("retention.ms", str(DAY_MS - 1)),
        ("retention.ms", "a day"),
        ("log.retention.ms", "1000"),
        ("log.retention.minutes", "1439"),
        ("log.retention.hours", "23"),
        ("retention.bytes", "1000000000"),
        ("retention.bytes", "much"),
        ("log.retention.bytes", "0"),
        ("message.timestamp.type", "LogAppendTime"),
        ("log.message.timestamp.type", "LogAppendTime"),
    ],
)
def test_what_could_act_within_a_run_is_refused(setting: str, value: str) -> None:
    ((key, text),) = deleting({setting: value})
    assert key == setting
    assert value in text


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("cleanup.policy", "delete"),
        ("retention.ms", "-1"),
        ("retention.ms", str(DAY_MS)),
        ("log.retention.minutes", "1440"),
        ("log.retention.hours", "168"),
        ("retention.bytes", "-1"),
        ("message.timestamp.type", "CreateTime"),
        ("segment.bytes", "1048576"),
        ("segment.ms", "1000"),
        ("delete.retention.ms", "1"),
    ],
)
def test_what_cannot_act_within_a_run_is_allowed(setting: str, value: str) -> None:
    assert list(deleting({setting: value})) == []


def test_retention_must_outlast_a_long_load() -> None:
    """A load of 30 hours, and a day."""
    load_s = 30 * 3600.0
    assert list(deleting({"retention.ms": str(54 * HOUR_MS)}, load_s)) == []
    ((_, text),) = deleting({"retention.ms": str(54 * HOUR_MS - 1)}, load_s)
    assert text.endswith(f"allowed: -1, or at least {54 * HOUR_MS}")


SCENARIO = """\
name: demo
cluster: {broker_config: {%s}}
topics:
  - {name: orders, config: {%s}}
"""


@pytest.mark.parametrize(
    ("of_brokers", "of_topic", "complaint"),
    [
        (
            "",
            "retention.ms: 60000",
            "demo.yaml:4:43: topics[0].config.retention.ms: 60000 may delete records during the run; "
            "allowed: -1, or at least 86410000",
        ),
        (
            "log.cleanup.policy: compact",
            "",
            "demo.yaml:2:47: cluster.broker_config.log.cleanup.policy: 'compact' removes records that were "
            "not lost; allowed: delete",
        ),
    ],
)
def test_a_scenario_is_refused_at_the_place_of_the_setting(
    of_brokers: str, of_topic: str, complaint: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        resolve(SCENARIO % (of_brokers, of_topic), "demo.yaml", seed=1)
    assert str(refused.value).startswith(complaint)


@pytest.mark.parametrize(
    ("of_topic", "of_brokers", "kept_ms"),
    [
        ({}, {}, 7 * DAY_MS),
        ({}, {"log.retention.hours": "48"}, 2 * DAY_MS),
        ({}, {"log.retention.hours": "48", "log.retention.minutes": "4320"}, 3 * DAY_MS),
        ({}, {"log.retention.hours": "48", "log.retention.ms": str(4 * DAY_MS)}, 4 * DAY_MS),
        ({"retention.ms": str(5 * DAY_MS)}, {"log.retention.ms": str(4 * DAY_MS)}, 5 * DAY_MS),
        ({"retention.ms": "-1"}, {}, -1),
        ({}, {"log.retention.hours": "-1"}, -1),
    ],
)
def test_a_topics_own_retention_outranks_the_brokers_and_their_smallest_unit_the_others(
    of_topic: dict[str, str], of_brokers: dict[str, str], kept_ms: int
) -> None:
    assert retention_ms(of_topic, of_brokers) == kept_ms
