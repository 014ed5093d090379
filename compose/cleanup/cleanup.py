"""Removing what runs have left: of dead owners, of one run at its end, or of all.

Order matters. A frozen file system blocks the kill of a process that writes to it, and one with much unsynced
data its unmounting, so disks are abandoned first; a volume and a network go after the containers that use
them; a loop device goes after its file system was unmounted with them.
"""

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial

from compose.cleanup.leftovers import Leftovers, add_disks, on_engine
from compose.docker import containers as docker_containers
from compose.docker import images as docker_images
from compose.docker import networks as docker_nets
from compose.docker.labels import owner_of
from compose.docker.networks import Labelled
from compose.errors import ComposeError, Refused, Vanished
from compose.host.waiting import wait_until
from compose.nodes.helper import DISKS_DIR, Helper, helper_spec
from compose.spec.images import tools_image

AT_ONCE = 8
GONE_S = 10.0
GONE = "gone"
"""What disk.sh prints of a device that has another file by now, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanReport:
    """Names of what was removed; `left`: runs left alone, and why; `failed`: what would not go, and why."""

    containers: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    def __add__(self, other: "CleanReport") -> "CleanReport":
        return CleanReport(
            **{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)}
        )

    def lines(self) -> list[str]:
        """One line for each thing, for a person."""
        removed = [
            f"removed {kind} {name}"
            for kind, names in (
                ("container", self.containers),
                ("network", self.networks),
                ("volume", self.volumes),
                ("loop device", self.devices),
                ("disks of run", self.directories),
            )
            for name in names
        ]
        return [
            *removed,
            *(f"left alone {run}" for run in self.left),
            *(f"FAILED {why}" for why in self.failed),
        ]

    def did_nothing(self) -> bool:
        """Whether there was nothing to remove."""
        return not any(getattr(self, one.name) for one in fields(self) if one.name != "left")


def clean_dead() -> CleanReport:
    """Remove what runs of dead owners left, and only that. Raises EngineUnreachable."""
    return _clean(lambda run: run.life() == "dead")


def clean_all() -> CleanReport:
    """Remove everything that carries our labels, also of runs that are alive. Raises EngineUnreachable."""
    return _clean(lambda run: True)


def clean_run(run_id: str, helper: Helper | None = None) -> CleanReport:
    """Remove everything of one run, with its own `helper` if that still runs: the quick end of a cluster."""
    report = _clean(lambda run: run.run_id == run_id, helper)
    return replace(report, left=())


def _clean(chosen: Callable[[Leftovers], bool], helper: Helper | None = None) -> CleanReport:
    found = on_engine()
    report = CleanReport()
    with _standing_or_own(helper) as disk_helper:
        if disk_helper:
            add_disks(found, disk_helper.disk("list", str(DISKS_DIR)))
        elif found:
            report = CleanReport(failed=(f"disks: they cannot be listed without image {tools_image()}",))
        report += _remove([run for run in found.values() if chosen(run)], disk_helper)
    left = [f"{run.run_id}: its owner is {run.life()}" for run in found.values() if not chosen(run)]
    return replace(report, left=tuple(left))


@contextmanager
def _standing_or_own(helper: Helper | None) -> Iterator[Helper | None]:
    """The `helper` that there is, or one of our own for a moment; None where there is no image for it."""
    if helper:
        yield helper
        return
    if not docker_images.exists(tools_image()):
        yield None
        return
    run_id = f"cleanup-{uuid.uuid4().hex[:8]}"
    labels = owner_of(run_id, os.getpid()).labels()
    container = docker_containers.start(helper_spec(name=f"hw-{run_id}", network="none", labels=labels))
    try:
        yield Helper(container_id=container.id)
    finally:
        docker_containers.remove(container.id, name=container.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One thing to remove; `kind` is the field of the report that its name goes to, "" for none."""

    kind: str
    name: str
    do: Callable[[], object]

    def report(self) -> CleanReport:
        """Do it, and report what came of it."""
        try:
            self.do()
        except Vanished:
            return CleanReport()
        except ComposeError as error:
            return CleanReport(failed=(str(error),))
        return CleanReport(**{self.kind: (self.name,)}) if self.kind else CleanReport()


def _remove(runs: Iterable[Leftovers], helper: Helper | None) -> CleanReport:
    """Do the jobs of each stage at once, the stages one after the other; an error does not end it."""
    report = CleanReport()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for jobs in _stages(list(runs), helper):
            for outcome in pool.map(_Job.report, jobs):
                report += outcome
    return report


def _stages(runs: list[Leftovers], helper: Helper | None) -> list[list[_Job]]:
    def on_disk(kind: str, names: Iterable[str], how: Callable[[Helper, str], object]) -> list[_Job]:
        if helper is None:
            return []
        return [_Job(kind=kind, name=name, do=partial(how, helper, name)) for name in names]

    def remove(kind: str, things: Iterable[Labelled], how: Callable[[Labelled], object]) -> list[_Job]:
        return [_Job(kind=kind, name=thing.name, do=partial(how, thing)) for thing in things]

    devices = {device: file for run in runs for device, file in run.devices.items()}
    directories = [name for run in runs for name in run.directories]
    containers = [one for run in runs for one in run.containers]
    helper_id = helper.container_id if helper else ""
    return [
        on_disk("", devices, lambda one, device: one.disk("abandon", device, devices[device])),
        remove("containers", (one for one in containers if one.id != helper_id), _remove_container),
        on_disk("devices", devices, lambda one, device: _detach(one, device, devices[device])),
        on_disk("directories", directories, lambda one, name: one.disk("remove", f"{DISKS_DIR}/{name}")),
        remove("containers", (one for one in containers if one.id == helper_id), _remove_container),
        remove("volumes", (one for run in runs for one in run.volumes), _remove_volume),
        remove("networks", (one for run in runs for one in run.networks), _remove_network),
    ]


def _detach(helper: Helper, device: str, file: str) -> None:
    """Detach it, if it is the one that was found: the kernel gives a number that is free to whoever asks."""
    if helper.disk("detach", device, file).strip() == GONE:
        raise Vanished(f"{device} has the file {file} no more")


def _remove_container(one: Labelled) -> None:
    """Remove it; where another process is removing it already, wait until it is gone."""
    try:
        docker_containers.remove(one.id, name=one.name)
    except Refused:
        wait_until(
            f"container {one.name} is gone",
            lambda: [other.id for other in docker_nets.our_containers()],
            lambda ids: one.id not in ids,
            within_s=GONE_S,
        )


def _remove_volume(one: Labelled) -> None:
    docker_nets.remove_volume(one.name)


def _remove_network(one: Labelled) -> None:
    docker_nets.remove_network(one.id, name=one.name)
