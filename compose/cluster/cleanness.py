"""Is a cluster that has served a run as good as a new one? Whatever is not is named, and then it is not used.

Invariant: between two runs every process is the one that the first run left, and runs; no disk is frozen, and
each is readable with room; no broker has a log directory offline, by its own word; every edge is open,
without a toxic, and answers; the quorum has a leader; all brokers are registered and not fenced, by the word
of each; no fault may end a node; the clocks run together, and a node's own is the engine's, by the word of
its process.
Evidence: the engine, each node's file system, the proxy server's own list, a Kafka request over every edge,
every broker by itself. Nothing is taken from what the faults say that they have undone.
Counterexample to "the schedule healed everything, so the cluster is clean":
    a partition is healed while the proxy does not answer; the fault reports it, the run is UNKNOWN
    the next run's leader 1 never hears from follower 2: its ISR is short, and no fault of that run did it
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from compose.errors import ComposeError
from compose.protocols import Cluster, View

EDGE_S = 2.0
"""A request over an open edge takes some milliseconds."""
LEAST_ROOM = 0.5
"""Of a disk: what earlier runs have left of it. A run of a minute writes some tens of MiB."""
CLOCK_STEP_NS = 1_000_000_000
"""How far a wall clock may be set between two runs, against the monotonic clock."""
CLOCK_NEAR_MS = 100
"""How far a node's own clock may be from the engine's, beyond the error of its reading."""
AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One life of a node's process; `started_at` is the engine's text."""

    pid: int | None
    started_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A cluster when a run had let go of it: its processes, and how far both wall clocks were ahead of ours.

    `engine_ahead_ns` is None if the engine did not say.
    """

    processes: Mapping[int, Process]
    wall_ahead_ns: int
    engine_ahead_ns: int | None


def before(cluster: Cluster) -> Before:
    """The cluster as it is now. Raises ComposeError."""
    clocks = cluster.read_clocks()
    return Before(
        processes={node: _process(cluster, node) for node in _nodes(cluster)},
        wall_ahead_ns=clocks.wall_ns - clocks.at_ns,
        engine_ahead_ns=clocks.engine_ns - clocks.at_ns if clocks.engine_ns >= 0 else None,
    )


def what_is_left(cluster: Cluster, view: View, since: Before, *, volume_bytes: int) -> list[str]:
    """A line for each thing that is not as in a new cluster; what cannot be asked is one of them.

    `volume_bytes`: the size of each disk.
    """
    checks: Sequence[Callable[[], Iterator[str]]] = (
        *(lambda node=node: _node(cluster, since, node, volume_bytes) for node in _nodes(cluster)),
        *(lambda node=node: _log_dirs(view, node) for node in cluster.brokers),
        lambda: _edges(cluster),
        lambda: _quorum(cluster),
        lambda: _clocks(cluster, since),
    )
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [line for lines in pool.map(_lines, checks) for line in lines]


def _lines(check: Callable[[], Iterator[str]]) -> list[str]:
    try:
        return list(check())
    except ComposeError as error:
        return [f"not known: {error}"]


def _nodes(cluster: Cluster) -> list[int]:
    return sorted({*cluster.brokers, *cluster.controllers})


def _process(cluster: Cluster, node: int) -> Process:
    state = cluster.state(node)
    return Process(pid=state.pid, started_at=state.started_at)


def _node(cluster: Cluster, since: Before, node: int, volume_bytes: int) -> Iterator[str]:
    state = cluster.state(node)
    if state.status != "running":
        yield f"node {node} is {state.status}"
        return
    if _process(cluster, node) != since.processes.get(node):
        yield f"node {node} is another process than the run before has left"
    for owner in cluster.allowed_ends(node):
        yield f"node {node} may still end for {owner}"
    if (cpus := cluster.cpu_limit(node)) is not None:
        yield f"node {node} may use only {cpus:g} processors"
    if (most_bytes := cluster.memory_limit(node)) is not None:
        yield f"node {node} may have only {most_bytes >> 20} MiB of memory"
    yield from _own_clock(cluster, node)
    if cluster.is_frozen(node):
        yield f"the disk of node {node} is frozen"
        return
    for number, path in enumerate(cluster.log_dirs(node), start=1):
        room = cluster.room_bytes(node, log_dir=number)
        if room < LEAST_ROOM * volume_bytes:
            yield f"{path} of node {node} has {room >> 20} MiB left of {volume_bytes >> 20}"


def _log_dirs(view: View, node: int) -> Iterator[str]:
    """A directory that was taken offline stays so until its broker starts anew, whatever its disk can do."""
    for path, online in view.log_dirs(node).items():
        if not online:
            yield f"{path} of node {node} is offline"


def _own_clock(cluster: Cluster, node: int) -> Iterator[str]:
    """Of a node that has one: what it was set to, and what its process shows."""
    setting = cluster.clock_setting(node)
    if setting is None:
        return
    shown = cluster.clock_ahead(node)
    if setting or shown.least_ms > CLOCK_NEAR_MS or shown.most_ms < -CLOCK_NEAR_MS:
        yield f"the clock of node {node} is set {setting} ms ahead, and shows {shown.least_ms} ms or more"


def _edges(cluster: Cluster) -> Iterator[str]:
    disturbed = cluster.mesh.disturbed()
    for edge, how in disturbed.items():
        yield f"edge {edge}: {how}"
    if not disturbed:
        edges = cluster.mesh.edges
        answered = cluster.mesh.probe(edges, within_s=EDGE_S)
        silent = [str(edge) for edge in edges if edge not in answered]
        if silent:
            yield f"no answer over {', '.join(silent)}"


def _quorum(cluster: Cluster) -> Iterator[str]:
    if cluster.active_controller() is None:
        yield "the controllers have no leader"


def _clocks(cluster: Cluster, since: Before) -> Iterator[str]:
    now = cluster.read_clocks()
    if now.engine_ns < 0 or since.engine_ahead_ns is None:
        yield "the engine does not say what time it is"
        return
    steps = {
        "this machine": now.wall_ns - now.at_ns - since.wall_ahead_ns,
        "the engine": now.engine_ns - now.at_ns - since.engine_ahead_ns,
    }
    for whose, step_ns in steps.items():
        if abs(step_ns) > CLOCK_STEP_NS:
            yield f"the clock of {whose} was set by {step_ns / 1e9:.1f} s"
