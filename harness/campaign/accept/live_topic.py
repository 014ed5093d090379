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

from compose.releases.settings import settings_of
from compose.spec.topology import CONTROLLERS_ONLY, DEFAULT_RELEASE, RESERVED
from harness.campaign.accept.configuration_file import MOST_LETTERS, AcceptFile
from harness.campaign.accept.live_features import Features
from harness.campaign.accept.scenarios import Assumed, Reading
from workloads.clients.live_topic import LiveTopic

NO_WORD = "not known"
"""The rack of a broker that is away, where the others have one."""


def configuration_text(topic: LiveTopic, features: Features) -> str:
    """The file. Settings that decide nothing here (addresses, paths) are left out."""
    release = features.kafka or DEFAULT_RELEASE
    said, known = _of_all(topic, release), settings_of(release, "topic")
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


def reading(asked: AcceptFile, sets: Sequence[str], features: Features) -> Reading:
    """What of the configuration is assumed; `sets` are what the command line says."""
    remarks = [features.unknown] if features.unknown else []
    return Reading(assumed=frozenset(_assumed(asked, sets)), remarks=tuple(remarks))


def _assumed(asked: AcceptFile, sets: Sequence[str]) -> Iterator[Assumed]:
    if "kafka" not in asked.cluster.model_fields_set:
        yield "release"
    elif not {each.partition("=")[0] for each in sets} & {"cluster", "cluster.kafka"}:
        yield "patch"
    if asked.cluster.elr is None:
        yield "elr"
    if not asked.producer:
        yield "producer"


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


def _of_all(topic: LiveTopic, release: str) -> dict[str, str]:
    """What the brokers have set; where they differ, the value of most. Only settings that the mesh leaves
    alone.
    """
    known = settings_of(release, "broker")
    values: dict[str, Counter[str]] = {}
    for broker in topic.brokers:
        for name, text in broker.config.items():
            if name in known and name in DECISIVE and not RESERVED.fullmatch(name):
                values.setdefault(name, Counter())[text] += 1
    return {name: found.most_common(1)[0][0] for name, found in sorted(values.items())}


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
    racks = {place: known.get(number, NO_WORD) for place, number in numbered}
    return {str(place): rack for place, rack in racks.items() if rack}


DECISIVE = frozenset(
    {
        *("auto.create.topics.enable", "broker.heartbeat.interval.ms", "broker.session.timeout.ms"),
        *("default.replication.factor", "min.insync.replicas", "offsets.topic.replication.factor"),
        *("replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "transaction.state.log.min.isr"),
        *("unclean.leader.election.enable", "log.flush.interval.messages", "log.flush.interval.ms"),
        *("log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.retention.bytes"),
        *("log.cleanup.policy", "log.message.timestamp.type", "log.message.timestamp.before.max.ms"),
    }
)
"""Settings of brokers that a promise or a trap depends on."""
