"""Lists what this machine lacks for a run, why that is needed, and what to do about it.

It changes nothing and never fails: what cannot be examined is not ok.
"""

import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from compose.docker import api as docker_api
from compose.errors import ComposeError, EngineUnreachable
from compose.host import memory
from compose.host.java import find_java
from compose.host.system import require_linux
from compose.nodes.clocks import clock_trial
from compose.setup import disk_trial, prepare
from compose.spec import images

if TYPE_CHECKING:
    from docker import DockerClient
    from packaging.requirements import Requirement

GIB = 1024**3
# Three brokers, three controllers and the proxy take 1.3 GiB, Spark 1.5.
MEMORY_NEEDED_GIB = 3.0
# Images 1 GiB, what a run writes to three sparse volumes (1 GiB each by default), and the run directory.
DISK_NEEDED_GIB = 5.0
OLDEST_PYTHON = (3, 11)
SETUP = "`highwater setup`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that a run needs: whether it is there, what is there, why it is needed, and what to do."""

    name: str
    ok: bool
    seen: str
    why: str
    next_step: str
    """Empty if nothing is to be done."""


class Lack(ComposeError):
    """What a run needs is not there; the message is what is there instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A thing to be there. `find` returns what is there; it raises Lack, or anything, if not enough."""

    name: str
    why: str
    next_step: str
    find: Callable[[], str]


def examine() -> tuple[Check, ...]:
    """Examine this machine and return every check, in the order in which to put things right."""
    return tuple(check(need) for need in NEEDS)


def check(need: Need) -> Check:
    """Check one need; an error of any kind is a need that is not met."""
    try:
        found = need.find()
    except Exception as error:  # one trouble must not hide the next
        text = str(error) if isinstance(error, ComposeError) else f"{type(error).__name__}: {error}"
        first = text.partition("\n")[0]
        return Check(name=need.name, ok=False, seen=first, why=need.why, next_step=need.next_step)
    return Check(name=need.name, ok=True, seen=found, why=need.why, next_step="")


def system_name() -> str:
    """Return which Linux this is."""
    require_linux()
    return f"Linux {platform.release()}"


def python_version() -> str:
    """Return which Python this is."""
    found = f"{sys.version_info.major}.{sys.version_info.minor} in {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        raise Lack(found)
    return found


def packages_installed(required: tuple[str, ...] | None = None) -> str:
    """Compare what a run requires (by default: highwater's own metadata) with what is installed."""
    from packaging.requirements import Requirement

    texts = required if required is not None else tuple(metadata.requires("highwater") or ())
    wanted = [each for each in map(Requirement, texts) if _is_for_a_run(each)]
    for requirement in wanted:
        version = metadata.version(requirement.name)
        if not requirement.specifier.contains(version, prereleases=True):
            raise Lack(f"{requirement} is required, {version} is installed")
    return f"{len(wanted)} as required"


def _is_for_a_run(requirement: "Requirement") -> bool:
    """Those of the extra "dev" are not."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def java_version() -> str:
    """Return which Java Spark will run on."""
    java = find_java()
    return f"Java {java.version or 'of unknown version'} in {java.home}"


def engine_version() -> str:
    """Return the version of the Docker Engine, and how it stores images."""
    try:
        info = docker_api.client().info()
    except EngineUnreachable as error:
        if "Permission denied" in str(error):
            raise Lack("an engine runs, and this user may not use it (Permission denied)") from error
        raise
    return ", ".join([f"Docker {info['ServerVersion']}", str(info["Driver"]), *_peculiarities(info)])


def _peculiarities(info: Mapping[str, Any]) -> Iterator[str]:
    """What an engine says of itself that decides what can work on it."""
    if any("rootless" in option for option in info.get("SecurityOptions") or ()):
        yield "rootless"
    if "desktop" in str(info.get("OperatingSystem", "")).lower():
        yield str(info["OperatingSystem"])
    if not docker_api.is_local():
        yield f"at {docker_api.host()}"


def images_present() -> str:
    """Return that all images of the default release are there."""
    _engine()
    missing = prepare.missing_images()
    if missing:
        raise Lack(f"missing: {', '.join(missing)}")
    return "all there"


def memory_available() -> str:
    """Return the memory that is available now."""
    available = memory.available_bytes()
    if available is None:
        raise Lack("this system does not tell its available memory; Linux does")
    return _enough(available / GIB, MEMORY_NEEDED_GIB)


def disk_free() -> str:
    """Return the free space where the engine keeps images and volumes."""
    _engine()
    root = docker_api.root()
    # The engine may be another's, or on another machine; then the nearest directory that is here has to do.
    here = next(path for path in (root, *root.parents) if path.is_dir())
    return f"{_enough(shutil.disk_usage(here).free / GIB, DISK_NEEDED_GIB)} in {here}"


def disk_made() -> str:
    """Return that a node's disk works on the engine's machine: one is made, frozen, thawed and removed."""
    if prepare.missing_images():
        raise Lack("not known without the images")
    return f"a disk was made, frozen and thawed, with {disk_trial.try_a_disk()} MiB free on it, and removed"


def clock_set() -> str:
    """Return that a node can have a clock of its own: a process of its image is started with one."""
    if prepare.missing_images():
        raise Lack("not known without the images")
    ahead_s = clock_trial.try_a_clock(images.kafka_image())
    return f"a process was given a clock {ahead_s / 86_400:.0f} days ahead"


def _engine() -> "DockerClient":
    try:
        return docker_api.client()
    except EngineUnreachable as error:
        raise Lack("not known without a Docker Engine") from error


def _enough(found_gib: float, needed_gib: float) -> str:
    found = f"{found_gib:.1f} GiB"
    if found_gib < needed_gib:
        raise Lack(f"{found}, {needed_gib:g} GiB needed")
    return found


NEEDS = (
    Need(
        name="system",
        find=system_name,
        why="what a run measures and breaks is Linux's: file systems, pages, processes, connections",
        next_step="a Linux machine, or a virtual one",
    ),
    Need(
        name="python",
        find=python_version,
        why="highwater is written for Python 3.11 and newer",
        next_step=f"install Python 3.11 or newer, then {SETUP}",
    ),
    Need(
        name="packages",
        find=packages_installed,
        why="a verdict must not depend on which versions a machine happens to have",
        next_step="install highwater again, with its dependencies; in a checkout, `make setup`",
    ),
    Need(
        name="java",
        find=java_version,
        why="Spark, which computes the verdict, runs on it",
        next_step=SETUP,
    ),
    Need(
        name="docker engine",
        find=engine_version,
        why="every node of a cluster is a container",
        next_step=f"{SETUP} as root on Debian; else start Docker, and join the group `docker` to use it",
    ),
    Need(
        name="images",
        find=images_present,
        why="nodes, proxies and disk helpers are made from them",
        next_step=SETUP,
    ),
    Need(
        name="memory",
        find=memory_available,
        why="three brokers, three controllers and Spark run at the same time",
        next_step="end what else uses memory; `highwater clean` removes the containers of dead runs",
    ),
    Need(
        name="disk space",
        find=disk_free,
        why="brokers that run out of space fail for a reason that no scenario asked for",
        next_step="free some: `docker system df` shows what images and volumes take",
    ),
    Need(
        name="disks",
        find=disk_made,
        why="each broker's data is a file system in a file, so that its disk can stall or lose power",
        next_step="`modprobe loop ext4`; rootless engines have no loop devices: use one that runs as root",
    ),
    Need(
        name="clocks",
        find=clock_set,
        why="a node's clock is set by a library in its image; scenarios that set none do without",
        next_step=SETUP,
    ),
)
