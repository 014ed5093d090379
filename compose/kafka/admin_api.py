"""Requests that change a cluster, or ask one broker what it knows of a change. Layouts: Kafka's message
definitions, as in broker_api.py.

Any broker takes a change: it passes it on to the active controller, whose answer it returns (KIP-590). Every
function raises OSError or ValueError if the broker does not answer in time, or not as it should.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from compose.admin_protocol import ElectionKind, Feature, Place, Quorum, Resource
from compose.kafka.broker_api import API_VERSIONS, offered
from compose.kafka.wire import CLIENT_ID, Connection, Reader, Writer

CREATE_TOPICS, CREATE_TOPICS_VERSION = 19, 5
DELETE_TOPICS, DELETE_TOPICS_VERSION = 20, 5
DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION = 32, 4
CREATE_PARTITIONS, CREATE_PARTITIONS_VERSION = 37, 2
ELECT_LEADERS, ELECT_LEADERS_VERSION = 43, 2
ALTER_CONFIGS, ALTER_CONFIGS_VERSION = 44, 1
REASSIGN, REASSIGN_VERSION = 45, 0
DESCRIBE_QUORUM, DESCRIBE_QUORUM_VERSION = 55, 1
UPDATE_FEATURES, UPDATE_FEATURES_VERSION = 57, 1
FEATURES_VERSION = 4
"""The newest version of ApiVersions: an older one leaves out a feature whose oldest level is 0 (KAFKA-17011).
The oldest that lists features at all is 3."""

SET = 0
UPGRADE, SAFE_DOWNGRADE = 1, 2
RESOURCE_TYPES = {"topic": 2, "broker": 4}
ELECTION_TYPES: Mapping[ElectionKind, int] = {"preferred": 0, "unclean": 1}
SUPPORTED_TAG, FINALIZED_TAG = 0, 2
METADATA_TOPIC = "__cluster_metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one part of a change: Kafka's error code, 0 for none, and its words, if it has any."""

    of: str
    error: int
    reason: str


def reassign(
    connection: Connection, replicas: Mapping[Place, tuple[int, ...]], timeout_ms: int
) -> tuple[Outcome, ...]:
    """AlterPartitionReassignments."""
    body = Writer().fixed("i", timeout_ms)

    def partition(place: Place) -> object:
        return body.fixed("i", place[1]).ids(replicas[place]).tags()

    _by_topic(body, replicas, partition).tags()
    answer = connection.ask(REASSIGN, REASSIGN_VERSION, body)
    answer.fixed("i")
    whole = Outcome(of="the reassignment", error=answer.fixed("h"), reason=answer.text())
    return (whole, *_by_partition(answer))


def elect(
    connection: Connection, partitions: Collection[Place], kind: ElectionKind, timeout_ms: int
) -> tuple[Outcome, ...]:
    """ElectLeaders."""
    body = Writer().fixed("b", ELECTION_TYPES[kind])
    _by_topic(body, partitions, lambda place: body.fixed("i", place[1])).fixed("i", timeout_ms).tags()
    answer = connection.ask(ELECT_LEADERS, ELECT_LEADERS_VERSION, body)
    answer.fixed("i")
    whole = Outcome(of="the election", error=answer.fixed("h"), reason="")
    return (whole, *_by_partition(answer))


def create_topic(
    connection: Connection, name: str, *, partitions: int, replication: int, timeout_ms: int
) -> tuple[Outcome, ...]:
    """CreateTopics, of one topic with the brokers' settings."""
    body = Writer()

    def topic(name: str) -> object:
        body.text(name).fixed("ih", partitions, replication)
        return body.array((), _nothing).array((), _nothing).tags()

    body.array([name], topic).fixed("i?", timeout_ms, False).tags()
    answer = connection.ask(CREATE_TOPICS, CREATE_TOPICS_VERSION, body)
    answer.fixed("i")
    return answer.array(lambda: _created(answer))


def delete_topic(connection: Connection, name: str, *, timeout_ms: int) -> tuple[Outcome, ...]:
    """DeleteTopics, of one topic."""
    body = Writer()
    body.array([name], body.text).fixed("i", timeout_ms).tags()
    answer = connection.ask(DELETE_TOPICS, DELETE_TOPICS_VERSION, body)
    answer.fixed("i")
    return answer.array(lambda: _named(answer))


def add_partitions(connection: Connection, name: str, *, count: int, timeout_ms: int) -> tuple[Outcome, ...]:
    """CreatePartitions, of one topic; the controller places them."""
    body = Writer()
    # A null array of assignments.
    body.array([name], lambda name: body.text(name).fixed("i", count).count(0).tags())
    answer = connection.ask(
        CREATE_PARTITIONS, CREATE_PARTITIONS_VERSION, body.fixed("i?", timeout_ms, False).tags()
    )
    answer.fixed("i")
    return answer.array(lambda: _named(answer))


def change_settings(connection: Connection, of: Resource, settings: Mapping[str, str]) -> tuple[Outcome, ...]:
    """IncrementalAlterConfigs, of one resource."""
    body = Writer()

    def setting(key: str) -> object:
        return body.text(key).fixed("b", SET).text(settings[key]).tags()

    def resource(of: Resource) -> object:
        body.fixed("b", RESOURCE_TYPES[of.kind]).text(of.name)
        return body.array(settings, setting).tags()

    body.array([of], resource).fixed("?", False).tags()
    answer = connection.ask(ALTER_CONFIGS, ALTER_CONFIGS_VERSION, body)
    answer.fixed("i")
    return answer.array(lambda: _of_resource(answer))


def settings(connection: Connection, of: Resource, keys: Collection[str]) -> dict[str, str]:
    """DescribeConfigs, of one resource: the values in effect by this broker's word.

    ValueError if it does not know the resource.
    """
    body = Writer()

    def resource(of: Resource) -> object:
        body.fixed("b", RESOURCE_TYPES[of.kind]).text(of.name)
        return body.array(keys, body.text).tags()

    body.array([of], resource).fixed("??", False, False).tags()
    answer = connection.ask(DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION, body)
    answer.fixed("i")
    found: dict[str, str] = {}
    for rows in answer.array(lambda: _described(answer, of)):
        found.update(rows)
    return found


def set_feature(
    connection: Connection, name: str, level: int, *, upgrade: bool, only_check: bool, timeout_ms: int
) -> tuple[Outcome, ...]:
    """UpdateFeatures, of one feature; down only where Kafka calls it safe."""
    body = Writer().fixed("i", timeout_ms)

    def feature(name: str) -> object:
        return body.text(name).fixed("hb", level, UPGRADE if upgrade else SAFE_DOWNGRADE).tags()

    body.array([name], feature).fixed("?", only_check).tags()
    answer = connection.ask(UPDATE_FEATURES, UPDATE_FEATURES_VERSION, body)
    answer.fixed("i")
    whole = Outcome(of=name, error=answer.fixed("h"), reason=answer.text())
    return (whole, *answer.array(lambda: _named(answer)))


def feature(connection: Connection, name: str) -> Feature | None:
    """What one broker says of a feature in ApiVersions; None if it does not know it."""
    newest = min(FEATURES_VERSION, offered(connection)[API_VERSIONS][1])
    body = Writer().text(CLIENT_ID.decode()).text("1").tags()
    answer = connection.ask(API_VERSIONS, newest, body, tagged_answer=False)
    error = answer.fixed("h")
    if error:
        raise ValueError(f"ApiVersions is refused with error {error}")
    answer.array(lambda: (answer.take(6), answer.tagged()))
    answer.fixed("i")
    tagged = answer.tagged()
    supported = _levels(tagged.get(SUPPORTED_TAG), name)
    if supported is None:
        return None
    finalized = _levels(tagged.get(FINALIZED_TAG), name)
    return Feature(level=max(finalized) if finalized else 0, oldest=supported[0], newest=supported[1])


def quorum(connection: Connection) -> Quorum:
    """DescribeQuorum (KIP-595). ValueError while no controller is active, as the broker knows."""
    body = Writer()

    def topic(name: str) -> object:
        return body.text(name).array([0], lambda number: body.fixed("i", number).tags()).tags()

    body.array([METADATA_TOPIC], topic).tags()
    answer = connection.ask(DESCRIBE_QUORUM, DESCRIBE_QUORUM_VERSION, body)
    error = answer.fixed("h")
    if error:
        raise ValueError(f"DescribeQuorum is refused with error {error}")
    found = [each for topics in answer.array(lambda: _of_quorum(answer)) for each in topics]
    if len(found) != 1:
        raise ValueError(f"DescribeQuorum answers for {len(found)} partitions of one")
    return found[0]


def _of_quorum(answer: Reader) -> tuple[Quorum, ...]:
    answer.text()
    partitions = answer.array(lambda: _voters(answer))
    answer.tags()
    return partitions


def _voters(answer: Reader) -> Quorum:
    answer.fixed("i")
    error, leader = answer.fixed("h"), answer.fixed("i")
    answer.fixed("i")
    answer.fixed("q")
    voters = answer.array(lambda: _log_end(answer))
    answer.array(lambda: _log_end(answer))
    answer.tags()
    if error or leader < 0:
        raise ValueError(f"no controller is active: error {error}, leader {leader}")
    return Quorum(leader=leader, log_ends=dict(voters))


def _log_end(answer: Reader) -> tuple[int, int]:
    """A voter, or a broker that follows: its id, and its log end."""
    node, log_end = answer.fixed("i"), answer.fixed("q")
    answer.fixed("q")
    answer.fixed("q")
    answer.tags()
    return node, log_end


def _by_topic(body: Writer, places: Iterable[Place], partition: Callable[[Place], object]) -> Writer:
    """An array of topics, each with an array of its partitions."""
    sought = list(places)

    def topic(name: str) -> object:
        return body.text(name).array([place for place in sought if place[0] == name], partition).tags()

    return body.array(dict.fromkeys(name for name, _ in sought), topic)


def _by_partition(answer: Reader) -> tuple[Outcome, ...]:
    def topic() -> tuple[Outcome, ...]:
        name = answer.text()
        outcomes = answer.array(lambda: _of_partition(answer, name))
        answer.tags()
        return outcomes

    return tuple(outcome for outcomes in answer.array(topic) for outcome in outcomes)


def _of_partition(answer: Reader, topic: str) -> Outcome:
    number, error, reason = answer.fixed("i"), answer.fixed("h"), answer.text()
    answer.tags()
    return Outcome(of=f"{topic}-{number}", error=error, reason=reason)


def _named(answer: Reader) -> Outcome:
    name, error, reason = answer.text(), answer.fixed("h"), answer.text()
    answer.tags()
    return Outcome(of=name, error=error, reason=reason)


def _created(answer: Reader) -> Outcome:
    name, error, reason = answer.text(), answer.fixed("h"), answer.text()
    answer.fixed("i")
    answer.fixed("h")
    answer.array(lambda: (answer.text(), answer.text(), answer.take(3), answer.tagged()))
    answer.tags()
    return Outcome(of=name, error=error, reason=reason)


def _of_resource(answer: Reader) -> Outcome:
    error, reason, _ = answer.fixed("h"), answer.text(), answer.fixed("b")
    name = answer.text()
    answer.tags()
    return Outcome(of=name, error=error, reason=reason)


def _described(answer: Reader, of: Resource) -> tuple[tuple[str, str], ...]:
    error, reason, _ = answer.fixed("h"), answer.text(), answer.fixed("b")
    answer.text()
    rows = answer.array(lambda: _setting(answer))
    answer.tags()
    if error:
        raise ValueError(f"no settings of {of.kind} {of.name}: error {error}, {reason}")
    return rows


def _setting(answer: Reader) -> tuple[str, str]:
    key, value = answer.text(), answer.text()
    answer.take(3)
    answer.array(lambda: (answer.text(), answer.text(), answer.take(1), answer.tagged()))
    answer.fixed("b")
    answer.text()
    answer.tags()
    return key, value


def _levels(raw: bytes | None, name: str) -> tuple[int, int] | None:
    """The two levels of a feature in a tagged array; None if it is not in there.

    Of the supported features they are the oldest and the newest; of the finalized ones, the level twice.
    """
    if raw is None:
        return None
    inside = Reader(raw)

    def row() -> tuple[str, tuple[int, int]]:
        feature, levels = inside.text(), (inside.fixed("h"), inside.fixed("h"))
        inside.tags()
        return feature, levels

    return dict(inside.array(row)).get(name)


def _nothing(_: object) -> None:
    """For an array without items."""
