"""What the machine must have before a cluster is started, so that a lack has a name and not a symptom."""

from compose.docker import api as docker_api
from compose.docker import images as docker_images
from compose.errors import ImageUnavailable, MachineError
from compose.host import memory
from compose.host.system import require_linux
from compose.nodes import clock_trial
from compose.spec.images import kafka_image, tools_image, toxiproxy_image
from compose.spec.topology import Topology, memory_mib


def check(topology: Topology) -> None:
    """Raise EngineUnreachable, ImageUnavailable or MachineError if `topology` cannot be started here."""
    require_linux()
    check_images(topology)
    check_clocks(topology)
    check_memory(memory_mib(topology), available_mib())


def check_images(topology: Topology) -> None:
    """Raise ImageUnavailable with the names of the images that the engine lacks."""
    wanted = (*map(kafka_image, topology.every_release), toxiproxy_image(), tools_image())
    missing = [name for name in wanted if not docker_images.exists(name)]
    if missing:
        raise ImageUnavailable(
            f"the Docker Engine has no image {', '.join(missing)}\n"
            "    next step: `make setup` pulls or builds them"
        )


def check_clocks(topology: Topology) -> None:
    """Raise MachineError with the image of a node whose clock is to be set, and in which none can be.

    Such a node may be brought to any later release, and its clock is to be set there too.
    """
    later = topology.later if topology.clocks else ()
    for release in dict.fromkeys((*map(topology.release_of, topology.clocks), *later)):
        clock_trial.try_a_clock(kafka_image(release))


def check_memory(needed_mib: int, free_mib: int) -> None:
    """Raise MachineError if the nodes may need more than there is, and so one would be killed for it."""
    if needed_mib > free_mib:
        raise MachineError(
            f"memory: the nodes need up to {needed_mib} MiB, {free_mib} MiB are available\n"
            "    next step: end other programs, or use fewer nodes or smaller heaps"
        )


def available_mib() -> int:
    """Memory that new processes can have on the engine's machine; all of it, if that is another machine."""
    total = int(docker_api.client().info()["MemTotal"]) // 2**20
    available = memory.available_bytes() if docker_api.is_local() else None
    return total if available is None else min(total, available // 2**20)
