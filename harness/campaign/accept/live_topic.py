"""The configuration of a topic on a running cluster, as a file of its own.

The cluster does not say its release, its controllers, whether eligible leader replicas are on, nor what its
producers do: these are the file's defaults, unless `--set` says otherwise.
"""

import io
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML

from compose.releases.settings import settings_of
from compose.spec.topology import CONTROLLERS_ONLY, DEFAULT_RELEASE, RESERVED
from workloads.clients.live_topic import LiveTopic

MOST_LETTERS = 40


def configuration_text(topic: LiveTopic) -> str:
    """The file. Settings that decide nothing here (addresses, paths) are left out."""
    said = _of_all(topic)
    topics_own = {
        name: text for name, text in topic.config.items() if name in settings_of(DEFAULT_RELEASE, "topic")
    }
    plain: dict[str, Any] = {
        "name": name_of(topic.name),
        "about": f"Topic {topic.name} of a running cluster.",
        "cluster": {
            "brokers": len(topic.brokers),
            "broker_config": {name: its for name, its in said.items() if name not in CONTROLLERS_ONLY},
            "controller_config": {name: its for name, its in said.items() if name in CONTROLLERS_ONLY},
            "racks": _racks(topic),
        },
        "topic": {
            "partitions": len(topic.replicas),
            "replication": min(len(replicas) for replicas in topic.replicas),
            "config": topics_own,
        },
        "producer": {},
    }
    out = io.StringIO()
    YAML().dump(plain, out)
    return out.getvalue()


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


def _of_all(topic: LiveTopic) -> dict[str, str]:
    """What the brokers have set; where they differ, the value of most. Only settings that the mesh leaves
    alone.
    """
    known = settings_of(DEFAULT_RELEASE, "broker")
    values: dict[str, Counter[str]] = {}
    for broker in topic.brokers:
        for name, text in broker.config.items():
            if name in known and name in DECISIVE and not RESERVED.fullmatch(name):
                values.setdefault(name, Counter())[text] += 1
    return {name: found.most_common(1)[0][0] for name, found in sorted(values.items())}


def _racks(topic: LiveTopic) -> Mapping[str, str]:
    """By the place of the broker, from 1: a file numbers brokers so."""
    numbered = enumerate(topic.brokers, start=1)
    return {str(place): broker.rack for place, broker in numbered if broker.rack}


DECISIVE = frozenset(
    {
        *("auto.create.topics.enable", "broker.heartbeat.interval.ms", "broker.session.timeout.ms"),
        *("default.replication.factor", "min.insync.replicas", "offsets.topic.replication.factor"),
        *("replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "transaction.state.log.min.isr"),
        *("unclean.leader.election.enable", "log.flush.interval.messages", "log.flush.interval.ms"),
        "log.flush.scheduler.interval.ms",
        *("log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.retention.bytes"),
        *("log.cleanup.policy", "log.message.timestamp.type", "log.message.timestamp.before.max.ms"),
    }
)
"""Settings of brokers that a promise or a trap depends on."""
