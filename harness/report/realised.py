"""What the contract is computed from: the run's settings as the cluster had them, and what happened to it."""

from functools import cache, partial
from pathlib import Path

from checkers.contract.realised.settings import ProducerPromise, Realised, clock_of_nodes, elr_in_force
from checkers.contract.realised.terms import TopicPromise
from checkers.history.records.log_runs import batch_producers, log_runs
from checkers.history.rows import Context
from harness.run_directory.manifest import Manifest, ManifestTopic
from harness.scenario.cluster.deletion import retention_ms
from harness.scenario.cluster.kafka_settings import MIN_ISR, effective

STRICTEST = ProducerPromise(acks="all", idempotence=True)
"""Of a run that names no producer."""


def realised(manifest: Manifest, context: Context, history: Path) -> Realised:
    """The settings of the manifest; a topic's fall back to the brokers', then to Kafka's defaults.

    Whether ELR is on follows from the cluster's finalized features, where the history has any. `history` is
    the directory that `context` is from: what only a loss needs is read when it is asked for.
    """
    promises = {
        each.producer: ProducerPromise(acks=each.acks, idempotence=each.idempotence)
        for each in manifest.producers
    }
    return Realised(
        producers=promises or {0: STRICTEST},
        topics={topic.name: _promise(topic, manifest) for topic in manifest.topics},
        elr=elr_in_force(context.configs, manifest.cluster.elr),
        clock=clock_of_nodes(context.clocks, manifest.clock.monotonic_ns, manifest.clock.wall_ns),
        context=context,
        survivors=cache(partial(log_runs, history)),
        batches=cache(partial(batch_producers, history)),
    )


def _promise(topic: ManifestTopic, manifest: Manifest) -> TopicPromise:
    def setting(name: str, default: str) -> str:
        return effective(name, topic.config, manifest.cluster.broker_config) or default

    return TopicPromise(
        # Kafka counts no more replicas than there are; releases that refuse the write acknowledge nothing.
        min_isr=min(int(setting(MIN_ISR, "1")), topic.replication),
        unclean=setting("unclean.leader.election.enable", "false").lower() == "true",
        flush_messages=int(setting("flush.messages", "0")),
        retention_ms=retention_ms(topic.config, manifest.cluster.broker_config),
    )
