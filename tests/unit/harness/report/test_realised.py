"""What the contract is computed from: a topic's settings, else the brokers', else Kafka's defaults."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.run.run_directories import make_run

from checkers.contract.realised.settings import ProducerPromise, Realised
from checkers.contract.realised.terms import TopicPromise
from checkers.contract.realised.timeline import Clock
from checkers.history.rows import ConfigChange, Context
from harness.report.realised import realised
from harness.run_directory.manifest import read_manifest


def realised_of(tmp_path: Path, configs: Sequence[ConfigChange] = (), **facts: Any) -> Realised:
    return realised(
        read_manifest(make_run(tmp_path, None, **facts)), Context(configs=configs), tmp_path / "history"
    )


def feature(name: str, level: str, log_offset: int = 0, *, removed: bool = False) -> ConfigChange:
    return ConfigChange(
        at_ms=0, log_offset=log_offset, kind="feature", name=name, value=level, removed=removed
    )


VERSION, ELR = feature("metadata.version", "25"), "eligible.leader.replicas.version"


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize(
    ("configs", "on"),
    [
        ([VERSION, feature(ELR, "1")], True),
        ([VERSION], False),
        ([VERSION, feature(ELR, "0")], False),
        ([VERSION, feature(ELR, "1", 9), feature(ELR, "0", 4)], True),
        ([VERSION, feature(ELR, "1", 4), feature(ELR, "0", 9)], False),
        ([VERSION, feature(ELR, "1", 4), feature(ELR, "", 9, removed=True)], False),
    ],
)
def test_elr_is_on_if_the_cluster_has_finalized_it_whatever_was_asked_for(
    tmp_path: Path, asked: bool, configs: Sequence[ConfigChange], on: bool
) -> None:
    assert realised_of(tmp_path, configs, cluster=BARE_CLUSTER | {"elr": asked}).elr is on


@pytest.mark.parametrize("asked", [True, False])
def test_without_any_feature_elr_is_as_the_cluster_was_formatted(tmp_path: Path, asked: bool) -> None:
    other = ConfigChange(at_ms=0, kind="broker", name="1", key=ELR, value="1")
    assert realised_of(tmp_path, [other], cluster=BARE_CLUSTER | {"elr": asked}).elr is asked


def test_a_leader_counts_no_more_in_sync_replicas_than_there_are(tmp_path: Path) -> None:
    topic = {"name": "orders", "partitions": 1, "replication": 2, "config": {"min.insync.replicas": "3"}}
    run = realised_of(tmp_path, topics=[topic])
    assert run.topics["orders"].min_isr == 2


def test_the_manifest_names_what_was_realised(tmp_path: Path) -> None:
    shape = {"partitions": 1, "replication": 3}
    run = realised_of(
        tmp_path,
        clock={"monotonic_ns": 1, "wall_ns": 2},
        producers=[{"producer": 3, "acks": "1", "idempotence": False}],
        topics=[
            {"name": "a", "config": {"min.insync.replicas": "2", "flush.messages": "1"}, **shape},
            {
                "name": "b",
                "config": {"unclean.leader.election.enable": "True", "retention.ms": "-1"},
                **shape,
            },
        ],
        cluster={
            "brokers": 3,
            "controllers": 3,
            "elr": False,
            "broker_config": {
                "min.insync.replicas": "3",
                "log.flush.interval.messages": "9",
                "log.retention.hours": "48",
            },
        },
    )
    assert run.producers == {3: ProducerPromise(acks="1", idempotence=False)}
    assert run.topics == {
        "a": TopicPromise(min_isr=2, unclean=False, flush_messages=1, retention_ms=172_800_000),
        "b": TopicPromise(min_isr=3, unclean=True, flush_messages=9, retention_ms=-1),
    }
    assert run.topic("c") is None
    assert (run.elr, run.clock) == (False, Clock(monotonic_ns=1, wall_ns=2))


def test_without_any_setting_kafkas_defaults_hold(tmp_path: Path) -> None:
    run = realised_of(
        tmp_path, topics=[{"name": "a", "partitions": 1, "replication": 3}], cluster=BARE_CLUSTER
    )
    assert run.topics == {"a": TopicPromise(min_isr=1, unclean=False, flush_messages=0)}


def test_a_run_that_names_no_producer_is_held_to_the_strictest_promise(tmp_path: Path) -> None:
    assert realised_of(tmp_path, producers=[]).producer(4) == ProducerPromise(acks="all", idempotence=True)


BARE_CLUSTER = {"brokers": 3, "controllers": 3, "elr": True}
