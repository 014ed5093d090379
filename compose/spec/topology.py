"""The specification of a cluster, as plain data: how many nodes of which role, and how they are configured.

Nothing here knows Docker. What follows from a topology (edges, ports, server.properties, the Compose file)
is a pure function of it, so it can be tested, printed and compared.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compose.errors import TopologyError
from compose.protocols import CLIENT, Edge

Setting = str | int | bool

DEFAULT_RELEASE = "4.3.1"
DEFAULT_VOLUME_BYTES = 1 << 30
OLDEST_RELEASE = (3, 6)
ELR_EXISTS = (4, 0)
ELR_IS_DEFAULT = (4, 1)
LOG_DIRS_EXIST = (3, 7)
"""With KRaft, a broker can lose one of several log directories since metadata version 3.7-IV2 (KIP-858). A
new cluster of this release begins with a later one."""
MOST_LOG_DIRS = 4
MIN_ISR = "min.insync.replicas"
MIN_ISR_OF_ALL = (3, 7)
"""Since this release a topic with fewer replicas than min.insync.replicas takes writes, from all of them."""
TRANSACTION_VERSION_EXISTS = (4, 0)
TRANSACTION_VERSIONS = (0, 1, 2)
FIRST_CONTROLLER = 101
MOST_NODES = 50

# Written by us for each node; anybody else's value would break the mesh.
RESERVED = re.compile(
    r"node\.id|broker\.id|process\.roles|(advertised\.)?listeners|listener\.security\.protocol\.map"
    r"|(inter\.broker|controller)\.listener\.names?|controller\.quorum\.(voters|bootstrap\.servers)"
    r"|(metadata\.)?log\.dirs?"
)
# Only the controllers read these, so on brokers they would be ignored without a word.
# Source: `ControllerServer` and `ControllerApis` in Kafka.
CONTROLLERS_ONLY = (
    "broker.session.timeout.ms",
    "delete.topic.enable",
    "leader.imbalance.check.interval.seconds",
    "metadata.max.idle.interval.ms",
    "unclean.leader.election.interval.ms",
)
# And only the brokers these: they have the replicas, and the coordinators of groups and transactions.
BROKERS_ONLY = re.compile(
    r"replica\..+|num\.replica\..+|log\.flush\..+|log\.cleaner\..+|offsets\..+|group\..+|transaction\..+"
)
KEY = re.compile(r"[a-z][a-z0-9._-]*")
RELEASE = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A cluster to start. Raises TopologyError if it cannot exist.

    `combined`: nodes 1.. carry the broker role, and the first `controllers` of them the controller role too;
    otherwise controllers are nodes of their own, 101.. . `kafka` is the release of every node that
    `kafka_by_node` does not name, and `later` are those to which nodes may be brought while the cluster runs.
    `formatted` is the release whose formatter makes the data directories, and with whose metadata.version the
    cluster begins; None: the oldest one. `elr` None: as that release ships it for new clusters;
    `transaction_version`, the level of that feature (KIP-890), None: the same.
    `broker_config` and `controller_config` override our defaults. `client_port` 0: each client edge listens
    on any free host port; otherwise that of broker n listens on `client_port` + n. `log_dirs`: of each
    broker, each on a disk of its own; the first one has the metadata log too. `volume_mib`: size of each
    disk; the file behind it is sparse. `clocks`: the nodes whose clock can be set while they run.
    """

    brokers: int = 3
    controllers: int = 3
    combined: bool = False
    kafka: str = DEFAULT_RELEASE
    kafka_by_node: Mapping[int, str] = field(default_factory=dict)
    later: tuple[str, ...] = ()
    formatted: str | None = None
    elr: bool | None = None
    transaction_version: int | None = None
    broker_config: Mapping[str, Setting] = field(default_factory=dict)
    controller_config: Mapping[str, Setting] = field(default_factory=dict)
    broker_heap_mib: int = 512
    controller_heap_mib: int = 256
    log_dirs: int = 1
    volume_mib: int = DEFAULT_VOLUME_BYTES >> 20
    client_port: int = 0
    clocks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check_counts(self)
        _check_releases(self)
        for role, config in _configs(self):
            _check_config(role, config)
        _check_combined(self)
        _check_replication(self)
        _check_clocks(self)

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """Nodes with the broker role."""
        return tuple(range(1, self.brokers + 1))

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Nodes with the controller role."""
        first = 1 if self.combined else FIRST_CONTROLLER
        return tuple(range(first, first + self.controllers))

    @property
    def nodes(self) -> tuple[int, ...]:
        """Every node once, ascending."""
        return tuple(sorted({*self.broker_ids, *self.controller_ids}))

    def release_of(self, node: int) -> str:
        """Kafka release with which `node` begins, as "4.3.1"."""
        return self.kafka_by_node.get(node, self.kafka)

    def log_dirs_of(self, node: int) -> int:
        """How many log directories `node` has; a controller has one."""
        return self.log_dirs if node in self.broker_ids else 1

    @property
    def releases(self) -> tuple[str, ...]:
        """Every release with which a node begins, once each, oldest first."""
        return tuple(sorted({self.release_of(node) for node in self.nodes}, key=release_numbers))

    @property
    def format_release(self) -> str:
        """The release whose formatter makes the data directories."""
        return self.formatted or self.releases[0]

    @property
    def every_release(self) -> tuple[str, ...]:
        """Every release that is needed at any time, once each, oldest first."""
        return tuple(sorted({self.format_release, *self.releases, *self.later}, key=release_numbers))

    @property
    def oldest_version(self) -> tuple[int, int]:
        """Major and minor number of the release that formatted: only its features are on in the cluster."""
        major, minor, _patch = release_numbers(self.format_release)
        return major, minor

    @property
    def elr_on(self) -> bool:
        """Whether eligible leader replicas (KIP-966) are on in this cluster."""
        return self.elr if self.elr is not None else self.oldest_version >= ELR_IS_DEFAULT


def edges(topology: Topology) -> tuple[Edge, ...]:
    """Every directed edge: client→broker, broker→broker, broker→controller and controller→controller."""
    brokers, controllers = topology.broker_ids, topology.controller_ids
    clients = [Edge(source=CLIENT, target=node) for node in brokers]
    between = [
        Edge(source=str(source), target=target)
        for source in topology.nodes
        for target in topology.nodes
        if source != target and (target in controllers or (source in brokers and target in brokers))
    ]
    return (*clients, *between)


def memory_mib(topology: Topology) -> int:
    """What the JVMs of `topology` can come to need: each one's heap, and 64 MiB beside it."""
    heaps = [
        topology.broker_heap_mib if node in topology.broker_ids else topology.controller_heap_mib
        for node in topology.nodes
    ]
    return sum(heap + 64 for heap in heaps)


def _check_counts(topology: Topology) -> None:
    for name, count in (("brokers", topology.brokers), ("controllers", topology.controllers)):
        if not 1 <= count <= MOST_NODES:
            raise TopologyError(f"{name}: {count}; give 1 to {MOST_NODES}")
    if topology.combined and topology.controllers > topology.brokers:
        raise TopologyError(
            f"controllers: {topology.controllers} with {topology.brokers} brokers; with combined roles each"
            " controller is one of the brokers, so give at most as many"
        )
    if not 1 <= topology.log_dirs <= MOST_LOG_DIRS:
        raise TopologyError(f"log_dirs: {topology.log_dirs}; give 1 to {MOST_LOG_DIRS}")
    if topology.volume_mib < 64:
        raise TopologyError(f"volume: {topology.volume_mib} MiB; a node's data needs at least 64 MiB")
    for role, heap in (("broker", topology.broker_heap_mib), ("controller", topology.controller_heap_mib)):
        if heap < 128:
            raise TopologyError(f"{role} heap: {heap} MiB; a node needs at least 128 MiB")
    if topology.client_port and not 1024 <= topology.client_port <= 65535 - topology.brokers:
        raise TopologyError(f"client port: {topology.client_port}; give 0 (any free) or 1024 and above")


def _check_releases(topology: Topology) -> None:
    formatted = (topology.formatted,) if topology.formatted else ()
    for release in (topology.kafka, *topology.kafka_by_node.values(), *topology.later, *formatted):
        if not RELEASE.fullmatch(release):
            raise TopologyError(f"kafka: {release!r} is not a release; write it as in {DEFAULT_RELEASE!r}")
    if strangers := topology.kafka_by_node.keys() - set(topology.nodes):
        raise TopologyError(
            f"kafka: a release for {_listed(strangers)}, and the nodes are {_listed(topology.nodes)}"
        )
    oldest = topology.format_release
    if release_numbers(oldest)[:2] > release_numbers(topology.every_release[0])[:2]:
        raise TopologyError(
            f"formatted: {topology.every_release[0]} does not know the metadata.version of {oldest}; use it, "
            "or an older one"
        )
    if topology.oldest_version < OLDEST_RELEASE:
        raise TopologyError(f"kafka: {oldest} is too old; the oldest allowed is 3.6.0")
    if topology.log_dirs > 1 and topology.oldest_version < LOG_DIRS_EXIST:
        raise TopologyError(
            f"log_dirs: {topology.log_dirs} log directories do not work with KRaft in {oldest} (KIP-858);"
            " use 3.7.0 or newer"
        )
    if topology.elr and topology.oldest_version < ELR_EXISTS:
        raise TopologyError(f"elr: eligible leader replicas do not exist in {oldest}; use 4.0.0 or newer")
    _check_transaction_version(topology)


def _check_transaction_version(topology: Topology) -> None:
    wanted = topology.transaction_version
    if wanted is None:
        return
    if wanted not in TRANSACTION_VERSIONS:
        raise TopologyError(f"transaction_version: {wanted}; there are {_listed(TRANSACTION_VERSIONS)}")
    if topology.oldest_version < TRANSACTION_VERSION_EXISTS:
        raise TopologyError(
            f"transaction_version: {topology.format_release} has no such feature; use 4.0.0 or newer"
        )


def _check_clocks(topology: Topology) -> None:
    if strangers := set(topology.clocks) - set(topology.nodes):
        raise TopologyError(f"clocks: of {_listed(strangers)}, and the nodes are {_listed(topology.nodes)}")


def release_numbers(release: str) -> tuple[int, int, int]:
    """The numbers of a release, by which releases are compared: "4.3.1" → (4, 3, 1)."""
    major, minor, patch = release.split(".")
    return int(major), int(minor), int(patch)


def _listed(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(nodes)))


def _configs(topology: Topology) -> tuple[tuple[str, Mapping[str, Setting]], ...]:
    """Each role with its configuration."""
    return ("broker", topology.broker_config), ("controller", topology.controller_config)


def _check_config(role: str, config: Mapping[str, Setting]) -> None:
    for key, value in config.items():
        if wrong := _wrong_with(role, key, str(value)):
            raise TopologyError(f"{role} config: {wrong}", role=role, setting=key)


def _wrong_with(role: str, key: str, value: str) -> str:
    """What is wrong with a setting of a role; "" if nothing is."""
    if not KEY.fullmatch(key):
        return f"{key!r} is not the name of a Kafka setting"
    if RESERVED.fullmatch(key):
        return f"{key} is set by highwater for each node; leave it out"
    if control := next((letter for letter in value if unicodedata.category(letter) == "Cc"), None):
        return f"the value of {key} has more than one line, or another control character ({control!r})"
    if role == "broker" and key in CONTROLLERS_ONLY:
        return f"only controllers read {key}; set it in the controller config"
    if role == "controller" and BROKERS_ONLY.fullmatch(key):
        return f"only brokers read {key}; set it in the broker config"
    return ""


def _check_combined(topology: Topology) -> None:
    """A node that is both has one value of each setting."""
    brokers, controllers = topology.broker_config, topology.controller_config
    for key in brokers.keys() & controllers.keys() if topology.combined else ():
        if str(brokers[key]) != str(controllers[key]):
            raise TopologyError(
                f"controller config: {key}={controllers[key]}, and {brokers[key]} in the broker config; a "
                "combined node has one value",
                role="controller",
                setting=key,
            )


def counts_replicas(key: str) -> bool:
    """Whether a setting is a number of replicas, of which there are no more than brokers."""
    return key == MIN_ISR or key.endswith("replication.factor")


def _check_replication(topology: Topology) -> None:
    """Kafka would start with these and then refuse every topic, or every write."""
    for role, config in _configs(topology):
        for key, value in config.items():
            if counts_replicas(key) and (wrong := _wrong_with_count(topology, key, value)):
                raise TopologyError(f"{key}: {wrong}", role=role, setting=key)


def _wrong_with_count(topology: Topology, key: str, value: Setting) -> str:
    """What is wrong with a number of replicas; "" if nothing is."""
    try:
        count = int(value)
    except ValueError:
        return f"{value!r} is not a whole number"
    of_all = key == MIN_ISR and release_numbers(topology.every_release[0])[:2] >= MIN_ISR_OF_ALL
    within = count >= 1 and (of_all or count <= topology.brokers)
    return "" if within else f"{value} with {topology.brokers} brokers can never be met"
