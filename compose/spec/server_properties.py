"""server.properties of each node: our defaults, what the topology changes, and what the mesh dictates.

The defaults make a fault show its effect in seconds instead of half a minute; they change no guarantee.
"""

from collections.abc import Mapping

from compose.spec.topology import ELR_EXISTS, Setting, Topology

CLIENT_PORT = 9092
BROKER_PORTS = 10000
CONTROLLER_PORTS = 20000

# Topic defaults that the controllers apply or decide by: with another value on brokers they would
# contradict them. With ELR on, formatting even writes the controllers' min.insync.replicas into the
# metadata, above any broker's.
SHARED = (
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "default.replication.factor",
    "num.partitions",
    "auto.leader.rebalance.enable",
)


def mount_point(number: int) -> str:
    """Where a node has the disk of its log directory `number`, from 1 on."""
    return "/data" if number == 1 else f"/data-{number}"


def disk_label(node: int, number: int) -> str:
    """What the disk of a node's log directory `number` is called: "1" is node 1's first, "1-2" its second."""
    return str(node) if number == 1 else f"{node}-{number}"


def log_dirs(count: int) -> tuple[str, ...]:
    """A node's log directories as it knows them; the first one has its metadata log."""
    return tuple(f"{mount_point(number)}/kafka" for number in range(1, count + 1))


def host_name(node: int) -> str:
    """The name under which other nodes know `node`; it resolves to the proxy, except on the node itself."""
    return f"kafka-{node}"


def broker_port(node: int) -> int:
    """Port of `node`'s listener for brokers; unique in the cluster, as all names resolve to one address."""
    return BROKER_PORTS + node


def controller_port(node: int) -> int:
    """Port of `node`'s listener of the controller quorum."""
    return CONTROLLER_PORTS + node


def server_properties(topology: Topology, node: int, *, client_address: str) -> dict[str, str]:
    """All settings of `node`; `client_address` is the host:port at which clients reach it (brokers only)."""
    broker, controller = node in topology.broker_ids, node in topology.controller_ids
    settings: dict[str, Setting] = dict(_defaults(topology))
    if broker:
        settings |= topology.broker_config
    if controller:
        shared = {key: value for key, value in topology.broker_config.items() if key in SHARED}
        settings |= shared | dict(topology.controller_config)
    settings |= _identity(topology, node) | _listeners(node, broker, controller, client_address)
    return {key: _text(value) for key, value in sorted(settings.items())}


def log_dir_settings(count: int) -> dict[str, str]:
    """The settings that name a node's log directories, and which of several has the metadata log."""
    listed = log_dirs(count)
    named = {"metadata.log.dir": listed[0]} if count > 1 else {}
    return {"log.dirs": ",".join(listed)} | named


def render(settings: Mapping[str, str]) -> str:
    """`settings` as the text of a Java properties file."""
    return "".join(f"{key}={_escaped(value)}\n" for key, value in settings.items())


def format_features(topology: Topology) -> tuple[str, ...]:
    """Options of Kafka's storage formatter that set the features which the topology names."""
    wanted = []
    if topology.elr is not None and topology.oldest_version >= ELR_EXISTS:
        wanted.append(f"eligible.leader.replicas.version={int(topology.elr)}")
    if topology.transaction_version is not None:
        wanted.append(f"transaction.version={topology.transaction_version}")
    return tuple(option for feature in wanted for option in ("--feature", feature))


def _defaults(topology: Topology) -> dict[str, Setting]:
    copies = min(3, topology.brokers)
    return {
        "auto.create.topics.enable": False,
        "auto.leader.rebalance.enable": False,
        "broker.heartbeat.interval.ms": 500,
        "broker.session.timeout.ms": 4000,
        "default.replication.factor": copies,
        "group.initial.rebalance.delay.ms": 0,
        "log.cleaner.dedupe.buffer.size": 16777216,
        "min.insync.replicas": min(2, topology.brokers),
        "num.partitions": 1,
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": copies,
        "replica.fetch.backoff.ms": 200,
        "replica.lag.time.max.ms": 3000,
        "transaction.state.log.min.isr": min(2, copies),
        "transaction.state.log.num.partitions": 4,
        "transaction.state.log.replication.factor": copies,
        "unclean.leader.election.enable": False,
    }


def _identity(topology: Topology, node: int) -> dict[str, Setting]:
    roles = [
        name
        for name, ids in (("broker", topology.broker_ids), ("controller", topology.controller_ids))
        if node in ids
    ]
    voters = ",".join(f"{n}@{host_name(n)}:{controller_port(n)}" for n in topology.controller_ids)
    return {
        "node.id": node,
        "process.roles": ",".join(roles),
        "controller.quorum.voters": voters,
        **log_dir_settings(topology.log_dirs_of(node)),
    }


def _listeners(node: int, broker: bool, controller: bool, client_address: str) -> dict[str, Setting]:
    settings: dict[str, Setting] = {
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    listeners = []
    if broker:
        between = f"BROKER://{host_name(node)}:{broker_port(node)}"
        listeners += [f"CLIENT://:{CLIENT_PORT}", f"BROKER://:{broker_port(node)}"]
        settings["advertised.listeners"] = f"CLIENT://{client_address},{between}"
        settings["inter.broker.listener.name"] = "BROKER"
    if controller:
        listeners.append(f"CONTROLLER://:{controller_port(node)}")
    return settings | {"listeners": ",".join(listeners)}


def _text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\")
