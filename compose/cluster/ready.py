"""When a cluster is ready: each broker answers clients, and knows all brokers as registered, not fenced."""

from concurrent.futures import ThreadPoolExecutor

from compose.cluster.docker_cluster import DockerCluster
from compose.errors import NodeNotReady
from compose.host.waiting import wait_until
from compose.kafka import broker_api
from compose.kafka.wire import Connection

ASK_S = 2.0
EVERY_S = 0.2
TAIL_LINES = 25


def wait_until_ready(cluster: DockerCluster, *, within_s: float) -> None:
    """Return when `cluster` is ready.

    Raises NodeNotReady as soon as a node has exited, or after `within_s` seconds; the message has the node,
    what was last seen, and the node's last log lines.
    """

    def look() -> dict[int, str]:
        _raise_if_exited(cluster)
        with ThreadPoolExecutor(len(cluster.clients)) as pool:
            answers = pool.map(lambda node: _lacks(cluster, node), cluster.clients)
            return {node: lack for node, lack in zip(cluster.clients, answers, strict=True) if lack}

    try:
        wait_until(
            "brokers that are not ready: none",
            look,
            lambda lacks: not lacks,
            within_s=within_s,
            every_s=EVERY_S,
        )
    except NodeNotReady as error:
        logs = (_log_lines(cluster, node) for node in look() or cluster.clients)
        raise NodeNotReady(f"{error}\n" + "\n".join(logs)) from error


def _lacks(cluster: DockerCluster, node: int) -> str:
    """What `node` lacks to be ready, "" if nothing."""
    try:
        with Connection(cluster.clients[node], within_s=ASK_S) as broker:
            known = broker_api.metadata(broker, []).brokers
    except (OSError, ValueError) as error:
        return f"no answer ({error})"
    missing = set(cluster.brokers) - set(known)
    return f"knows no unfenced broker {', '.join(map(str, sorted(missing)))}" if missing else ""


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
    lines = cluster.tail(node, TAIL_LINES).splitlines() or ["(it said nothing)"]
    return "\n".join((f"last lines of node {node}:", *(f"    {line}" for line in lines)))
