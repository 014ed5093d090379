"""A cluster as a `with` block: started from nothing, ready inside it, and taken down whatever happens."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from compose.cleanup import cleanup, leftovers
from compose.cluster import preflight, ready
from compose.cluster.bring_up import BringUp, Stopwatch
from compose.cluster.docker_cluster import DockerCluster
from compose.docker import api
from compose.docker.containers import ALL_SHARES
from compose.docker.labels import owner_of
from compose.errors import CleanupError, ComposeError, EngineUnreachable, NodeStateError
from compose.host.waiting import wait_until
from compose.protocols import StartTimings
from compose.spec.topology import Topology

__all__ = ["DockerCluster", "StartTimings", "start"]

READY_S = 90.0
ENGINE_BACK_S, ENGINE_AGAIN_S = 30.0, 0.5
"""A Docker Engine is back 1 to 5 s after it was stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Booting:
    """A cluster whose nodes' processes run, and may not serve yet."""

    cluster: DockerCluster
    took: Stopwatch
    appcds: bool
    cpu_shares: int

    def ready(self, *, within_s: float = READY_S, workdir: Path | None = None) -> DockerCluster:
        """The cluster when every broker serves, with all the shares of the processors.

        If it does not come up, the nodes' logs are written to `workdir`/nodes. Raises NodeNotReady, ….
        """
        if self.cpu_shares != ALL_SHARES:
            self.cluster.share_cpu(ALL_SHARES)
        try:
            ready.wait_until_ready(self.cluster, within_s=within_s)
        except ComposeError:
            if workdir:
                self.cluster.collect(workdir / "nodes")
            raise
        self.took.mark("ready")
        self.cluster.timings = _timings(self.took, self.appcds)
        return self.cluster


@contextmanager
def start(
    topology: Topology,
    *,
    run_id: str,
    owner_pid: int | None = None,
    workdir: Path | None = None,
    appcds: bool = True,
    ready_within_s: float = READY_S,
) -> Iterator[DockerCluster]:
    """Start `topology` for the process `owner_pid` (None: this one); inside the block every broker serves.

    If it does not come up, the nodes' logs are written to `workdir`/nodes. `appcds` False is for comparison
    only. Raises ComposeError: EngineUnreachable, ImageUnavailable, MachineError, PortTaken, NodeNotReady,
    ….
    """
    with boot(topology, run_id=run_id, owner_pid=owner_pid, appcds=appcds) as booting:
        yield booting.ready(within_s=ready_within_s, workdir=workdir)


@contextmanager
def boot(
    topology: Topology,
    *,
    run_id: str,
    owner_pid: int | None = None,
    appcds: bool = True,
    cpu_shares: int = ALL_SHARES,
    unwanted: Event | None = None,
) -> Iterator[Booting]:
    """As `start`; inside the block the nodes boot, with `cpu_shares` of the processors.

    It is given up between two steps of the engine once `unwanted` is set, by NodeStateError.
    """
    preflight.check(topology)
    owner = owner_of(run_id, owner_pid if owner_pid is not None else os.getpid())
    _refuse_a_second(run_id)
    took = Stopwatch()
    cluster: DockerCluster | None = None
    try:
        cluster = BringUp(
            topology=topology,
            owner=owner,
            appcds=appcds,
            cpu_shares=cpu_shares,
            unwanted=unwanted or Event(),
        ).run(took)
        yield Booting(cluster=cluster, took=took, appcds=appcds, cpu_shares=cpu_shares)
    except BaseException as error:
        # The first error is the one to raise; trouble with the clean-up is only noted on it.
        try:
            _take_down(run_id, cluster)
        except ComposeError as second:
            error.add_note(str(second))
        raise
    _take_down(run_id, cluster)


def _refuse_a_second(run_id: str) -> None:
    """Raise NodeStateError if there is a run of this name; ending ours would end that one, too."""
    if run_id in leftovers.on_engine():
        raise NodeStateError(
            f"run {run_id}: the engine has containers or networks of a run of this name\n"
            "    next step: `highwater clean`, or wait until that run has ended"
        )


def _take_down(run_id: str, cluster: DockerCluster | None) -> None:
    """Remove everything of the run. Raises CleanupError if something stays, EngineUnreachable.

    An engine that is being restarted is waited for: what it held is there again when it is.
    """
    report: cleanup.CleanReport | None = None
    with suppress(EngineUnreachable):
        report = _clean(run_id, cluster)
    if report is None or report.failed:
        is_back = _engine_is_back()
        report = cleanup.clean_run(run_id) if is_back or report is None else report
    if report.failed:
        raise CleanupError(
            f"run {run_id}: not all could be removed: {'; '.join(report.failed)}\n"
            "    next step: `highwater clean`"
        )


def _engine_is_back() -> bool:
    """Whether the engine answers, now or in ENGINE_BACK_S."""
    with suppress(ComposeError):
        return wait_until(
            "the engine answers", api.answers, bool, within_s=ENGINE_BACK_S, every_s=ENGINE_AGAIN_S
        )
    return False


def _clean(run_id: str, cluster: DockerCluster | None) -> cleanup.CleanReport:
    """Clean up with the cluster's own helper while that works, as that is quicker; else with another one."""
    if cluster:
        with suppress(ComposeError):
            return cleanup.clean_run(run_id, cluster.helper)
    return cleanup.clean_run(run_id)


def _timings(took: Stopwatch, appcds: bool) -> StartTimings:
    seconds = {f"{name}_s": round(at, 3) for name, at in took.marks.items()}
    return StartTimings(appcds=appcds, **seconds)
