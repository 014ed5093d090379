"""The configuration of a topic on a running cluster, as a file of its own.

The cluster does not say its controllers, nor what its producers do, and of its release only what its features
say: what is left are the file's defaults, unless `--set` says otherwise.
"""

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML

from checkers.history.metadata_log.settings import UNCLEAN
from checkers.history.operations.node_releases import UNCLEAN_EXISTS
from compose.releases.settings import settings_of
from compose.spec.topology import CONTROLLERS_ONLY, DEFAULT_RELEASE
from harness.campaign.accept.configuration.configuration_file import MOST_LETTERS, UNKNOWN_RACK, AcceptFile
from harness.campaign.accept.live.live_features import Features
from harness.campaign.accept.scenarios import Assumed, Reading
from workloads.clients.live_topic import LiveTopic


def configuration_text(topic: LiveTopic, features: Features) -> str:
    """The file. Settings that decide nothing here (addresses, paths) are left out."""
    known = settings_of(features.kafka or DEFAULT_RELEASE, "topic")
    taken = {name: _of_most(of_brokers)[0] for name, of_brokers in _decisive(topic, features).items()}
    said = {name: value for name, value in taken.items() if value}
    by_features = {"kafka": features.kafka, "formatted": features.formatted, "elr": features.elr_on}
    plain: dict[str, Any] = {
        "name": name_of(topic.name),
        "about": f"Topic {topic.name} of a running cluster.",
        "cluster": {
            **{key: its for key, its in by_features.items() if its is not None},
            "brokers": len(_numbers(topic)),
            "broker_config": {name: its for name, its in said.items() if name not in CONTROLLERS_ONLY},
            "controller_config": {name: its for name, its in said.items() if name in CONTROLLERS_ONLY},
            "racks": _racks(topic),
        },
        "topic": {
            "partitions": len(topic.replicas),
            "replication": min(len(replicas) for replicas in topic.replicas),
            "config": {name: text for name, text in topic.config.items() if name in known},
        },
        "producer": {},
    }
    out = io.StringIO()
    YAML().dump(plain, out)
    return out.getvalue()


def reading(topic: LiveTopic, features: Features, asked: AcceptFile, sets: Sequence[str]) -> Reading:
    """What of the configuration is assumed, since neither the cluster nor the command line (`sets`) says it;
    and what the cluster does not say, or not with one voice.
    """
    remarks = [features.unknown] if features.unknown else []
    remarks += [*_away(topic), *_different(topic, features), *_of_controllers(topic, features, asked)]
    return Reading(assumed=frozenset(_assumed(asked, sets)), remarks=tuple(remarks))


def _assumed(asked: AcceptFile, sets: Sequence[str]) -> Iterator[Assumed]:
    if "kafka" not in asked.cluster.model_fields_set:
        yield "release"
    elif not {each.partition("=")[0] for each in sets} & {"cluster", "cluster.kafka"}:
        yield "patch"
    if asked.cluster.elr is None:
        yield "elr"
    if not {"controllers", "combined"} & asked.cluster.model_fields_set:
        yield "controllers"
    if asked.release >= UNCLEAN_EXISTS and UNCLEAN not in {
        *asked.topic.config,
        *asked.cluster.controller_config,
    }:
        yield "unclean"  # the controllers' own value decides, and brokers do not say it
    if not asked.producer:
        yield "producer"


def _of_controllers(topic: LiveTopic, features: Features, asked: AcceptFile) -> Iterator[str]:
    """Each setting that only controllers read, and that was taken from brokers."""
    for name, of_brokers in _decisive(topic, features).items():
        taken = _of_most(of_brokers)[0]
        was_set = asked.cluster.controller_config.get(name, "") != taken
        if name in CONTROLLERS_ONLY and taken and not was_set and not asked.cluster.combined:
            yield f"{name}={taken} is what brokers have: that of the controllers decides, and is not known"


def _away(topic: LiveTopic) -> Iterator[str]:
    answering = {broker.number for broker in topic.brokers}
    away = [str(number) for number in _numbers(topic) if number not in answering]
    if away:
        yield f"no answer from broker {', '.join(away)}: settings and rack are not known"


def _different(topic: LiveTopic, features: Features) -> Iterator[str]:
    """Each setting in which brokers differ, and replicas in which partitions do."""
    for name, of_brokers in _decisive(topic, features).items():
        if len(of_brokers) > 1:
            first = _of_most(of_brokers)
            others = [each for each in of_brokers.items() if each != first]
            listed = [f"{value or 'none'} on {', '.join(map(str, its))}" for value, its in (first, *others)]
            yield f"brokers differ in {name}: {'; '.join(listed)}; the first is taken"
    counts = Counter(map(len, topic.replicas))
    if len(counts) > 1:
        listed = [f"{count} of {counts[count]}" for count in sorted(counts)]
        yield f"partitions differ in their replicas: {', '.join(listed)}; the fewest are taken"


def name_of(topic: str) -> str:
    """A topic's name as that of a configuration: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", topic.lower()).strip("-")[:MOST_LETTERS] or "topic"


def replicas_in_one_rack(topic: LiveTopic) -> int:
    """How many partitions with several replicas have all of them in one rack that is known."""
    racks = {broker.number: broker.rack for broker in topic.brokers}
    found = (
        {racks.get(number, "") for number in replicas} for replicas in topic.replicas if len(replicas) > 1
    )
    return sum(len(its) == 1 and its != {""} for its in found)


def _decisive(topic: LiveTopic, features: Features) -> dict[str, dict[str, list[int]]]:
    """Of each setting that a broker has set the brokers with each value: Kafka's default where nobody has."""
    known = settings_of(features.kafka or DEFAULT_RELEASE, "broker")
    found: dict[str, dict[str, list[int]]] = {}
    written = {name for broker in topic.brokers for name in broker.config}
    for name in sorted(written & DECISIVE & known.keys()):
        for broker in topic.brokers:
            value = broker.config.get(name, known[name].default)
            found.setdefault(name, {}).setdefault(value, []).append(broker.number)
    return found


def _of_most(of_brokers: Mapping[str, list[int]]) -> tuple[str, list[int]]:
    """The value that most brokers have, and which; of several, that of the broker with the lowest number."""
    return max(of_brokers.items(), key=lambda each: len(each[1]))


def _numbers(topic: LiveTopic) -> Sequence[int]:
    """All brokers of the cluster that are known: a broker that is away still has its replicas."""
    answering = {broker.number for broker in topic.brokers}
    return sorted(answering.union(*topic.replicas))


def _racks(topic: LiveTopic) -> Mapping[str, str]:
    """By the place of the broker, from 1: a file numbers brokers so."""
    known = {broker.number: broker.rack for broker in topic.brokers}
    if not any(known.values()):
        return {}
    numbered = enumerate(_numbers(topic), start=1)
    racks = {place: known.get(number, UNKNOWN_RACK) for place, number in numbered}
    return {str(place): rack for place, rack in racks.items() if rack}


DECISIVE = frozenset(
    {
        *("auto.create.topics.enable", "broker.heartbeat.interval.ms", "broker.session.timeout.ms"),
        *("default.replication.factor", "min.insync.replicas", "offsets.topic.replication.factor"),
        *("replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "transaction.state.log.min.isr"),
        *("unclean.leader.election.enable", "log.flush.interval.messages", "log.flush.interval.ms"),
        "log.flush.scheduler.interval.ms",
        *("log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.retention.bytes"),
        *("log.cleanup.policy", "log.message.timestamp.type", "log.message.timestamp.before.max.ms"),
        "log.message.timestamp.difference.max.ms",
    }
)
"""Settings of brokers that a promise or a trap depends on."""
