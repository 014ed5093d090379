"""Nothing stays behind, not even after kill -9 of the owner at any moment; a cluster that lives is let be."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from compose.cleanup import cleanup
from compose.cleanup.cleanup import CleanReport
from compose.cluster.start import DockerCluster, start
from compose.docker import networks as docker_nets
from compose.errors import NodeStateError
from compose.spec.topology import Topology

SMALL = Topology(brokers=1, controllers=1, volume_mib=64)
# A process that owns a small cluster, with a frozen disk and a paused node, until it is killed.
OWNER = """
import sys, time
from compose.cluster.start import start
from compose.spec.topology import Topology
with start(Topology(brokers=1, controllers=1, volume_mib=64), run_id=sys.argv[1]) as cluster:
    cluster.freeze(1)
    cluster.pause(101)
    print("up", flush=True)
    time.sleep(60)
"""


def left_of(run_id: str) -> list[str]:
    """Names of everything of the run that the engine or the kernel still has."""
    things = [*docker_nets.our_containers(), *docker_nets.our_networks(), *docker_nets.our_volumes()]
    files = [path.read_text().strip() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    directories = [str(path) for path in Path("/var/lib/highwater/disks").glob("*")]
    return [name for name in [*(t.name for t in things), *files, *directories] if run_id in name]


def own_and_die(run_id: str, after_s: float | None) -> None:
    """Let a process start a cluster, and kill it after so many seconds; None: when the cluster is up."""
    with subprocess.Popen([sys.executable, "-c", OWNER, run_id], stdout=subprocess.PIPE, text=True) as owner:
        if after_s is None:
            assert owner.stdout
            assert owner.stdout.readline() == "up\n"
        else:
            time.sleep(after_s)
        owner.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("number", range(4))
def test_killed_while_starting(number: int) -> None:
    """Killed at a random moment of the start, the owner's things are found by their labels and removed."""
    run_id = f"killed-{os.getpid()}-{number}"
    own_and_die(run_id, random.Random(number).uniform(0.6, 3.0))
    cleanup.clean_dead()
    assert left_of(run_id) == []


def test_killed_with_a_frozen_disk(shared_cluster: DockerCluster) -> None:
    """A frozen disk and a paused node do not keep a dead owner's things; a living run's are not touched."""
    run_id = f"killed-{os.getpid()}-up"
    own_and_die(run_id, None)
    assert len(left_of(run_id)) > 8
    report = cleanup.clean_dead()
    assert left_of(run_id) == []
    assert report.failed == ()
    assert sorted(name for name in report.containers if run_id in name) == [
        f"hw-{run_id}-{part}" for part in ("1", "101", "helper", "proxy")
    ]
    assert not [name for name in removed(report) if shared_cluster.run_id in name]
    assert f"{shared_cluster.run_id}: its owner is alive" in report.left
    assert shared_cluster.state(1).status == "running"


def removed(report: CleanReport) -> tuple[str, ...]:
    """Every name in the report's lists of removed things."""
    return (*report.containers, *report.networks, *report.volumes, *report.directories)


def test_quick_end() -> None:
    """A cluster goes within seconds, frozen, paused and cut as it is, also after an error."""
    run_id = f"ended-{os.getpid()}"
    began = 0.0

    def fail() -> None:
        nonlocal began
        with start(SMALL, run_id=run_id) as cluster:
            cluster.freeze(1)
            cluster.pause(1)
            cluster.mesh.cut(cluster.mesh.edges, mode="blackhole", owner="test")
            began = time.monotonic()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert time.monotonic() - began < 5
    assert left_of(run_id) == []


def test_second_run_of_a_name(shared_cluster: DockerCluster) -> None:
    """A run with the name of one that is there is refused, and that one goes on."""
    with (
        pytest.raises(NodeStateError, match="of a run of this name"),
        start(Topology(brokers=1, controllers=1), run_id=shared_cluster.run_id),
    ):
        pass
    assert shared_cluster.state(1).status == "running"
