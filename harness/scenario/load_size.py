"""How long the load of a scenario lasts at least, and what it needs: volumes, room on the machine.

A broker has a volume for each of its log directories. A replica lies in one of them, and Kafka puts a new one
where there are fewest, so that the load spreads by whole replicas.
"""

import math
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


RECORDED_BYTES = 1000
"""Of a record in the journals of a run and in its history, which for a moment are both there."""


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
    """The size of each volume: as it is asked for, else the default, and more for a longer storm."""
    cluster, written = scenario.cluster, _written_bytes(scenario)
    if "volume" in cluster.model_fields_set or written is None or scenario.storm is None:
        return cluster.volume
    return max(cluster.volume, -(-int(written * fullest_share(scenario) * SPARE) // GIB) * GIB)


def volume_count(scenario: Scenario) -> int:
    """How many volumes the brokers have."""
    return scenario.cluster.brokers * scenario.cluster.log_dirs


def fullest_share(scenario: Scenario) -> float:
    """The share of the load, with its replicas, that the fullest volume gets at least: partitions get as much
    as each other, and some volume has as many replicas as the mean, rounded up."""
    replicas = sum(topic.partitions * topic.replication for topic in scenario.topics)
    return math.ceil(replicas / volume_count(scenario)) / replicas


def replicated_bytes(scenario: Scenario) -> int | None:
    """What the load writes to all volumes together, which hold no more; None as fast as it goes."""
    written = _written_bytes(scenario)
    return None if written is None else min(int(written), volume_bytes(scenario) * volume_count(scenario))


def recorded_bytes(scenario: Scenario) -> int | None:
    """What is written down of the load, in the run's directory; None as fast as it goes."""
    rate = scenario.workload.rate
    return None if rate is None else int(rate * load_s(scenario) * RECORDED_BYTES)


def _written_bytes(scenario: Scenario) -> float | None:
    """With all replicas."""
    load = scenario.workload
    if load.rate is None:
        return None
    return load.rate * load_s(scenario) * (load.record + BESIDE_THE_VALUE) * copies(scenario)


def copies(scenario: Scenario) -> float:
    """Replicas of a record, of all partitions alike."""
    partitions = sum(topic.partitions for topic in scenario.topics)
    return sum(topic.partitions * topic.replication for topic in scenario.topics) / partitions
