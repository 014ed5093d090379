"""All that a simulation depends on: settings, a schedule of faults, a seed, and the planted bugs.

A schedule stays valid when any of its actions is removed. `Case.to_json` is enough to run a case again.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias

from checkers.model.bugs import Bug

BROKERS = (1, 2, 3)
CONTROLLERS = (101, 102, 103)
ACTIVE_CONTROLLER = 103
TOPIC = "orders"
NEVER_FLUSHED = 2**63 - 1
"""The default of flush.messages."""
Direction = Literal["to", "from"]
"""Of an edge: the requests that its end gets, or the answers that it gives."""
BOTH: tuple[Direction, ...] = ("to", "from")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """One producer. `acks` is "0", "1" or "all"; `retries` False: each record is sent once."""

    acks: str = "all"
    idempotence: bool = True
    max_in_flight: int = 1
    delivery_timeout_s: float = 60.0
    retries: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The cluster's configuration and the load; times in seconds after the cluster is ready."""

    partitions: int = 1
    replication: int = len(BROKERS)
    min_isr: int = 2
    hides_below_min_isr: bool = True
    """Whether the high watermark stands still while fewer than that are in sync (KAFKA-15583)."""
    elr: bool = True
    unclean_election: bool = False
    flush_messages: int = NEVER_FLUSHED
    producers: tuple[ProducerSettings, ...] = (ProducerSettings(), ProducerSettings())
    readers: int = 1
    records: int = 120
    load_s: float = 18.0
    tail_s: float = 2.0
    lag_max_s: float = 3.0
    session_s: float = 4.0
    log_dirs: int = 1
    """Of each broker; where a partition's replicas lie, `log_dir_of` says."""
    retention_s: float = 7 * 86_400.0
    metadata_late_s: float = 0.0
    """How much later than within 50 ms a busy broker applies the metadata log at most, now and then."""
    first_leader: int | None = None
    """Of the first partition, when the topic is created; None: any broker, by the seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Directed edges are cut; an edge is the direction in which connections are opened, as "2->1".

    Nodes are brokers, controllers, and "client". `refuse`: connections are closed; else the bytes of
    `directions` are swallowed.
    """

    at_s: float
    hold_s: float
    edges: tuple[str, ...]
    refuse: bool = False
    directions: tuple[Direction, ...] = BOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Answers over directed edges arrive late."""

    at_s: float
    hold_s: float
    edges: tuple[str, ...]
    delay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfNodes:
    """A fault that hits nodes as a whole."""

    at_s: float
    hold_s: float
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(_OfNodes):
    """The processes of nodes stand still; the hold is until they go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskStall(_OfNodes):
    """Every write to the disks of nodes blocks, without an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill(_OfNodes):
    """SIGKILL; the page cache survives. Started again after the hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanStop(_OfNodes):
    """SIGTERM, a controlled shutdown. Started again after the hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLoss(_OfNodes):
    """All nodes lose their power at one instant, and what was never synced. Started after the hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskWipe(_OfNodes):
    """SIGKILL, and the disks are emptied: what was flushed is gone too. Started after the hold, as the same
    brokers with the same disks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFull(_OfNodes):
    """No room is left on the disks of nodes: each halts at an append. Room and start after the hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirFailure(_OfNodes):
    """A log directory fails, with what was never synced in it; the brokers go on, and are restarted after the
    hold. Not the first one, which has the metadata log."""

    log_dir: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSkew(_OfNodes):
    """The wall clocks of nodes are ahead of the others', or behind them if that is negative.

    By its own clock a broker deletes what is older than retention, and a controller dates what it decides.
    What else Kafka counts by the time of day goes on as before.
    """

    ahead_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassign:
    """The replicas of all partitions are moved, and after the hold back to where they were.

    `count`: so many, the first ones stay; None: each goes to the next broker.
    """

    at_s: float
    hold_s: float
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferredElection:
    """The first replica of each partition leads from now on, where it is in sync. Nothing is undone."""

    at_s: float
    hold_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MinIsr:
    """The topic's min.insync.replicas is set to a value, and after the hold to what it was."""

    at_s: float
    hold_s: float
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ElrFeature:
    """ELR is turned on or off, and after the hold to what it was."""

    at_s: float
    hold_s: float
    on: bool


OfNodes: TypeAlias = (
    Pause | DiskStall | Kill | CleanStop | PowerLoss | DiskWipe | DiskFull | LogDirFailure | ClockSkew
)
Action: TypeAlias = Partition | Latency | OfNodes | Reassign | PreferredElection | MinIsr | ElrFeature
ACTIONS: Mapping[str, type[Action]] = {
    kind.__name__: kind
    for kind in (
        Partition,
        Latency,
        Pause,
        DiskStall,
        Kill,
        CleanStop,
        PowerLoss,
        DiskWipe,
        DiskFull,
        LogDirFailure,
        ClockSkew,
        Reassign,
        PreferredElection,
        MinIsr,
        ElrFeature,
    )
}


def log_dir_of(partition: int, settings: ModelSettings) -> int:
    """The number of the log directory in which every replica of a partition lies."""
    return 1 + partition % settings.log_dirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One simulation: equal cases give equal histories. `seed`: delays, the pace of sends, record bytes."""

    seed: int
    settings: ModelSettings = field(default_factory=ModelSettings)
    schedule: tuple[Action, ...] = ()
    bugs: frozenset[Bug] = frozenset()

    def to_json(self) -> str:
        """The case in one line, for `from_json`."""
        schedule = [{"do": type(action).__name__, **asdict(action)} for action in self.schedule]
        plain = {"seed": self.seed, "settings": asdict(self.settings), "schedule": schedule}
        return json.dumps(plain | {"bugs": sorted(bug.name for bug in self.bugs)})

    @staticmethod
    def from_json(text: str) -> "Case":
        """The case that `to_json` printed; raises KeyError, TypeError or ValueError if it is none."""
        plain = json.loads(text)
        settings = plain["settings"]
        settings["producers"] = tuple(ProducerSettings(**one) for one in settings["producers"])
        return Case(
            seed=plain["seed"],
            settings=ModelSettings(**settings),
            schedule=tuple(_action(one) for one in plain["schedule"]),
            bugs=frozenset(Bug[name] for name in plain["bugs"]),
        )


def _action(plain: Mapping[str, Any]) -> Action:
    kind = ACTIONS[plain["do"]]
    values: dict[str, Any] = {one.name: plain[one.name] for one in fields(kind)}
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return kind(**(values | lists))
