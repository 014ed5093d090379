"""The scenario file as typed data: every key there is, its unit and its default.

The models check one value at a time; what does not fit together is in harness/scenario/rules/.
docs/scenarios.md describes every key; a test compares its defaults with these.
"""

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from checkers.contract.realised.settings import Acks
from checkers.verdict.decide import Expectation
from compose.releases.settings import releases
from compose.spec.topology import DEFAULT_RELEASE, DEFAULT_VOLUME_BYTES, Topology
from harness.scenario.acceptance import AcceptLine, RequireLine
from harness.scenario.text.complaints import unknown
from harness.scenario.text.units import Duration, Interval, Rate, Size


def _as_word(value: object) -> object:
    """`acks: 1` and `acks: "1"` are the same to a person."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def as_words(value: object) -> object:
    """The values of a map as text, as Kafka's configuration has them; YAML reads some of them as numbers and
    booleans.
    """
    if not isinstance(value, dict):
        return value
    texts = {key: _config_text(item) for key, item in value.items()}
    for key, text in texts.items():
        if isinstance(text, str) and ENDLESS.fullmatch(text):
            raise ValueError(f"{key}: a number of {len(text)} digits; allowed: at most {MOST_DIGITS}")
    return texts


def _config_text(item: object) -> object:
    if isinstance(item, bool):
        return "true" if item else "false"
    return str(item) if isinstance(item, (int, float)) else item


RELEASE = r"^[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}$"
MOST_DIGITS = 40
"""Of a number among Kafka's settings: more than any of its types holds."""
ENDLESS = re.compile(rf"[+-]?\d{{{MOST_DIGITS + 1},}}")


def _release_text(value: object) -> object:
    """YAML reads `kafka: 4.3` as a number."""
    if isinstance(value, str) and re.match(RELEASE, value):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    raise ValueError(f"{unknown(str(value), releases())}".replace("unknown", "unknown release", 1))


MOST_LETTERS = 61
"""Of the name of a scenario."""
MOST_PARTITIONS = 1000
"""Of one topic."""
MOST_LINES = 200
"""Of `accept` and of `require`: each is compared with every other one."""
Release = Annotated[str, BeforeValidator(_release_text), Field(pattern=RELEASE)]
KafkaConfig = Annotated[dict[str, str], BeforeValidator(as_words)]


class Part(BaseModel):
    """Base of all parts: unknown keys are refused, nothing is converted silently, nothing changes later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class ClusterPart(Part):
    """How many nodes of which release; the configurations add to (or replace) the harness's fast settings.

    `formatted` is the release that formats the disks, and whose metadata.version the cluster begins with.
    """

    brokers: int = Field(default=3, ge=1)
    controllers: int = Field(default=3, ge=1)
    combined: bool = False
    kafka: Release = DEFAULT_RELEASE
    formatted: Release | None = None
    elr: bool | None = None
    log_dirs: int = 1
    transaction_version: int | None = Field(default=None, ge=0, le=2)
    volume: Size = DEFAULT_VOLUME_BYTES
    broker_config: KafkaConfig = {}
    controller_config: KafkaConfig = {}


class TopicPart(Part):
    """One topic to create before the load starts."""

    name: str = Field(pattern=r"^[a-zA-Z0-9._-]{1,200}$")
    partitions: int = Field(default=6, ge=1, le=MOST_PARTITIONS)
    replication: int = Field(default=3, ge=1)
    config: KafkaConfig = {}


class TransactionsPart(Part):
    """How each producer puts what it sends into transactions; producer n has the id `<ids>-<n>`."""

    ids: str = Field(default="transfers", pattern=r"^[a-zA-Z0-9._-]{1,100}$")
    records: int = Field(default=50, ge=1, le=10_000)
    aborts: float = Field(default=0.1, ge=0, le=1)
    takeover_s: Interval = Field(default=None, alias="takeover_every")
    timeout_s: Duration = Field(default=10.0, alias="timeout")
    readers: int = Field(default=1, ge=1, le=8)


class WorkloadPart(Part):
    """What the clients do. The load lasts `lasts` after it is warm, and until `tail` after the last fault."""

    producers: int = Field(default=4, ge=1, le=64)
    acks: Annotated[Acks, BeforeValidator(_as_word)] = "all"
    idempotence: bool | None = None
    rate: Rate = 2000.0
    record: Size = 200
    readers: int = Field(default=2, ge=0, le=16)
    lasts_s: Duration = Field(default=10.0, alias="lasts")
    tail_s: Duration = Field(default=2.0, alias="tail")
    warm: bool = True
    delivery_timeout_s: Duration = Field(default=60.0, alias="delivery_timeout")
    client: KafkaConfig = {}
    transactions: TransactionsPart | None = None

    @property
    def transactional_ids(self) -> tuple[str, ...]:
        """One for each producer; none for a load without transactions."""
        if self.transactions is None:
            return ()
        return tuple(f"{self.transactions.ids}-{number}" for number in range(1, self.producers + 1))

    @property
    def idempotent(self) -> bool:
        """Whether the producers are idempotent: as asked, else wherever acks=all."""
        return self.acks == "all" if self.idempotence is None else self.idempotence


class SettlePart(Part):
    """Deadlines of what follows the load."""

    full_isr_s: Duration = Field(default=60.0, alias="full_isr")
    final_read_s: Duration = Field(default=60.0, alias="final_read")


class ExpectPart(Part):
    """What the run must show of acknowledged loss.

    `none`: there is none. `permitted`: there is some, all of it permitted. `any`: what there is is permitted.
    """

    acked_loss: Expectation = "none"


Tag = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")]
"""One word by which scenarios are listed; the first one of a scenario is its group."""


class Scenario(Part):
    """A whole scenario file. A resolved one has a seed, no storm, and nothing left to draw."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=MOST_LETTERS)
    about: str = ""
    shows: str = ""
    tags: list[Tag] = []
    seed: int | None = Field(default=None, ge=0, lt=1 << 63)
    cluster: ClusterPart = ClusterPart()
    topics: list[TopicPart] = Field(min_length=1, examples=["[{name: orders}]"])
    workload: WorkloadPart = WorkloadPart()
    faults: list[dict[str, Any]] = []
    storm: dict[str, Any] | None = None
    settle: SettlePart = SettlePart()
    expect: ExpectPart = ExpectPart()
    accept: list[AcceptLine] = Field(default=[], max_length=MOST_LINES)
    require: list[RequireLine] = Field(default=[], max_length=MOST_LINES)

    def as_plain(self) -> dict[str, Any]:
        """A resolved scenario as it is written to a file, with every default spelled out."""
        return self.model_dump(mode="json", by_alias=True, exclude={"storm"})


def topology_of(cluster: ClusterPart) -> Topology:
    """The cluster part as a topology; TopologyError if there can be no such cluster."""
    return Topology(
        brokers=cluster.brokers,
        controllers=cluster.controllers,
        combined=cluster.combined,
        kafka=cluster.kafka,
        formatted=cluster.formatted,
        elr=cluster.elr,
        transaction_version=cluster.transaction_version,
        broker_config=cluster.broker_config,
        controller_config=cluster.controller_config,
        log_dirs=cluster.log_dirs,
        volume_mib=cluster.volume >> 20,
    )
