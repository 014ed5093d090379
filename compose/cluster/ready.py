"""When a cluster is ready: each broker answers clients, knows all brokers as registered, not fenced, and has
producer ids to give."""

from collections.abc import Iterable, Mapping

from compose.cluster.docker_cluster import DockerCluster
from compose.errors import NodeNotReady
from compose.host.waiting import wait_until
from compose.kafka import broker_api
from compose.kafka.brokers import Brokers
from compose.kafka.wire import Connection

ASK_S = 2.0
EVERY_S = 0.2
TAIL_LINES = 25


def wait_until_ready(cluster: DockerCluster, *, within_s: float) -> None:
    """Return when `cluster` is ready.

    Raises NodeNotReady as soon as a node has exited, or after `within_s` seconds; the message has the node,
    its last state, and its last log lines.
    """
    with Brokers(cluster.bootstrap, within_s=ASK_S) as brokers:

        def lacks() -> Mapping[int, str]:
            _raise_if_exited(cluster)
            return _lacks(cluster, brokers)

        try:
            wait_until(
                "brokers that are not ready: none",
                lacks,
                lambda found: not found,
                within_s=within_s,
                every_s=EVERY_S,
            )
        except NodeNotReady as error:
            logs = (_log_lines(cluster, node) for node in lacks() or cluster.brokers)
            raise NodeNotReady(f"{error}\n" + "\n".join(logs)) from error


def _lacks(cluster: DockerCluster, brokers: Brokers) -> dict[int, str]:
    """What each broker lacks to be ready; those that lack nothing are left out."""
    answers = brokers.ask_all(lambda _, broker: _lack(broker, cluster.brokers))
    found = {node: f"no answer ({reason})" for node, reason in answers.silent.items()}
    found |= {node: lack for node, lack in answers.given.items() if lack}
    return dict(sorted(found.items()))


def _lack(broker: Connection, nodes: Iterable[int]) -> str:
    """All is asked whatever the answers are: the first question for producer ids makes a broker get some."""
    gives_ids = broker_api.gives_producer_ids(broker)
    if missing := sorted(set(nodes) - set(broker_api.metadata(broker, []).brokers)):
        return f"knows no unfenced broker {', '.join(map(str, missing))}"
    return "" if gives_ids else "has no producer ids to give"


def _raise_if_exited(cluster: DockerCluster) -> None:
    for node in (*cluster.brokers, *cluster.controllers):
        state = cluster.state(node)
        if state.status not in ("running", "paused"):
            killed = "; 137 is SIGKILL, as when memory runs out" if state.exit_code == 137 else ""
            raise NodeNotReady(
                f"node {node} does not run: {state.status} with exit code {state.exit_code}{killed}\n"
                f"{_log_lines(cluster, node)}"
            )


def _log_lines(cluster: DockerCluster, node: int) -> str:
    lines = cluster.tail(node, TAIL_LINES).splitlines() or ["(no output)"]
    return "\n".join((f"last lines of node {node}:", *(f"    {line}" for line in lines)))
