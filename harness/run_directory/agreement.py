"""Do the manifest, scenario.yaml and the files of the history tell of the same run?

The manifest repeats what the scenario asks for, and the history has a file for each partition: what one of
them has lost, the others still have.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from checkers.errors import MalformedHistory
from checkers.history.columnar import columns_of
from checkers.history.rows import Context, TopicPartition
from checkers.history.tables import unit_path
from harness.errors import HistoryError, ScenarioError
from harness.run_directory.layout import RunDir, read_whole
from harness.run_directory.manifest import Manifest, ManifestTopic
from harness.scenario.cluster.deletion import deleting
from harness.scenario.cluster.releases import releases_of
from harness.scenario.model import Scenario, TopicPart
from harness.scenario.text.complaints import complaints
from harness.scenario.text.positions import load

Pair = tuple[str, object, object]
"""A key of the manifest, its value, and what the scenario has for it."""


def read_scenario(run: RunDir, manifest: Manifest) -> Scenario:
    """The scenario of a run; HistoryError if it is missing, or not the one that the manifest knows."""
    text = read_whole(run.scenario)
    try:
        document = load(text.decode(), str(run.scenario))
        scenario = Scenario.model_validate(document.data)
    except ValidationError as error:
        raise HistoryError(complaints(error, document, Scenario)[0]) from None
    except (ScenarioError, UnicodeDecodeError) as error:
        raise HistoryError(f"{run.scenario}: not a scenario: {error}") from None
    digest = hashlib.sha256(text).hexdigest()
    if manifest.scenario_sha256 not in (None, digest):
        raise HistoryError(f"{run.scenario}: changed since the run began: its SHA-256 is {digest}")
    return scenario


def check_agreement(run: RunDir, manifest: Manifest, scenario: Scenario, context: Context) -> None:
    """HistoryError or MalformedHistory with the first file, and the key, that contradicts another one."""
    _compare(run, _pairs(manifest, scenario))
    _check_producers(run, manifest, scenario)
    _check_deletion(run, manifest)
    _check_partitions(run, manifest, context)
    _check_faults(run, manifest, context)


def check_topics(run: RunDir, manifest: Manifest, scenario: Scenario) -> None:
    """The same for the topics alone, before files are made for each of their partitions. HistoryError."""
    _compare(run, [_of_topics(manifest, scenario)])


def _compare(run: RunDir, pairs: Iterable[Pair]) -> None:
    for key, found, asked in pairs:
        if found != asked:
            raise HistoryError(f"{run.manifest}: {key}: {found!r}, and {run.scenario.name} has {asked!r}")


def _of_topics(manifest: Manifest, scenario: Scenario) -> Pair:
    return "topics", _shapes(manifest.topics), _shapes(scenario.topics)


def _pairs(manifest: Manifest, scenario: Scenario) -> Iterator[Pair]:
    workload, cluster, asked = scenario.workload, manifest.cluster, scenario.cluster
    yield "scenario", manifest.scenario, scenario.name
    yield "seed", manifest.seed, scenario.seed
    yield "release", manifest.release, asked.kafka
    yield "releases", manifest.releases or (manifest.release,), releases_of(scenario)
    yield "expect", manifest.expect, scenario.expect.acked_loss
    yield "accept", list(manifest.accept), scenario.accept
    yield "require", list(manifest.require or ()), scenario.require
    yield _of_topics(manifest, scenario)
    yield "schedule", list(manifest.schedule), [str(step.get("name")) for step in scenario.faults]
    yield "cluster.brokers", cluster.brokers, asked.brokers
    yield "cluster.controllers", cluster.controllers, asked.controllers
    yield "cluster.combined", cluster.combined, asked.combined
    for number, producer in enumerate(manifest.producers):
        yield f"producers[{number}].acks", producer.acks, workload.acks
        yield f"producers[{number}].idempotence", producer.idempotence, workload.idempotent


def _shapes(topics: Iterable[ManifestTopic | TopicPart]) -> list[str]:
    return [f"{topic.name}: {topic.partitions} partitions, {topic.replication} replicas" for topic in topics]


def _check_producers(run: RunDir, manifest: Manifest, scenario: Scenario) -> None:
    """Each producer of a complete run had at least one instance."""
    found, asked = len(manifest.producers), scenario.workload.producers
    if manifest.state == "complete" and found < asked:
        raise HistoryError(
            f"{run.manifest}: producers: {found} instances, and {run.scenario.name} has {asked} producers"
        )


def _check_deletion(run: RunDir, manifest: Manifest) -> None:
    """Nothing of what the run asked for let Kafka delete or restamp records by itself."""
    places = [(f"topics[{number}].config", topic.config) for number, topic in enumerate(manifest.topics)]
    for place, config in (*places, ("cluster.broker_config", manifest.cluster.broker_config)):
        for key, text in deleting(config):
            raise HistoryError(f"{run.manifest}: {place}.{key}: {text}")


def _check_partitions(run: RunDir, manifest: Manifest, context: Context) -> None:
    """Each partition of the manifest has its files, and no row and no file is of another one."""
    listed = {TopicPartition(topic.name, n) for topic in manifest.topics for n in range(topic.partitions)}
    found = set(context.partitions)
    for tp in sorted(listed - found):
        raise HistoryError(f"{run.history}: every file of partition {tp} is missing")
    for tp in sorted(found - listed):
        raise MalformedHistory(unit_path(run.history, "sends", *tp), f"{run.manifest.name} has no {tp}")
    for table in ("watermarks", "metadata"):
        rows = columns_of(getattr(context, table), ("topic", "partition"))
        named = set(zip(rows["topic"].tolist(), rows["partition"].tolist(), strict=True))
        for tp in map(TopicPartition._make, sorted(named - listed)):
            raise MalformedHistory(
                unit_path(run.history, table), f"a row of {tp}, {run.manifest.name} has none"
            )


def _check_faults(run: RunDir, manifest: Manifest, context: Context) -> None:
    more = Counter(fault.name for fault in context.faults) - Counter(manifest.schedule)
    for name in more:
        raise MalformedHistory(
            unit_path(run.history, "faults"),
            f"a fault {name!r} that the schedule of {run.manifest.name} lacks",
        )
