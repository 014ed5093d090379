"""A real cluster goes to another release under load, finalizes its features, and is refused the way back; and
what is not done is not proven.

The cluster is one of its own, of which every node is another one at the end: what is done to it is done once,
in order, and the tests read what it has left.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from fakes.run.switched_off import SWITCHED_OFF
from fakes.world.ignoring import Ignoring
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks
from shared.faults.switched_off_runs import healed_late

from compose.cluster.start import DockerCluster, start
from compose.kafka.broker_log import parse
from compose.kafka.view import ClusterView
from compose.setup import prepare
from compose.spec.topology import Topology
from faults.schedule.record import FaultRecord

OLDER, NEWER = "4.0.0", "4.3.1"
LEVELS = [25, 30]
"""Of metadata.version: 4.0-IV3 and 4.3-IV0."""
TOPIC, PARTITIONS = "orders", 3
ROLL: Mapping[str, object] = {
    "name": "roll",
    "at": "1s",
    "do": "rolling-upgrade",
    "target": "nodes",
    "release": NEWER,
    "for": "0s",
}
FINALIZE: Mapping[str, object] = {"name": "finalize", "at": "0s", "do": "finalize", "for": "1s"}
ROLL_OFF = SWITCHED_OFF["rolling-upgrade"]
BACK: Mapping[str, object] = {
    "name": "back",
    "at": "0s",
    "do": "refused-downgrade",
    "release": OLDER,
    "for": "1s",
}
PATIENCE_S, SHORT_S = 20.0, 5.0
"""A restart to full ISR takes 3 to 6.4 s."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[DockerCluster]:
    """Three brokers and three controllers of the older release, which may get the newer one."""
    for release in (OLDER, NEWER):
        prepare.ensure_images(release, on_line=lambda line: None)
    with start(Topology(kafka=OLDER, later=(NEWER,)), run_id=f"upgrade-{os.getpid()}") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def records(cluster: DockerCluster) -> dict[str, FaultRecord]:
    """What is done, in this order: by name of the step, with "not-" before it where nothing is changed.

    A roll whose node is started late, and keeps its release, leaves all as it was.
    """
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topic = NewTopic(TOPIC, PARTITIONS, 3, config={"min.insync.replicas": "2"})
    admin.create_topics([topic])[TOPIC].result(30)
    cluster.begin_run()  # as one that has booted before its run
    found: dict[str, FaultRecord] = {}
    unchanged = Ignoring(cluster, *SWITCHED_OFF["finalize"].effect, *SWITCHED_OFF["refused-downgrade"].effect)
    with ClusterView(cluster.bootstrap) as view:
        view.wait_until_settled(TOPIC, within_s=30)
        with traffic(cluster.bootstrap, TOPIC, partitions=PARTITIONS) as acked:
            with pytest.MonkeyPatch.context() as shorter:
                shorter.setattr("faults.kinds.process.roll.PATIENCE_S", PATIENCE_S)
                without = Ignoring(cluster, *ROLL_OFF.effect)
                (found["not-roll"],) = run(without, view, {**ROLL, "target": "node 1"})
                shorter.setattr("faults.kinds.process.roll.PATIENCE_S", SHORT_S)
                healed_late(without, view, ROLL_OFF, *ROLL_OFF.steps("late-roll", TOPIC, newer=NEWER))
            (found["roll"],) = run(cluster, view, ROLL)
            wait_for_acks(acked, 100)
            with pytest.MonkeyPatch.context() as shorter:
                shorter.setattr("faults.schedule.scheduler.RECOVERY_S", SHORT_S)
                (found["not-finalize"],) = run(unchanged, view, FINALIZE)
            (found["finalize"],) = run(cluster, view, FINALIZE)
            (found["back"],) = run(cluster, view, BACK)
            (found["not-back"],) = run(unchanged, view, BACK)
            wait_for_acks(acked, 100)
        view.wait_for_full_isr([TOPIC], within_s=30)
    return found


def effect(record: FaultRecord) -> dict[str, Any]:
    """The values that prove the effect."""
    values = json.loads(record.evidence)["effect"]
    assert isinstance(values, dict)
    return values


@pytest.mark.parametrize("name", ["roll", "finalize", "back"])
def test_what_is_done_is_proven(records: dict[str, FaultRecord], name: str) -> None:
    assert records[name].proven, records[name].evidence
    assert records[name].recovered, records[name].evidence


@pytest.mark.parametrize("name", ["not-roll", "not-finalize", "not-back"])
def test_what_is_not_done_is_not_proven(records: dict[str, FaultRecord], name: str) -> None:
    assert not records[name].proven, records[name].evidence


def test_a_node_that_is_started_as_it_was_is_named(records: dict[str, FaultRecord]) -> None:
    """It was stopped and is back, and that is not enough."""
    skipped = records["not-roll"]
    assert skipped.down == (1,)
    assert skipped.recovered, skipped.evidence
    assert f"its log names Kafka {OLDER}, to be {NEWER}" in skipped.evidence


def test_controllers_go_first_then_brokers_and_each_is_a_new_process_of_the_release(
    cluster: DockerCluster, records: dict[str, FaultRecord]
) -> None:
    shown = effect(records["roll"])
    assert shown["order"] == [*cluster.controllers, *cluster.brokers]
    assert records["roll"].down == tuple(sorted(shown["order"]))
    for node in map(str, cluster.brokers):
        assert shown["broker_epochs_before"][node] >= 0
        assert shown["newest_metadata_version_before"][node] == LEVELS[0]
        assert shown["newest_metadata_version"][node] == LEVELS[1]
    for node in shown["order"]:
        assert cluster.release_of(node) == NEWER
        assert cluster.reported_release(node) == NEWER


def test_the_logs_of_the_run_name_both_releases(
    cluster: DockerCluster, records: dict[str, FaultRecord], tmp_path: Path
) -> None:
    """Also of a node that named the older one before the run."""
    assert records["roll"].proven
    cluster.collect(tmp_path)
    for node in (*cluster.controllers, *cluster.brokers):
        named = [
            line.line.split("Kafka version: ")[1].split()[0]
            for line in parse((tmp_path / str(node) / "server.log").read_text())
            if line.kind == "version"
        ]
        assert list(dict.fromkeys(named)) == [OLDER, NEWER], node


def test_a_broker_of_either_release_says_from_where_it_fetches(
    cluster: DockerCluster, records: dict[str, FaultRecord], tmp_path: Path
) -> None:
    """The wording differs: an end point is printed by a class of another kind."""
    assert records["roll"].proven
    cluster.collect(tmp_path)
    for node in cluster.brokers:
        text = (tmp_path / str(node) / "server.log").read_text()
        lines = [line for line in parse(text) if line.kind == "fetcher-start"]
        assert len(lines) == text.count(" -> InitialFetchState(") >= 4
        assert {line.topic for line in lines} == {TOPIC}
        assert {line.partition for line in lines} <= set(range(PARTITIONS))
        assert min(min(line.leader_epoch, line.offset) for line in lines) >= 0
        assert {re.findall(r"BrokerEndPoint(.)", line.line)[0] for line in lines} == {"(", "["}, node


def test_every_feature_is_at_the_level_of_the_release(
    cluster: DockerCluster, records: dict[str, FaultRecord]
) -> None:
    levels = effect(records["finalize"])["levels"]
    assert levels["metadata.version"] == LEVELS
    assert levels["eligible.leader.replicas.version"] == [0, 1]
    said = cluster.admin.features("metadata.version")
    assert {node: known.level for node, known in said.items()} == dict.fromkeys(cluster.brokers, LEVELS[1])


def test_kafka_says_why_there_is_no_way_back(records: dict[str, FaultRecord]) -> None:
    shown = effect(records["back"])
    assert "downgrade" in shown["refused"]
    assert (shown["asked"], shown["level"]) == tuple(LEVELS)
