"""The settings and finalized features after each record.

A CONFIG_RECORD names a resource by type and name: a topic, a broker, or the default of all brokers (type
broker, name ""). A value of null removes the setting; so does the removal of its topic. A feature at level 0
is off. Source: `ConfigRecord.json`, `ConfigResource.Type`, `ConfigurationsDelta` and `FeaturesDelta` in
Kafka.
"""

from collections.abc import Sequence

from checkers.history.metadata_log.records import Record
from checkers.history.rows import ConfigChange
from checkers.history.tables import NONE

TOPIC, BROKER = 2, 4
"""The resource types of which settings are kept; groups, client metrics and loggers decide no loss."""


class Configs:
    """Which settings each topic has, after the records applied so far."""

    def __init__(self) -> None:
        """Nothing is set yet."""
        self._of_topic: dict[str, dict[str, str]] = {}

    def apply(self, record: Record) -> Sequence[ConfigChange]:
        """The setting or feature that `record` changes, as it is after it."""
        data = record["data"]
        match record["type"]:
            case "CONFIG_RECORD" if data["resourceType"] == TOPIC:
                return [self._topic(record)]
            case "CONFIG_RECORD" if data["resourceType"] == BROKER:
                kind = "broker" if data["resourceName"] else "cluster"
                return [_row(record, kind, data["resourceName"], data["name"], data["value"])]
            case "FEATURE_LEVEL_RECORD":
                level = data["featureLevel"]
                return [_row(record, "feature", data["name"], "", str(level) if level else None)]
        return ()

    def remove_topic(self, record: Record, topic: str) -> Sequence[ConfigChange]:
        """All settings of a topic that `record` removes."""
        return [_row(record, "topic", topic, key, None) for key in self._of_topic.pop(topic, {})]

    def _topic(self, record: Record) -> ConfigChange:
        data = record["data"]
        settings = self._of_topic.setdefault(data["resourceName"], {})
        settings.pop(data["name"], None)
        if data["value"] is not None:
            settings[data["name"]] = data["value"]
        return _row(record, "topic", data["resourceName"], data["name"], data["value"])


def _row(record: Record, kind: str, name: str, key: str, value: str | None) -> ConfigChange:
    return ConfigChange(
        at_ms=record["timestamp_ms"],
        log_offset=record["offset"],
        kind=kind,
        name=name,
        key=key,
        value="" if value is None else value,
        removed=value is None,
        controller=record.get("controller", NONE),
    )
