"""Loads that cannot be: records that no broker takes, more than the volumes hold, a warm-up without end.

Each bound holds whatever the cluster does, so that a load that is only ambitious is not refused.
"""

from collections.abc import Iterator

from compose.releases.settings import settings_of
from faults.durations import write_duration
from harness.scenario.cluster.deletion import SHORTEST_RETENTION_S
from harness.scenario.cluster.kafka_settings import OF_BROKERS, effective
from harness.scenario.load.load_plan import WARM_S
from harness.scenario.load.load_size import (
    GIB,
    LONGEST_LOAD_S,
    LoadLength,
    copies,
    fullest_share,
    volume_bytes,
    volume_count,
)
from harness.scenario.model import Scenario, TopicPart
from harness.scenario.rules.contradiction import Contradiction
from harness.scenario.text.positions import Path
from harness.scenario.text.units import rate_text

BATCH_BYTES = 61
RECORD_BYTES = 5 + 8
"""Of a record in a batch, beside its value and the two lengths that grow with it: attributes, the timestamp
and offset deltas, the key's length, the count of headers, one byte each; and the key (KIP-98)."""
LARGEST_BATCH = ("max.message.bytes", "segment.bytes")
"""Settings of a topic by which a broker refuses a batch that is larger."""
RETENTION_TIMES = ("retention.ms", "log.retention.ms", "log.retention.minutes", "log.retention.hours")
COMPRESSIONS = ("compression.type", "compression.codec")
AS_SENT = ("producer", "uncompressed", "none")


def batches(scenario: Scenario) -> Iterator[Contradiction]:
    """A record that even alone is more than a topic takes, or a broker reads from a connection."""
    of_brokers, release = scenario.cluster.broker_config, scenario.cluster.kafka
    size = batch_bytes(scenario.workload.record)
    for index, topic in enumerate(scenario.topics):
        for key in LARGEST_BATCH:
            own = effective(key, topic.config, of_brokers)
            limit = int(own or settings_of(release, "topic")[key].default)
            if size > limit:
                text = f"topic {topic.name} takes batches of at most {limit} bytes ({key})"
                yield _too_large(scenario, size, text, _written(scenario, index, key))
    key = "socket.request.max.bytes"
    limit = int(of_brokers.get(key) or settings_of(release, "broker")[key].default)
    if size > limit:
        where: Path = ("cluster", "broker_config", key) if key in of_brokers else ("workload", "record")
        yield _too_large(scenario, size, f"brokers read requests of at most {limit} bytes ({key})", where)


def batch_bytes(record_bytes: int) -> int:
    """The size of a batch of one record with a value of so many bytes (message format v2, KIP-98)."""
    body = RECORD_BYTES + _varint_bytes(record_bytes) + record_bytes
    return BATCH_BYTES + _varint_bytes(body) + body


def _varint_bytes(number: int) -> int:
    """Bytes of a positive number in Kafka's zig-zag encoding, seven bits in each."""
    return max(1, -(-(2 * number).bit_length() // 7))


def _written(scenario: Scenario, index: int, key: str) -> Path:
    """Where a limit is written, or the record's size if it is Kafka's default."""
    if key in scenario.topics[index].config:
        return ("topics", index, "config", key)
    of_brokers = OF_BROKERS.get(key, key)
    return (
        ("cluster", "broker_config", of_brokers)
        if of_brokers in scenario.cluster.broker_config
        else ("workload", "record")
    )


def _too_large(scenario: Scenario, size: int, limit: str, where: Path) -> Contradiction:
    record = scenario.workload.record
    return Contradiction(path=where, text=f"a record of {record} bytes makes a batch of {size}, and {limit}")


def too_long(scenario: Scenario, length: LoadLength) -> Iterator[Contradiction]:
    """A schedule that nobody waits for."""
    if length.planned_s > LONGEST_LOAD_S:
        text = f"the load would last {write_duration(length.planned_s)}; allowed: at most "
        text += write_duration(LONGEST_LOAD_S)
        yield Contradiction(path=_asked_length(scenario, length.planned_s), text=text)


def volumes(scenario: Scenario, length: LoadLength) -> Iterator[Contradiction]:
    """A rate that fills all volumes of the cluster before the load has lasted as long as it must, or the one
    that gets the most: a replica lies in one."""
    load = scenario.workload
    if load.rate is None or _compressed(scenario):
        return
    lasts_s, count = length.planned_s, volume_count(scenario)
    volume = volume_bytes(scenario, length.longest_s)
    written = load.rate * lasts_s * load.record * copies(scenario)
    fullest = written * fullest_share(scenario)
    if written > volume * count:
        full = f"and the {count} volumes hold {volume * count / GIB:.3g} GiB"
    elif fullest > volume:
        full = f"{fullest / GIB:.3g} GiB of it on one volume, which holds {volume / GIB:.3g} GiB"
    else:
        return
    yield Contradiction(
        path=_asked_size(scenario, lasts_s),
        text=f"{rate_text(load.rate)} of {load.record} bytes for {write_duration(lasts_s)} is "
        f"{written / GIB:.3g} GiB with its replicas, {full}",
    )


def _asked_size(scenario: Scenario, lasts_s: float) -> Path:
    """Where it is written how much the load writes, or what the volumes hold of it."""
    if "rate" in scenario.workload.model_fields_set:
        return ("workload", "rate")
    if "volume" in scenario.cluster.model_fields_set:
        return ("cluster", "volume")
    return _asked_length(scenario, lasts_s)


def _compressed(scenario: Scenario) -> bool:
    """Whether less than what is sent may be written."""
    places = [scenario.workload.client, scenario.cluster.broker_config, *(t.config for t in scenario.topics)]
    return any(config.get(key, "none") not in AS_SENT for config in places for key in COMPRESSIONS)


def warm_up(scenario: Scenario) -> Iterator[Contradiction]:
    """A rate at which the producers cannot reach every partition before the warm-up ends."""
    load = scenario.workload
    if load.rate is None or not load.warm:
        return
    sends = sum(topic.partitions for topic in scenario.topics) * load.producers
    least = (sends - load.producers) / WARM_S
    if load.rate < least:
        yield Contradiction(
            path=("workload", "rate"),
            text=f"at {rate_text(load.rate)}, {load.producers} producers do not reach every partition "
            f"within the {WARM_S:g} s of the warm-up; allowed: at least {rate_text(least)}, or warm: false",
        )


def retention_outlasts_the_load(scenario: Scenario, length: LoadLength) -> Iterator[Contradiction]:
    """A load so long that Kafka deletes its first records by default."""
    lasts_s = length.planned_s
    default_s = int(settings_of(scenario.cluster.kafka, "topic")["retention.ms"].default) / 1000
    if lasts_s + SHORTEST_RETENTION_S <= default_s:
        return
    if any(_keeps_for_default_time(topic, scenario) for topic in scenario.topics):
        text = (
            f"{write_duration(lasts_s)} comes within a day of the {write_duration(default_s)} after which "
            "Kafka deletes records by default; set retention.ms: -1"
        )
        yield Contradiction(path=_asked_length(scenario, lasts_s), text=text)


def _asked_length(scenario: Scenario, lasts_s: float) -> Path:
    """Where it is written that the load lasts so long."""
    if lasts_s <= scenario.workload.lasts_s:
        return ("workload", "lasts")
    return ("faults",) if scenario.storm is None else ("storm", "duration")


def _keeps_for_default_time(topic: TopicPart, scenario: Scenario) -> bool:
    return not any(key in {**topic.config, **scenario.cluster.broker_config} for key in RETENTION_TIMES)
