"""manifest.json: what a run was asked for, what it really had, how far it came. Only this module reads it.

`Manifest` is the schema: a frozen structure, in which each key has a type and a description. A file that does
not follow it is one HistoryError, which names the file, the key, the value and what is allowed.
docs/history.md has the same keys for people; a test compares.

Schema version 1. A new key has a default, so a manifest without it stays readable and the version stays.
Another meaning of a key, or one that is gone, raises the version.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from checkers.contract.realised.settings import Acks
from checkers.history.tables import TOPIC_NAME
from checkers.verdict.decide import Expectation
from compose.docker.labels import Owner
from harness.errors import HistoryError
from harness.run_directory.layout import RunDir, read_whole
from harness.scenario.acceptance import AcceptLine, RequireLine
from harness.scenario.cluster.kafka_settings import malformed
from harness.scenario.model import MOST_PARTITIONS
from harness.scenario.text.complaints import dotted, model_at, problem

SCHEMA_VERSION = 1
MOST_SHOWN = 200
"""Characters of what is wrong that a message repeats."""

END_OF_TIME = 1 << 63
"""What an int64 of nanoseconds cannot hold."""

State = Literal["running", "complete", "interrupted", "failed"]
DisksOf = Literal["stopped", "running"]
Phase = Literal[
    "",
    "cluster",
    "topics",
    "warm",
    "schedule",
    "settle",
    "final_read",
    "metadata",
    "disks",
    "seal",
    "audit",
]


def _loss_settings(config: Mapping[str, str]) -> Mapping[str, str]:
    for key, wrong in malformed(config):
        raise ValueError(f"{key}: {wrong}")
    return config


KafkaSettings = Annotated[Mapping[str, str], AfterValidator(_loss_settings)]


class ManifestPart(BaseModel):
    """Base of all parts: unknown keys are refused, nothing is converted, nothing changes later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ClockReading(ManifestPart):
    """One reading of both clocks of the harness at the same moment."""

    monotonic_ns: int = Field(ge=0, lt=END_OF_TIME, description="the clock of all `*_ns` of the history")
    wall_ns: int = Field(ge=0, lt=END_OF_TIME, description="nanoseconds since 1970, the clock of all `*_ms`")


class RunOwner(ManifestPart):
    """The process that runs the run."""

    pid: int = Field(ge=0, description="its process id")
    start: str = Field(description="when it started: a later process may have the same id")
    host: str = Field(description="the machine and process-id namespace in which `pid` means something")

    def of(self, run_id: str) -> Owner:
        """The same as `compose` knows it, with the run that it owns."""
        return Owner(run_id=run_id, pid=self.pid, start=self.start, host=self.host)


class ManifestTopic(ManifestPart):
    """One topic of the load."""

    name: str = Field(pattern=TOPIC_NAME, description="its name")
    partitions: int = Field(ge=1, le=MOST_PARTITIONS, description="how many it has, numbered from 0")
    replication: int = Field(ge=1, description="replicas of each partition")
    config: KafkaSettings = Field(
        default_factory=dict,
        description="its settings; once it is created, those that decide a loss as a broker reports them",
    )


class ManifestProducer(ManifestPart):
    """One producer instance; a client that was replaced after a fatal error has a number of its own."""

    producer: int = Field(ge=0, description="its number in the history")
    acks: Acks = Field(description="`0`, `1` or `all`")
    idempotence: bool = Field(description="whether it was idempotent")


class ManifestFile(ManifestPart):
    """One file of the history, as it was when it was sealed."""

    rows: int = Field(ge=0, description="its rows")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of its bytes")


class ManifestSends(ManifestPart):
    """The sends of one producer instance, as counted in memory while they were recorded."""

    attempts: int = Field(ge=0, description="all; their sequences are 0 to one less than that")
    ok: int = Field(ge=0, description="those that were acknowledged")
    fail: int = Field(ge=0, description="those that were certainly not written")
    info: int = Field(ge=0, description="those of which nobody knows")


class ManifestCluster(ManifestPart):
    """The cluster that was asked for, with every default written out."""

    brokers: int = Field(ge=1, description="number of nodes with the broker role")
    controllers: int = Field(ge=1, description="number of nodes with the controller role")
    combined: bool = Field(default=False, description="whether the first brokers are the controllers")
    elr: bool = Field(description="whether eligible leader replicas (KIP-966) are on")
    broker_config: KafkaSettings = Field(
        default_factory=dict, description="server.properties of a broker, without what differs by node"
    )


class ClusterReady(ManifestPart):
    """Seconds from the beginning of the cluster's start to the end of each step; steps run side by side."""

    proxy_s: float | None = Field(default=None, description="the proxy runs")
    networks_s: float | None = Field(default=None, description="every node has its network")
    format_s: float | None = Field(default=None, description="the data directories are formatted")
    disks_s: float | None = Field(default=None, description="the file systems are made")
    nodes_s: float | None = Field(default=None, description="the containers run")
    mesh_s: float | None = Field(default=None, description="every connection crosses the proxy")
    ready_s: float | None = Field(default=None, description="every broker serves")
    appcds: bool | None = Field(default=None, description="whether the JVMs had a class-data archive")


class Timings(ManifestPart):
    """Seconds that each phase took; absent of a phase that did not end."""

    cluster_s: float | None = Field(default=None, description="start of the cluster")
    topics_s: float | None = Field(default=None, description="topics created and settled")
    warm_s: float | None = Field(default=None, description="load started and acknowledged on every partition")
    schedule_s: float | None = Field(default=None, description="faults, and the load after them")
    settle_s: float | None = Field(default=None, description="load stopped, all healed, replicas in sync")
    final_read_s: float | None = Field(default=None, description="every partition read to a proven end")
    metadata_s: float | None = Field(default=None, description="metadata log decoded, beside `disks_s`")
    disks_s: float | None = Field(
        default=None, description="metadata log copied, brokers stopped, their replicas copied"
    )
    seal_s: float | None = Field(
        default=None, description="journals turned into the history, most of them beside `disks_s`"
    )
    audit_s: float | None = Field(default=None, description="copied replicas turned into tables")


class Manifest(ManifestPart):
    """The whole file."""

    schema_version: int = Field(default=SCHEMA_VERSION, description="1")
    tool_version: str = Field(description="version of highwater that ran the run")
    scenario: str = Field(description="the scenario's name; scenario.yaml has it resolved")
    seed: int = Field(ge=0, description="the seed of every random choice")
    argv: tuple[str, ...] = Field(
        default=(), description="the command line, without the program and without secrets"
    )
    release: str = Field(description="Kafka release that the nodes begin with, as 4.3.1")
    expect: Expectation = Field(description="expected acknowledged loss: `none`, `permitted` or `any`")
    accept: tuple[AcceptLine, ...] = Field(description="acceptance lines, as `unavailable.max <= 20s`")
    owner: RunOwner = Field(description="the process that runs the run: `pid`, `start`, `host`")
    topics: tuple[ManifestTopic, ...] = Field(
        description="each topic: `name`, `partitions`, `replication`, `config`"
    )
    producers: tuple[ManifestProducer, ...] = Field(
        description="each producer instance: `producer`, `acks`, `idempotence`"
    )
    cluster: ManifestCluster = Field(
        description="`brokers`, `controllers`, `combined`, `elr`, `broker_config`"
    )
    schedule: tuple[str, ...] = Field(description="name of each fault of the schedule")
    state: State = Field(description="`running`, `complete`, `interrupted` or `failed`")
    phase: Phase = Field(description="the phase that began last; empty before the first")
    problem: str = Field(description="why the run was interrupted or has failed; else empty")
    clock: ClockReading = Field(description="both clocks at one moment: `monotonic_ns`, `wall_ns`")
    timings: Timings = Field(description="seconds of each phase that has ended, as `cluster_s`")
    run_id: str | None = Field(default=None, description="the run in the labels of its containers")
    images: tuple[str, ...] = Field(default=(), description="images of the nodes and of the proxy")
    cluster_ready: ClusterReady | None = Field(
        default=None, description="seconds until each step of the cluster's start had ended, as `ready_s`"
    )
    load_ended_ns: int | None = Field(
        default=None,
        ge=0,
        lt=END_OF_TIME,
        description="when the producers had stopped, on the history's clock",
    )
    run: str | None = Field(
        default=None,
        min_length=1,
        description="the run's id (a UUID), which each file of its history carries",
    )
    scenario_sha256: str | None = Field(default=None, description="SHA-256 of scenario.yaml")
    recorded: Mapping[int, ManifestSends] | None = Field(
        default=None,
        description="by producer instance: its sends as counted in memory, `attempts`, `ok`, `fail`, `info`",
    )
    files: Mapping[str, ManifestFile] | None = Field(
        default=None, description="by path below history/: each file when it was sealed, `rows`, `sha256`"
    )
    sealed_ns: int | None = Field(
        default=None,
        ge=0,
        lt=END_OF_TIME,
        description="when the last of `files` was written, on the history's clock",
    )
    cluster_served: int | None = Field(
        default=None, ge=0, description="runs that the cluster had served before, in the same suite"
    )
    cluster_why_new: str | None = Field(
        default=None, description="why the cluster was started for this run; empty if it was not"
    )
    cluster_ahead_s: float | None = Field(
        default=None,
        description="how long before this run its cluster had begun to boot, beside the run before",
    )
    disks_of: DisksOf | None = Field(
        default=None, description="`stopped` or `running`: the brokers whose disks were read"
    )
    cut_short: bool = Field(
        default=False, description="whether the user asked to stop before the schedule had ended"
    )
    require: tuple[RequireLine, ...] | None = Field(
        default=None, description="lines of evidence that the run must show, as `isr.min <= 1`"
    )
    releases: tuple[str, ...] | None = Field(
        default=None,
        description="every Kafka release that formats, or that a node runs at some time; absent if it is one",
    )

    def as_text(self) -> str:
        """The file; keys that are not known yet are left out."""
        return json.dumps(self.model_dump(mode="json", exclude_none=True), indent=2) + "\n"


def read_manifest(run: RunDir) -> Manifest:
    """The manifest of a run; HistoryError if it is damaged, incomplete or of another schema."""
    file = run.manifest
    text = read_whole(file)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HistoryError(f"{file}: not a readable manifest: {error}") from None
    if not isinstance(found, dict):
        raise HistoryError(f"{file}: not a manifest: found {type(found).__name__}")
    version = found.get("schema_version")
    if version != SCHEMA_VERSION:
        raise HistoryError(f"{file}: unknown schema_version {version!r}, this version reads {SCHEMA_VERSION}")
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise HistoryError(f"{file}: {_first_problem(error)}") from None


def _first_problem(error: ValidationError) -> str:
    first, *others = error.errors()
    text = problem(first, Manifest)
    if first["type"] == "missing":
        text = f"{text}; it is {_description(first['loc'])}"
    more = f" (and {len(others)} more)" if others else ""
    return f"{dotted(first['loc'])}: {_shortened(text)}{more}"


def _description(path: tuple[str | int, ...]) -> str:
    """The description of the key at `path`."""
    *above, key = path
    field = model_at(Manifest, above).model_fields[str(key)]
    return str(field.description)


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} …"
