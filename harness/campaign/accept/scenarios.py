"""A scenario on a cluster with the configuration that is to be proven: all of it but the faults.

What would make a run judge something else is left out of it, and named: settings by which Kafka deletes or
restamps records, more replicas than a run has brokers, racks, settings of connections, and settings of
Kafka's own producer that the load's client does not have. What may be a secret is in no scenario, and its
value is not named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from checkers.model.case import BROKERS
from checkers.promises.configuration import Configuration
from checkers.promises.search import Times
from compose.releases.settings import settings_of
from compose.spec.server_properties import server_properties
from compose.spec.topology import Topology
from faults.durations import write_duration
from harness.campaign.accept.configuration.configuration_file import TOPIC, AcceptFile, met, replicas_beyond
from harness.campaign.accept.configuration.in_force import UNCLEAN, configuration_of, value_of
from harness.campaign.accept.configuration.producer_settings import IN_FLIGHT, known_settings
from harness.scenario.cluster.deletion import deleting
from harness.scenario.cluster.kafka_settings import FETCH_WAIT, LAG, MIN_ISR, counts_at_most_all
from harness.scenario.load.load_plan import refused_by_client, refused_settings
from harness.scenario.model import (
    ClusterPart,
    ExpectPart,
    Scenario,
    SettlePart,
    TopicPart,
    WorkloadPart,
    topology_of,
)
from harness.scenario.text.hidden import may_be_secret

Step = Mapping[str, Any]
Loss = Literal["none", "permitted", "any"]
Assumed = Literal["release", "patch", "elr", "producer", "unclean", "controllers"]

CARRIED = (
    *("batch.size", "compression.type", "linger.ms", IN_FLIGHT, "request.timeout.ms", "retries"),
    "retry.backoff.ms",
)
"""Settings of Kafka's producer that the load's client has under the same name, within bounds of its own."""
IN_FORCE = ("acks", "enable.idempotence", "delivery.timeout.ms")
"""Settings that the load has by other names."""
MOST_PARTITIONS = 12
"""More would only have less of the load each."""
LASTS = "5s"
"""The load, at least: also where the faults are over sooner."""
LONGEST_DELIVERY_S = 60.0
MOST_IN_FLIGHT = 1_000_000
"""The load's client has no more requests on their way; Kafka's producer may."""
ONE_IN_FLIGHT = {IN_FLIGHT: "1"}
"""Where brokers forget their producers, the load's client may take a refused batch for written: another
loss.
"""
TAIL_S = 2.0
DEPOSED_TAIL_S = 20.0
"""Until the successors' logs reach further than that of a deposed leader did: what is at an offset then was
not acknowledged there by the successor too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a configuration was read of a running cluster: what is `assumed`, since nobody said it, and
    `remarks` on what was said.
    """

    assumed: frozenset[Assumed] = frozenset()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A configuration, ready to have scenarios made of it. `times` are those of the cluster that runs
    them, `carried` the settings of its producer that the load's client takes.
    """

    asked: AcceptFile
    configuration: Configuration
    times: Times
    carried: Mapping[str, str]
    left_out: tuple[str, ...]
    reading: Reading = Reading()

    @property
    def combined(self) -> bool:
        """Whether the brokers are the controllers too, in runs of a broker for each replica."""
        return self.asked.cluster.combined_on(self.asked.topic.replication)

    @property
    def combined_when_searched(self) -> bool:
        """The same, of a run of a counterexample, which has as many brokers as the model."""
        return self.asked.cluster.combined_on(len(BROKERS))

    @property
    def no_run(self) -> str:
        """Why no run can show anything of the configuration; "" if runs can."""
        if self.configuration.spare >= 0:
            return ""
        topic = self.configuration.topic
        replicas = f"{topic.replication} replica{'s' * (topic.replication > 1)}"
        wanted = f"min.insync.replicas={topic.min_isr} of {replicas}"
        return f"Kafka {self.asked.cluster.kafka} takes no acks=all write with {wanted}"

    @property
    def later_s(self) -> float:
        """When whoever is gone, or does not fetch, has surely left the ISR."""
        return self.times.fail_over_s + 2.5

    def scenario(
        self,
        name: str,
        about: str,
        faults: Sequence[Step],
        *,
        brokers: int | None = None,
        loss: Loss = "none",
        accept: Sequence[str] = (),
        require: Sequence[str] = (),
        client: Mapping[str, str] | None = None,
        broker_config: Mapping[str, str] | None = None,
        tail_s: float = TAIL_S,
    ) -> Scenario:
        """A scenario of its own on this configuration; `broker_config` are defaults that the file
        outranks.
        """
        return Scenario(
            name=f"{self.asked.name}-{name}",
            about=about,
            cluster=_cluster(self.asked, brokers or self.asked.topic.replication, broker_config or {}),
            topics=[_topic(self.asked)],
            workload=_workload(self.configuration, {**self.carried, **(client or {})}, tail_s),
            faults=[dict(step) for step in faults],
            settle=SettlePart.model_validate({"full_isr": "120s"}),
            expect=ExpectPart(acked_loss=loss),
            accept=list(accept),
            require=list(require),
        )


def setup(
    asked: AcceptFile, configuration: Configuration | None = None, reading: Reading | None = None
) -> Setup:
    """What all scenarios of a configuration have in common."""
    its = configuration or configuration_of(asked)
    carried = _carried(asked, its)
    topology = topology_of(_cluster(asked, asked.topic.replication, {}))
    broker = server_properties(topology, topology.broker_ids[0], client_address="")
    controller = server_properties(topology, topology.controller_ids[0], client_address="")
    return Setup(
        asked=asked,
        configuration=its,
        times=Times(
            session_s=int(controller["broker.session.timeout.ms"]) / 1000,
            lag_max_s=int(broker["replica.lag.time.max.ms"]) / 1000,
        ),
        carried=carried,
        left_out=tuple(_left_out(asked, carried)),
        reading=reading or Reading(),
    )


def duration(seconds: float) -> str:
    """As a scenario writes it."""
    return write_duration(round(seconds, 1))


def _cluster(asked: AcceptFile, brokers: int, defaults: Mapping[str, str]) -> ClusterPart:
    """The asked one with so many brokers: as many as replicas, so that every partition is on all of them."""
    its = asked.cluster.of(brokers)
    kept = {
        "broker_config": {**defaults, **_starts(its.kafka, _kept(its.broker_config))},
        "controller_config": dict(_starts(its.kafka, _kept(its.controller_config))),
    }
    return its.model_copy(update=kept)


def _starts(release: str, config: Mapping[str, str]) -> Mapping[str, str]:
    """With Kafka's own time until a follower lags, where its fetches may wait for longer than the harness's:
    nodes would not start with that.
    """
    faster = server_properties(Topology(), 1, client_address="")[LAG]
    if LAG in config or int(config.get(FETCH_WAIT, "0")) <= int(faster):
        return config
    return {LAG: settings_of(release, "broker")[LAG].default, **config}


def _topic(asked: AcceptFile) -> TopicPart:
    """What the harness would set otherwise is spelled out."""
    decisive = {name: value_of(asked, name) for name in (MIN_ISR, UNCLEAN)} | _kept(asked.topic.config)
    counts = counts_at_most_all(asked.cluster.kafka)
    return TopicPart(
        name=TOPIC,
        partitions=_partitions(asked),
        replication=asked.topic.replication,
        config=decisive if counts else met(asked.topic.replication, decisive),
    )


def _partitions(asked: AcceptFile) -> int:
    """At least one for each broker that a schedule may name, so that each of them leads one."""
    return max(min(asked.topic.partitions, MOST_PARTITIONS), asked.topic.replication, len(BROKERS))


def _carried(asked: AcceptFile, its: Configuration) -> Mapping[str, str]:
    """What the load's client takes of the producer's settings: it says so itself, of each and of all."""

    def load(client: Mapping[str, str]) -> Scenario:
        return Scenario(name=asked.name, topics=[_topic(asked)], workload=_workload(its, client, 0.0))

    wanted = {name: asked.producer[name].strip() for name in CARRIED if name in asked.producer}
    refused = {each.name for each in refused_settings(load(wanted))} if wanted else set[str]()
    taken = {name: text for name, text in wanted.items() if name not in refused}
    return {} if taken and refused_by_client(load(taken)) else taken


def _workload(its: Configuration, client: Mapping[str, str], tail_s: float) -> WorkloadPart:
    producer = its.producer
    most = min(producer.max_in_flight, MOST_IN_FLIGHT)
    in_flight = {} if producer.idempotence else {IN_FLIGHT: str(most)}
    return WorkloadPart.model_validate(
        {
            "acks": producer.acks,
            "idempotence": producer.idempotence,
            "lasts": LASTS,
            "tail": duration(tail_s),
            "delivery_timeout": duration(min(producer.delivery_timeout_s, LONGEST_DELIVERY_S)),
            "client": in_flight | dict(client),
        }
    )


def _kept(config: Mapping[str, str]) -> dict[str, str]:
    gone = {name for name, _ in deleting(config)}.union(filter(may_be_secret, config))
    return {name: value for name, value in config.items() if name not in gone}


def _left_out(asked: AcceptFile, carried: Mapping[str, str]) -> Iterator[str]:
    for config in (asked.topic.config, asked.cluster.broker_config, asked.cluster.controller_config):
        yield from (f"{name}={config[name]}" for name, _ in deleting(config))
        yield from filter(may_be_secret, config)
    brokers, replicas = asked.cluster.brokers, asked.topic.replication
    its_own = {} if counts_at_most_all(asked.cluster.kafka) else asked.topic.config
    for config in (its_own, asked.cluster.broker_config, asked.cluster.controller_config):
        for name in replicas_beyond(replicas, config):
            yield f"{name}={config[name]}: a run has one broker for each replica"
    if brokers > replicas:
        yield f"{brokers - replicas} of {brokers} brokers: a run has one for each replica"
    if asked.cluster.combined and not asked.cluster.combined_on(replicas):
        controllers = asked.cluster.controllers
        yield f"combined: a run of one broker for each replica has {controllers} controllers beside them"
    if (run_with := _partitions(asked)) != asked.topic.partitions:
        yield f"partitions: run with {run_with}"
    if asked.cluster.racks:
        yield "racks"
    known = known_settings(asked.cluster.kafka)
    for name, text in asked.producer.items():
        if name not in (*carried, *IN_FORCE):
            yield f"{name}={text}" if name in known else name
