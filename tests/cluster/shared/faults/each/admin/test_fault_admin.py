"""Changes of a real cluster that it makes by itself: each takes effect, is proven, and is undone."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ResourceType,
)

from compose.admin_protocol import Resource
from compose.cluster.start import DockerCluster
from compose.errors import AdminRefused
from compose.kafka.view import ClusterView
from faults.schedule.record import FaultEvent, FaultRecord
from shared.faults.fault_runs import run
from shared.faults.fault_traffic import traffic, wait_for_acks

ELR = "eligible.leader.replicas.version"
MIN_ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
NEVER = str(2**63 - 1)
"""Of `flush.messages`: Kafka leaves it to the kernel."""

Words = dict[str, object]
MakeTopic = Callable[..., str]


def words(do: str, **more: object) -> Words:
    """A step that holds for 4 s."""
    return {"name": do, "at": "1500ms", "do": do, "for": "4s", **more}


def evidence(record: FaultRecord, part: str = "effect") -> dict[str, Any]:
    """The values that prove the effect, or the recovery."""
    values = json.loads(record.evidence)[part]
    assert isinstance(values, dict)
    return values


def at_effect(name: str, look: Callable[[], Any]) -> tuple[list[Any], Callable[[FaultEvent], None]]:
    """What was to be seen when the effect of a step was proven."""
    seen: list[Any] = []

    def on_event(event: FaultEvent) -> None:
        print(event)
        if event.name == name and event.stage == "effect":
            seen.append(look())

    return seen, on_event


def proven(*records: FaultRecord) -> None:
    """Effect and recovery of each."""
    for record in records:
        assert (record.proven, record.recovered) == (True, True), record.evidence


def test_fewer_replicas_and_all_again(
    cluster: DockerCluster, view: ClusterView, make_topic: MakeTopic
) -> None:
    """Three, two, three, under load: the brokers report each, and acknowledge throughout."""
    topic = make_topic(partitions=3)
    before = [state.replicas for state in view.describe(topic)]
    seen, on_event = at_effect("reassign", lambda: [state.replicas for state in view.describe(topic)])
    with traffic(cluster.bootstrap, topic, partitions=3) as acked:
        (move,) = run(cluster, view, words("reassign", topic=topic, to="2 replicas"), on_event=on_event)
        wait_for_acks(acked, 300)
    proven(move)
    assert seen == [[replicas[:2] for replicas in before]]
    assert [state.replicas for state in view.describe(topic)] == before
    assert all(set(state.isr) == set(state.replicas) for state in view.describe(topic))


def test_a_leader_that_is_moved_away(
    cluster: DockerCluster, view: ClusterView, make_topic: MakeTopic
) -> None:
    """The other two replicas take over without it, and it comes back as a follower."""
    topic = make_topic()
    (state,) = view.describe(topic)
    others = "+".join(str(broker) for broker in state.replicas if broker != state.leader)
    seen, on_event = at_effect("reassign", lambda: view.describe(topic)[0].leader)
    with traffic(cluster.bootstrap, topic, partitions=1) as acked:
        (move,) = run(cluster, view, words("reassign", topic=topic, to=others), on_event=on_event)
        wait_for_acks(acked, 100)
    proven(move)
    assert seen[0] != state.leader
    assert view.describe(topic)[0].replicas == state.replicas


def test_planned_moves(cluster: DockerCluster, view: ClusterView, make_topic: MakeTopic) -> None:
    """Rotated replicas have another preferred leader: each leader moves there, and back, without a crash."""
    topic = make_topic(partitions=3)
    leaders = [state.leader for state in view.describe(topic)]
    there = {"after": "reassign.begin + 3s", "do": "preferred-election", "topic": topic, "for": "2s"}
    back = {"after": "reassign.recovered + 1s", "do": "preferred-election", "topic": topic, "for": "2s"}
    with traffic(cluster.bootstrap, topic, partitions=3) as acked:
        records = run(
            cluster,
            view,
            {**words("reassign", topic=topic, to="rotated"), "for": "8s"},
            {"name": "there", **there},
            {"name": "back", **back},
        )
        wait_for_acks(acked, 300)
    proven(*records)
    moved = evidence(records[1])
    assert [moved[f"{topic}-{number}"]["leader"] for number in range(3)] == [
        [leader, leader % 3 + 1] for leader in leaders
    ]
    assert [state.leader for state in view.describe(topic)] == leaders


def test_an_unclean_election(cluster: DockerCluster, view: ClusterView, make_topic: MakeTopic) -> None:
    """The last replica in sync dies; a person gives the partition to another one, which the topic forbids."""
    topic = make_topic(config={MIN_ISR: "1", UNCLEAN: "false"})
    place, leader = f"({topic}-0)", f"leader({topic}-0)"
    with traffic(cluster.bootstrap, topic, partitions=1):
        cut, kill, force = run(
            cluster,
            view,
            {"name": "cut", "at": "1500ms", "do": "partition", "edges": f"followers{place} -> {leader}"}
            | {"for": "25s"},
            {"name": "kill", "when": f"isr{place} == {{leader}}", "within": "20s", "do": "kill"}
            | {"target": leader, "for": "12s"},
            {"name": "force", "when": f"leader{place} == none", "within": "20s", "do": "unclean-election"}
            | {"topic": topic, "for": "2s"},
        )
    proven(cut, kill, force)
    moved = evidence(force)[f"{topic}-0"]
    assert moved["leader"][0] == -1
    assert moved["leader"][1] not in (*kill.nodes, *moved["isr_before"])
    assert moved["leader_epoch"][1] > moved["leader_epoch"][0]


@pytest.mark.parametrize("do", ["create-topic", "create-partitions"])
def test_a_topic_of_its_own(cluster: DockerCluster, view: ClusterView, do: str) -> None:
    """Every broker knows each leader; afterwards no broker knows the topic."""
    seen, on_event = at_effect(do, lambda: view.describe(f"fault-{do}"))
    (made,) = run(cluster, view, words(do, partitions=6), on_event=on_event)
    proven(made)
    assert [len(state.replicas) for state in seen[0]] == [3] * 6
    assert set(evidence(made)["leaders"]) == {f"fault-{do}-{number}" for number in range(6)}
    assert view.describe(f"fault-{do}") == ()


def described(cluster: DockerCluster, resource: ConfigResource, key: str) -> str:
    """A setting by the word of another client."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    found = admin.describe_configs([resource])[resource].result(30)
    return str(found[key].value)


@pytest.mark.parametrize(
    ("before", "changed"),
    [
        ({MIN_ISR: "2", UNCLEAN: "false"}, {MIN_ISR: "1", UNCLEAN: "true"}),
        ({"flush.messages": NEVER}, {"flush.messages": "1"}),
    ],
    ids=["promises less", "flushes each message"],
)
def test_settings_of_a_topic(
    cluster: DockerCluster,
    view: ClusterView,
    make_topic: MakeTopic,
    before: dict[str, str],
    changed: dict[str, str],
) -> None:
    """Each broker says them; so does a client of another make, during and after."""
    topic = make_topic(config={MIN_ISR: "2"})
    resource = ConfigResource(ResourceType.TOPIC, topic)

    def said() -> dict[str, str]:
        return {key: described(cluster, resource, key) for key in changed}

    assert said() == before
    seen, on_event = at_effect("config", said)
    (record,) = run(cluster, view, words("config", topic=topic, set=changed), on_event=on_event)
    proven(record)
    assert seen == [changed]
    assert evidence(record)["by_brokers"] == [1, 2, 3]
    assert said() == before


@pytest.mark.parametrize(
    ("target", "setting", "brokers"),
    [
        ("brokers", "num.replica.fetchers=2", [1, 2, 3]),
        ("brokers", "num.network.threads=4", [1, 2, 3]),
        ("brokers", f"{MIN_ISR}=1", [1, 2, 3]),
        ("brokers", f"{UNCLEAN}=true", [1, 2, 3]),
        ("node 2", "num.io.threads=4", [2]),
    ],
)
def test_a_setting_of_brokers(
    cluster: DockerCluster, view: ClusterView, target: str, setting: str, brokers: list[int]
) -> None:
    """Of all by default, or of one: each is asked about itself, also by a client of another make."""
    key, _, value = setting.partition("=")
    resources = [ConfigResource(ResourceType.BROKER, str(broker)) for broker in brokers]
    before = cluster.admin.settings(Resource(kind="broker", name=""), [key])
    seen, on_event = at_effect("config", lambda: [described(cluster, each, key) for each in resources])
    (changed,) = run(cluster, view, words("config", target=target, set=setting), on_event=on_event)
    proven(changed)
    assert seen == [[value] * len(brokers)]
    assert evidence(changed)["by_brokers"] == brokers
    assert cluster.admin.settings(Resource(kind="broker", name=""), [key]) == before


def test_elr_off_and_on(cluster: DockerCluster, view: ClusterView) -> None:
    """Each broker says so, and the metadata log has both levels."""
    (off,) = run(cluster, view, words("feature", set=f"{ELR}=0"))
    proven(off)
    assert {known.level for known in cluster.admin.features(ELR).values()} == {1}
    data = [each["data"] for each in cluster.metadata_records() if each["type"] == "FEATURE_LEVEL_RECORD"]
    levels = [each["featureLevel"] for each in data if each["name"] == ELR]  # type: ignore[index]
    assert levels[-2:] == [0, 1]


def test_a_level_that_the_release_does_not_know(cluster: DockerCluster, view: ClusterView) -> None:
    """Nothing is changed, and the reason names what it knows."""
    before = cluster.admin.features("metadata.version")
    (older,) = run(cluster, view, words("feature", set="metadata.version=1"))
    assert not older.proven
    assert "knows metadata.version from" in json.loads(older.evidence)["reason"]
    assert cluster.admin.features("metadata.version") == before


def test_kafkas_refusal_has_its_reason(cluster: DockerCluster, make_topic: MakeTopic) -> None:
    """In the words of the controller."""
    topic = make_topic()
    with pytest.raises(AdminRefused, match=f"Kafka refuses {topic}-0: INVALID_REPLICA_ASSIGNMENT"):
        cluster.admin.reassign({(topic, 0): (99,)})
    with pytest.raises(AdminRefused, match=f"Kafka refuses {topic}: INVALID_CONFIG"):
        cluster.admin.change_settings(Resource(kind="topic", name=topic), {MIN_ISR: "many"})
