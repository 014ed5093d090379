"""Says what this machine lacks for a run, why that is needed, and what to do about it.

It changes nothing and never fails: what cannot be looked at is not ok.
"""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from compose.docker import api as docker_api
from compose.errors import ComposeError, EngineUnreachable
from compose.host.java import find_java
from compose.setup import prepare

if TYPE_CHECKING:
    from docker import DockerClient

GIB = 1024**3
# Three brokers, three controllers and the proxy take 1.3 GiB, Spark 1.5.
MEMORY_NEEDED_GIB = 3.0
# Images 1 GiB, what a run writes to three sparse volumes of up to 4 GiB each, and the run directory.
DISK_NEEDED_GIB = 5.0
OLDEST_PYTHON = (3, 11)
SETUP = "`make setup`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that a run needs: whether it is there, what was seen, why it is needed, and what to do."""

    name: str
    ok: bool
    seen: str
    why: str
    next_step: str
    """Empty if nothing is to be done."""


class Lack(ComposeError):
    """What a run needs is not there: what was seen instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Something to look for. `look` returns what it saw; it raises Lack, or anything, if not enough."""

    name: str
    why: str
    next_step: str
    look: Callable[[], str]


def examine() -> tuple[Check, ...]:
    """Look at this machine and return every check, in the order in which to put things right."""
    return tuple(check(need) for need in NEEDS)


def check(need: Need) -> Check:
    """Look for one need; an error of any kind is a need that is not met."""
    try:
        seen = need.look()
    except Exception as error:  # a doctor names what is wrong and looks on
        text = str(error) if isinstance(error, ComposeError) else f"{type(error).__name__}: {error}"
        first = text.partition("\n")[0]
        return Check(name=need.name, ok=False, seen=first, why=need.why, next_step=need.next_step)
    return Check(name=need.name, ok=True, seen=seen, why=need.why, next_step="")


def see_python() -> str:
    """Return which Python this is."""
    seen = f"{sys.version_info.major}.{sys.version_info.minor} in {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        raise Lack(seen)
    return seen


def see_packages(required: tuple[str, ...] | None = None) -> str:
    """Compare what the project requires (by default: what its own metadata says) with what is installed."""
    from packaging.requirements import Requirement

    texts = required if required is not None else tuple(metadata.requires("highwater") or ())
    for text in texts:
        requirement = Requirement(text)
        version = metadata.version(requirement.name)
        if not requirement.specifier.contains(version, prereleases=True):
            raise Lack(f"{text} is required, {version} is installed")
    return f"{len(texts)} as required"


def see_java() -> str:
    """Return which Java Spark will run on."""
    java = find_java()
    return f"Java {java.version or 'of unknown version'} in {java.home}"


def see_engine() -> str:
    """Return the version of the Docker Engine, and how it stores images."""
    try:
        info = docker_api.client().info()
    except EngineUnreachable as error:
        if "Permission denied" in str(error):
            raise Lack("an engine runs, and this user may not use it (Permission denied)") from error
        raise
    return f"Docker {info['ServerVersion']}, {info['Driver']}"


def see_images() -> str:
    """Return that all images of the default release are there."""
    _engine()
    missing = prepare.missing_images()
    if missing:
        raise Lack(f"missing: {', '.join(missing)}")
    return "all there"


def see_memory(meminfo: Path = Path("/proc/meminfo")) -> str:
    """Return the memory that is available now."""
    fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
    available_gib = int(fields["MemAvailable"].split()[0]) * 1024 / GIB
    return _enough(available_gib, MEMORY_NEEDED_GIB)


def see_disk() -> str:
    """Return the free space where the engine keeps images and volumes."""
    root = Path(str(_engine().info()["DockerRootDir"]))
    # The engine may be another's, or on another machine; then the nearest directory that is here has to do.
    seen = next(path for path in (root, *root.parents) if path.is_dir())
    return f"{_enough(shutil.disk_usage(seen).free / GIB, DISK_NEEDED_GIB)} in {seen}"


def see_loop_devices(control: Path = Path("/dev/loop-control")) -> str:
    """Return that this kernel can make loop devices."""
    if not control.exists():
        raise Lack(f"no {control}")
    return str(control)


def see_ext4(filesystems: Path = Path("/proc/filesystems")) -> str:
    """Return that this kernel knows ext4."""
    if "ext4" not in filesystems.read_text().split():
        raise Lack(f"no ext4 in {filesystems}")
    return str(filesystems)


def _engine() -> "DockerClient":
    try:
        return docker_api.client()
    except EngineUnreachable as error:
        raise Lack("cannot be told without a Docker Engine") from error


def _enough(found_gib: float, needed_gib: float) -> str:
    seen = f"{found_gib:.1f} GiB"
    if found_gib < needed_gib:
        raise Lack(f"{seen}, {needed_gib:g} GiB needed")
    return seen


NEEDS = (
    Need(
        name="python",
        look=see_python,
        why="highwater is written for Python 3.11 and newer",
        next_step=f"install Python 3.11 or newer, then {SETUP}",
    ),
    Need(
        name="packages",
        look=see_packages,
        why="a verdict must not depend on which versions a machine happens to have",
        next_step=SETUP,
    ),
    Need(name="java", look=see_java, why="Spark, which computes the verdict, runs on it", next_step=SETUP),
    Need(
        name="docker engine",
        look=see_engine,
        why="every node of a cluster is a container",
        next_step=f"{SETUP} as root on Debian; else start Docker, and join the group `docker` to use it",
    ),
    Need(
        name="images",
        look=see_images,
        why="nodes, proxies and disk helpers are made from them",
        next_step=SETUP,
    ),
    Need(
        name="memory",
        look=see_memory,
        why="three brokers, three controllers and Spark run at the same time",
        next_step="end what else uses memory; `highwater clean` removes the containers of dead runs",
    ),
    Need(
        name="disk space",
        look=see_disk,
        why="brokers that run out of space fail for a reason that no scenario asked for",
        next_step="free some: `docker system df` shows what images and volumes take",
    ),
    Need(
        name="loop devices",
        look=see_loop_devices,
        why="each broker's data is a file system in a file, so that its disk can stall or lose power",
        next_step="`modprobe loop`, or a machine whose kernel has loop devices",
    ),
    Need(
        name="ext4",
        look=see_ext4,
        why="brokers keep their data on it, and it can drop unsynced pages on request",
        next_step="`modprobe ext4`, or a machine whose kernel has ext4",
    ),
)
