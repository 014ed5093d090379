"""A configuration as a file: the cluster as in a scenario, one topic, the settings of its producers.

docs/accept.md describes every key. What cannot be is refused with file, line and column, before anything
else; a cluster or a topic that is only larger than a run's is none of that.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, ValidationError

from checkers.promises.clauses import KINDS
from checkers.promises.search import Goal
from compose.releases.settings import settings_of
from compose.spec.topology import MOST_NODES, counts_replicas
from harness.campaign.accept.configuration.producer_settings import refused
from harness.errors import ScenarioError, UsageError
from harness.scenario import model
from harness.scenario.cluster.deletion import KEPT_BY_BROKERS
from harness.scenario.cluster.kafka_settings import FETCH_WAIT, LAG, MIN_ISR, lag_below_wait
from harness.scenario.model import ClusterPart, KafkaConfig, Part, Scenario, TopicPart, as_words
from harness.scenario.rules.cluster import cluster, release
from harness.scenario.rules.contradiction import Contradiction
from harness.scenario.rules.settings import settings
from harness.scenario.rules.topics import topics
from harness.scenario.text.complaints import at, complaints, dotted, unknown
from harness.scenario.text.positions import load, override
from harness.scenario.text.yaml_tree import MOST_CHARACTERS

PROFILES = Path(__file__).parent / "profiles"
TOPIC = "orders"
"""The name of the topic in the runs that prove a configuration."""
ENDINGS = (*KINDS, *(f"search-{goal}" for goal in get_args(Goal)))
"""By which the name of each scenario differs from that of its configuration."""
MOST_LETTERS = model.MOST_LETTERS - max(len(f"-{ending}") for ending in ENDINGS)
"""Of a configuration's name."""

OF_EACH_CELL = "each cell of the matrix has its own"
NOT_WITHOUT_ACKS_ALL = "the cells with acks=0 and acks=1 cannot have it"
NOT_OF_A_MATRIX: Mapping[tuple[str, ...], str] = {
    ("topic", "replication"): OF_EACH_CELL,
    ("topic", "config", MIN_ISR): OF_EACH_CELL,
    ("topic", "config", "unclean.leader.election.enable"): OF_EACH_CELL,
    ("producer", "acks"): OF_EACH_CELL,
    ("producer", "transactional.id"): NOT_WITHOUT_ACKS_ALL,
    ("require",): "a matrix requires nothing",
}
"""What cells do not have in common, and why."""


UNKNOWN_RACK = "not known"
Racks = Annotated[dict[str, Annotated[str, Field(min_length=1)]], BeforeValidator(as_words)]


class AcceptedCluster(ClusterPart):
    """The cluster, and the rack of each broker."""

    racks: Racks = Field(default={})
    """`UNKNOWN_RACK` for a broker whose rack nobody knows."""

    def combined_on(self, brokers: int) -> bool:
        """Whether the brokers of a run, of so many, are its controllers too."""
        return self.combined and self.controllers <= brokers

    def of(self, brokers: int) -> ClusterPart:
        """The cluster with so many brokers, as a scenario has it."""
        written = self.model_dump(exclude={"racks"}, exclude_unset=True)
        return ClusterPart(
            **written
            | {
                "brokers": brokers,
                "combined": self.combined_on(brokers),
                "broker_config": met(brokers, self.broker_config),
                "controller_config": met(brokers, self.controller_config),
            }
        )


class AcceptedTopic(Part):
    """The topic."""

    partitions: int = Field(default=6, ge=1)
    replication: int = Field(default=3, ge=1)
    config: KafkaConfig = Field(default={})


class AcceptFile(Part):
    """A whole configuration file."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=MOST_LETTERS)
    about: str = ""
    cluster: AcceptedCluster = AcceptedCluster()
    topic: AcceptedTopic = AcceptedTopic()
    producer: KafkaConfig = Field(default={})
    require: list[str] = Field(default=[])
    """Ids of clauses that it must have."""

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor number of the release."""
        major, minor, _ = self.cluster.kafka.split(".")
        return int(major), int(minor)

    @property
    def partitions(self) -> int:
        """Of the topic in a run."""
        return min(self.topic.partitions, model.MOST_PARTITIONS)

    def scenario(self) -> Scenario:
        """The topic, and a cluster of as many brokers as replicas, as a scenario without faults has them."""
        cluster = self.cluster.of(self.topic.replication)
        topic = TopicPart(name=TOPIC, **self.topic.model_dump() | {"partitions": self.partitions})
        return Scenario(name=self.name, cluster=cluster, topics=[topic])


def met(brokers: int, config: Mapping[str, str]) -> dict[str, str]:
    """Settings of which none asks for more replicas than there are brokers."""
    beyond = set(replicas_beyond(brokers, config))
    return {name: str(brokers) if name in beyond else value for name, value in config.items()}


def replicas_beyond(brokers: int, config: Mapping[str, str]) -> Iterator[str]:
    """The settings that do."""
    counts = ((name, value.strip()) for name, value in config.items() if counts_replicas(name))
    return (name for name, count in counts if count.isdecimal() and int(count) > brokers)


def read_configuration(name: str, sets: Sequence[str] = ()) -> AcceptFile:
    """The configuration of a profile's name, or of a file; `sets` are assignments such as "producer.acks=1".

    Raises UsageError, ScenarioError with one complaint a line.
    """
    text, filename = _found(name)
    return parse_configuration(text, filename, sets)


def parse_configuration(text: str, filename: str, sets: Sequence[str] = ()) -> AcceptFile:
    """The configuration in a text; `filename` stands in complaints. ScenarioError."""
    document = load(text, filename, what="a configuration")
    override(document, sets)
    try:
        asked = AcceptFile.model_validate(document.data)
    except ValidationError as error:
        raise ScenarioError(complaints(error, document, AcceptFile)) from None
    if found := _refused(asked):
        raise ScenarioError([at(document, each.path, each.text, of_key=each.of_key) for each in found])
    return asked


def parse_common(name: str, sets: Sequence[str] = ()) -> AcceptFile:
    """What all cells of a matrix have in common: Kafka's defaults, but for `sets`. ScenarioError."""
    asked = parse_configuration(f"name: {name}\n", name, sets)
    written = asked.model_dump(exclude_unset=True)
    wrong = [(path, why) for path, why in NOT_OF_A_MATRIX.items() if _has(written, path)]
    if asked.name != name:
        wrong.append((("name",), OF_EACH_CELL))
    if asked.producer.get("enable.idempotence", "false").strip().lower() == "true":
        wrong.append((("producer", "enable.idempotence"), f"{NOT_WITHOUT_ACKS_ALL}; allowed: false"))
    if wrong:
        raise ScenarioError([f"matrix: {dotted(path)}: {why}" for path, why in wrong])
    return asked


def _has(written: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Whether there is a value at the path."""
    first, *rest = path
    return first in written and (not rest or _has(written[first], rest))


def profiles() -> list[str]:
    """Names of the configurations that come with the tool."""
    return sorted(path.stem for path in PROFILES.glob("*.yaml"))


def _refused(asked: AcceptFile) -> list[Contradiction]:
    """What the first stage finds: first what is no cluster, then settings that the release does not take."""
    if found := [*_of_counts(asked)]:
        return found
    scenario = asked.scenario()
    for rules in ((topics, cluster, release), (settings,)):
        if found := [_here(each) for rule in rules for each in rule(scenario)]:
            return found
    return [*_of_nodes(asked), *_of_racks(asked), *_of_producer(asked), *_of_required(asked)]


def _of_counts(asked: AcceptFile) -> Iterator[Contradiction]:
    """What the asked cluster has no room for, whatever a run has."""
    brokers, replicas, controllers = asked.cluster.brokers, asked.topic.replication, asked.cluster.controllers
    if replicas > brokers:
        text = f"{replicas} replicas do not fit on {brokers} broker{'s' * (brokers > 1)}"
        yield Contradiction(path=("topic", "replication"), text=text)
    if replicas > MOST_NODES:
        text = f"{replicas}; a run has a broker for each replica, and {MOST_NODES} at most"
        yield Contradiction(path=("topic", "replication"), text=text)
    if asked.cluster.combined and controllers > brokers:
        text = f"{controllers} with {brokers} brokers; with combined roles each controller is a broker"
        yield Contradiction(path=("cluster", "controllers"), text=text)


def _of_nodes(asked: AcceptFile) -> Iterator[Contradiction]:
    """Settings, each of them well formed, with which no node starts: `KafkaConfig.validateValues`."""
    known = settings_of(asked.cluster.kafka, "broker")
    defaults = {name: known[name].default for name in (LAG, FETCH_WAIT)}
    for key in ("broker_config", "controller_config"):
        config: Mapping[str, str] = getattr(asked.cluster, key)
        if text := lag_below_wait({**defaults, **config}):
            name = LAG if LAG in config else FETCH_WAIT
            yield Contradiction(path=("cluster", key, name), text=text)
        kept = next((name for name in KEPT_BY_BROKERS if name in config), None)
        if kept is not None and int(config[kept]) == 0:
            text = "Kafka does not start with 0; allowed: at least 1, or -1 for ever"
            yield Contradiction(path=("cluster", key, kept), text=text)


def _of_racks(asked: AcceptFile) -> Iterator[Contradiction]:
    brokers = [str(number) for number in range(1, asked.cluster.brokers + 1)]
    for broker in asked.cluster.racks:
        if broker not in brokers:
            text = f"there is no broker {broker}; allowed: {', '.join(brokers)}"
            yield Contradiction(path=("cluster", "racks", broker), text=text, of_key=True)


def _of_producer(asked: AcceptFile) -> Iterator[Contradiction]:
    for name, text in refused(asked.producer, asked.cluster.kafka):
        yield Contradiction(path=("producer", name), text=text)


def _of_required(asked: AcceptFile) -> Iterator[Contradiction]:
    for place, name in enumerate(asked.require):
        if name not in KINDS:
            yield Contradiction(path=("require", place), text=unknown(name, KINDS))


def _here(each: Contradiction) -> Contradiction:
    """A contradiction of the scenario, at the place that it has in this file."""
    match each.path:
        case ("topics", 0, *rest):
            return replace(each, path=("topic", *rest))
        case _:
            return each


def _found(name: str) -> tuple[str, str]:
    """The text of a profile or of a file, and its name for messages. UsageError."""
    path = PROFILES / f"{name}.yaml" if name in profiles() else Path(name)
    shipped = path.parent == PROFILES
    is_file = path.exists() or name.endswith((".yaml", ".yml"))
    if not shipped and not (name and is_file):
        raise UsageError(f"accept: {unknown(name, profiles())}; or give the path of a file")
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(MOST_CHARACTERS + 1), path.name if shipped else str(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"{path}: cannot be read: {reason}") from None
