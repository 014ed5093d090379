"""Whose things are removed, in which order, and what is left alone."""

import json
import os
from dataclasses import replace
from functools import partial

import pytest

from compose.cleanup import cleanup, leftovers
from compose.docker import containers as docker_containers
from compose.docker import images as docker_images
from compose.docker import networks as docker_nets
from compose.docker.containers import Container, ContainerSpec
from compose.docker.labels import Owner, owner_of
from compose.docker.networks import Labelled
from compose.errors import DiskError, NodeStateError, Vanished
from compose.nodes.helper import Helper

ALIVE = owner_of("alive-1", os.getpid())
DEAD = replace(ALIVE, run_id="dead-1", start="1@elsewhen")
FOREIGN = replace(DEAD, run_id="foreign-1", host="elsewhere/pid:[1]")


class FakeEngine:
    """Things with labels, loop devices with files, and what was done to them in which order."""

    def __init__(self) -> None:
        self.containers: list[Labelled] = []
        self.networks: list[Labelled] = []
        self.volumes: list[Labelled] = []
        self.listing: list[str] = []
        self.done: list[str] = []
        self.broken: dict[str, Exception] = {}
        self.gone: set[str] = set()

    def add_run(self, owner: Owner, device: str) -> None:
        """A run of one node with a disk."""
        for kind in ("containers", "networks", "volumes"):
            name = f"{owner.run_id}-{kind[:-1]}"
            getattr(self, kind).append(Labelled(id=name, name=name, labels=owner.labels()))
        self.listing.append(f"directory {owner.run_id} {json.dumps(owner.labels())}")
        self.listing.append(f"device {device} /disks/{owner.run_id}/highwater_{owner.run_id}_1.img")

    def start(self, spec: ContainerSpec) -> Container:
        return Container(id="own-helper", name=spec.name, addresses={})

    def do(self, what: str) -> None:
        self.done.append(what)
        for name, error in self.broken.items():
            if name in what:
                raise error

    def disk(self, helper: Helper, *argv: str, within_s: float = 0) -> str:
        if argv[0] == "list":
            return "\n".join(sorted(self.listing, key=lambda line: not line.startswith("directory")))
        self.do(" ".join(argv))
        return "gone\n" if argv[1] in self.gone and argv[0] == "detach" else ""


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """An engine with nothing on it."""
    made = FakeEngine()
    for kind in ("containers", "networks", "volumes"):
        monkeypatch.setattr(leftovers, f"our_{kind}", partial(getattr, made, kind))
        monkeypatch.setattr(docker_nets, f"our_{kind}", partial(getattr, made, kind))
    monkeypatch.setattr(docker_images, "exists", lambda name: True)
    monkeypatch.setattr(docker_containers, "start", made.start)
    monkeypatch.setattr(docker_containers, "remove", lambda one, *, name: made.do(f"rm {one}"))
    monkeypatch.setattr(docker_nets, "remove_network", lambda one, *, name: made.do(f"network rm {one}"))
    monkeypatch.setattr(docker_nets, "remove_volume", lambda name: made.do(f"volume rm {name}"))
    monkeypatch.setattr(Helper, "disk", lambda self, *argv, within_s=0.0: made.disk(self, *argv))
    monkeypatch.setattr(cleanup, "GONE_S", 0.0)
    return made


def test_only_the_dead(engine: FakeEngine) -> None:
    """What a dead owner left goes, in order of dependence; the rest is left alone, with the reason."""
    engine.add_run(DEAD, "/dev/loop1")
    engine.add_run(ALIVE, "/dev/loop2")
    engine.add_run(FOREIGN, "/dev/loop3")
    report = cleanup.clean_dead()
    assert engine.done == [
        "abandon /dev/loop1 highwater_dead-1_1.img",
        "rm dead-1-container",
        "detach /dev/loop1 highwater_dead-1_1.img",
        "remove /var/lib/highwater/disks/dead-1",
        "volume rm dead-1-volume",
        "network rm dead-1-network",
        "rm own-helper",
    ]
    assert (report.containers, report.devices) == (("dead-1-container",), ("/dev/loop1",))
    assert report.left == ("alive-1: its owner is alive", "foreign-1: its owner is foreign")
    assert report.failed == ()


def test_what_dead_runs_have_left_is_named(engine: FakeEngine) -> None:
    """A next run names it, before its own cluster is started."""
    engine.add_run(DEAD, "/dev/loop1")
    engine.add_run(ALIVE, "/dev/loop2")
    (dead,) = leftovers.of_dead_runs()
    assert dead.in_words() == "run dead-1: 1 containers, 1 networks, 1 volumes"


def test_what_one_dead_process_has_left(engine: FakeEngine) -> None:
    """Whatever run it was: a suite goes on in another process, under another run's id."""
    engine.add_run(DEAD, "/dev/loop1")
    engine.add_run(ALIVE, "/dev/loop2")
    named = [
        [run.run_id for run in leftovers.of_dead_process(replace(one, run_id="s"))] for one in (DEAD, ALIVE)
    ]
    assert named == [["dead-1"], []]
    assert leftovers.of_dead_process(replace(DEAD, pid=DEAD.pid + 1)) == ()


def test_everything(engine: FakeEngine) -> None:
    """Asked for all, runs go whoever owns them."""
    engine.add_run(DEAD, "/dev/loop1")
    engine.add_run(ALIVE, "/dev/loop2")
    engine.add_run(FOREIGN, "/dev/loop3")
    report = cleanup.clean_all()
    assert report.directories == ("dead-1", "alive-1", "foreign-1")
    assert report.left == ()


def test_one_run_with_its_own_helper(engine: FakeEngine) -> None:
    """At a run's end its own helper does the work, and goes after the disks that it must remove."""
    engine.add_run(ALIVE, "/dev/loop2")
    engine.add_run(DEAD, "/dev/loop1")
    engine.containers.append(Labelled(id="helper", name="alive-1-helper", labels=ALIVE.labels()))
    report = cleanup.clean_run("alive-1", Helper(container_id="helper"))
    detached = engine.done.index("detach /dev/loop2 highwater_alive-1_1.img")
    assert engine.done.index("rm alive-1-container") < detached < engine.done.index("rm helper")
    assert not [what for what in engine.done if "dead" in what or "own-helper" in what]
    assert report.left == ()


def test_disks_that_docker_has_forgotten(engine: FakeEngine) -> None:
    """A run of which only disks are left is removed by the owner that is written beside them."""
    engine.add_run(DEAD, "/dev/loop1")
    engine.containers, engine.networks, engine.volumes = [], [], []
    assert cleanup.clean_dead().devices == ("/dev/loop1",)


def test_loop_devices_of_others(engine: FakeEngine) -> None:
    """Of loop devices that nothing here accounts for, only those on our deleted files are ours to take."""
    engine.listing = [
        r"device /dev/loop1 /run-1/highwater_run-1_1.img\x20(deleted)",
        "device /dev/loop2 /run-2/highwater_run-2_1.img",
        "device /dev/loop3 /run-3/highwater_run-4_1.img",
        "device /dev/loop4 /home/somebody/disk.img",
        r"device /dev/loop5 /run-1/highwater_run-1_1-2.img\x20(deleted)",
    ]
    assert cleanup.clean_all().devices == ("/dev/loop1", "/dev/loop5")


def test_errors_do_not_end_it(engine: FakeEngine) -> None:
    """What will not go is reported, and the rest goes."""
    engine.add_run(DEAD, "/dev/loop1")
    engine.broken = {"detach": DiskError("device busy"), "volume rm": NodeStateError("volume in use")}
    report = cleanup.clean_dead()
    assert report.failed == ("device busy", "volume in use")
    assert report.networks == ("dead-1-network",)
    assert report.lines()[-2:] == ["FAILED device busy", "FAILED volume in use"]


def test_vanished_meanwhile(engine: FakeEngine) -> None:
    """What somebody else has removed meanwhile is neither removed by us nor a failure."""
    engine.add_run(DEAD, "/dev/loop1")
    engine.broken = {"rm dead-1-container": Vanished("no such container")}
    report = cleanup.clean_dead()
    assert (report.containers, report.failed) == ((), ())


def test_a_device_that_somebody_else_has_detached_meanwhile(engine: FakeEngine) -> None:
    """It may be of another run by now: that it is gone is no failure, and not our doing."""
    engine.add_run(DEAD, "/dev/loop1")
    engine.gone = {"/dev/loop1"}
    report = cleanup.clean_dead()
    assert (report.devices, report.failed) == ((), ())
    assert report.directories == ("dead-1",)


def test_without_the_tools_image(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an image for a helper the rest goes, and the disks are named as not listed."""
    monkeypatch.setattr(docker_images, "exists", lambda name: False)
    assert cleanup.clean_dead().did_nothing()
    engine.add_run(DEAD, "/dev/loop1")
    report = cleanup.clean_dead()
    assert report.containers == ("dead-1-container",)
    assert "they cannot be listed" in report.failed[0]


def test_nothing_to_do(engine: FakeEngine) -> None:
    """On a clean machine nothing is done, and that is reported."""
    report = cleanup.clean_dead()
    assert report.did_nothing()
    assert report.lines() == []
    assert engine.done == ["rm own-helper"]
