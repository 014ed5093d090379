"""Prepares a machine for a run: Java, Docker Engine and images. `highwater setup` calls it.

What is there already is found at once, so a second set-up takes a second.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from compose.docker import api as docker_api
from compose.docker import images as docker_images
from compose.errors import ComposeError
from compose.host.cache import cache_folder
from compose.host.progress import OnLine, print_line
from compose.host.system import require_linux
from compose.setup import build, engine, java
from compose.setup.registry import Registries
from compose.spec import images
from compose.spec.topology import DEFAULT_RELEASE


def ensure_images(release: str = DEFAULT_RELEASE, on_line: OnLine = print_line) -> None:
    """Return when the images for a cluster of `release` are here; pull or build what is missing.

    Raises EngineUnreachable, ImageUnavailable, CommandFailed.
    """
    if not missing_images(release):
        return
    registries = Registries(on_line)
    makers: dict[str, Callable[[], None]] = {
        images.base_image(): lambda: build.build_base(registries, on_line),
        images.toxiproxy_image(): lambda: build.build_toxiproxy(registries, on_line),
        images.kafka_image(release): lambda: build.build_kafka(release, registries, on_line),
    }
    with _one_at_a_time():
        # Asked again under the lock: another process may have made them while we waited for it.
        for name in missing_images(release):
            makers[name]()


def missing_images(release: str = DEFAULT_RELEASE) -> tuple[str, ...]:
    """Return the names of the images that a cluster of `release` needs and the engine lacks, as to build.

    Raises EngineUnreachable.
    """
    needed = (images.base_image(), images.toxiproxy_image(), images.kafka_image(release))
    return tuple(name for name in needed if not docker_images.exists(name))


def prepare_machine(*, docker: bool, on_line: OnLine) -> None:
    """Prepare everything that a run needs, or all but Docker. Raises MachineError, CommandFailed."""
    if docker:
        require_linux()
    home = java.ensure_java(on_line).home
    if not docker:
        on_line(f"ready: Java in {home}")
        return
    started = engine.ensure_engine(on_line)
    ensure_images(on_line=on_line)
    if started:
        _clean_after_a_dead_machine(on_line)
    version = docker_api.client().version()["Version"]
    on_line(
        f"ready: Java in {home}, Docker Engine {version}, {images.kafka_image()}, {images.toxiproxy_image()}"
    )


def _clean_after_a_dead_machine(on_line: OnLine) -> None:
    """Remove what is left of runs whose owners ended together with the last daemon."""
    # Imported here because it is rare, and quick set-up matters: cleaning takes a container of its own.
    from compose.cleanup import cleanup

    try:
        report = cleanup.clean_dead()
    except ComposeError as error:
        # What is left takes space, but keeps no run from starting.
        on_line(f"{error}\n    next step: `highwater clean`")
        return
    if not report.did_nothing():
        on_line(
            f"removed what dead runs left: {len(report.containers)} containers, {len(report.devices)} disks"
        )
    for trouble in report.failed:
        on_line(f"could not be removed: {trouble}")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "images.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
