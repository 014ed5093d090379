"""How long the load of a scenario lasts at least, and the volumes that it needs for that."""

from collections.abc import Iterator

from faults.durations import parse_duration
from faults.errors import BadStep
from harness.scenario.model import Scenario

GIB = 1 << 30
BESIDE_THE_VALUE = 100
"""Bytes of a record on disk, beside its value: its own head and key, and a share of its batch's 61 bytes that
is all of them where a batch has one record."""
SPARE = 1.25
"""Of a volume, for indexes, the metadata log, and the file system itself."""


def load_s(scenario: Scenario) -> float:
    """As long as is asked for, and as a storm takes."""
    return max(scenario.workload.lasts_s, *_storm_s(scenario), 0.0)


def _storm_s(scenario: Scenario) -> Iterator[float]:
    """A duration that cannot be read is refused where the storm is."""
    if scenario.storm is not None:
        try:
            yield parse_duration(scenario.storm.get("duration"), "duration")
        except BadStep:
            return


def volume_bytes(scenario: Scenario) -> int:
    """The size of each broker's volume: as it is asked for, else the default, and more for a longer storm."""
    load, cluster = scenario.workload, scenario.cluster
    if "volume" in cluster.model_fields_set or load.rate is None or scenario.storm is None:
        return cluster.volume
    written = load.rate * load_s(scenario) * (load.record + BESIDE_THE_VALUE)
    needed = written * copies(scenario) / cluster.brokers * SPARE
    return max(cluster.volume, -(-int(needed) // GIB) * GIB)


def copies(scenario: Scenario) -> float:
    """Replicas of a record, of all partitions alike."""
    partitions = sum(topic.partitions for topic in scenario.topics)
    return sum(topic.partitions * topic.replication for topic in scenario.topics) / partitions
