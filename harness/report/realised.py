"""What the contract is computed from: the run's settings as the cluster had them, and what happened to it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from checkers.contract.settings import ProducerPromise, Realised, TopicPromise
from checkers.contract.timeline import Clock
from checkers.history.log_runs import batch_producers, log_runs
from checkers.history.rows import ClockPair, Context
from checkers.history.tables import NONE
from harness.run_directory.manifest import Manifest, ManifestTopic
from harness.scenario.kafka_settings import effective

ELR_FEATURE = "eligible.leader.replicas.version"
"""The feature whose level above 0 turns eligible leader replicas on (KIP-966)."""
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
        elr=_elr(manifest, context),
        clock=Clock(
            monotonic_ns=manifest.clock.monotonic_ns,
            wall_ns=manifest.clock.wall_ns,
            pairs=tuple(sorted(_of_nodes(context.clocks), key=lambda pair: pair.wall_ns)),
        ),
        context=context,
        survivors=cache(partial(log_runs, history)),
        batches=cache(partial(batch_producers, history)),
    )


def _of_nodes(clocks: Sequence[ClockPair]) -> list[ClockPair]:
    """The readings with the nodes' wall clock, the metadata log's: the engine's, where that answered."""
    answered = [replace(pair, wall_ns=pair.engine_ns) for pair in clocks if pair.engine_ns != NONE]
    return answered or list(clocks)


def _elr(manifest: Manifest, context: Context) -> bool:
    """By the last record of the feature in the metadata log; a feature without a record is at level 0.

    A history without any feature is of an older version: then as the cluster was formatted.
    """
    features = [change for change in context.configs if change.kind == "feature"]
    if not features:
        return manifest.cluster.elr
    of_elr = [change for change in features if change.name == ELR_FEATURE]
    last = max(of_elr, key=lambda change: change.log_offset, default=None)
    return last is not None and not last.removed and int(last.value) > 0


def _promise(topic: ManifestTopic, manifest: Manifest) -> TopicPromise:
    def setting(name: str, default: str) -> str:
        return effective(name, topic.config, manifest.cluster.broker_config) or default

    return TopicPromise(
        min_isr=int(setting("min.insync.replicas", "1")),
        unclean=setting("unclean.leader.election.enable", "false").lower() == "true",
        flush_messages=int(setting("flush.messages", "0")),
    )
