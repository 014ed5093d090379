"""What the machine must have before a cluster is started, so that a lack has a name and not a symptom."""

from collections.abc import Iterator, Mapping

from compose.docker import api as docker_api
from compose.docker import images as docker_images
from compose.errors import ImageUnavailable, MachineError
from compose.host import memory
from compose.host.system import require_linux
from compose.nodes.clocks import clock_trial
from compose.spec.images import kafka_image, tools_image, toxiproxy_image
from compose.spec.topology import Topology, memory_mib

HARNESS_MIB, SPARK_MIB = 400, 2048
"""What a run needs beside its nodes: itself most while it reads and seals, Spark while it judges. Measured in
docs/soak.md. In a suite the nodes of the next run may start while one goes on, and another is judged."""


def check(topology: Topology) -> None:
    """Raise EngineUnreachable, ImageUnavailable or MachineError if `topology` cannot be started here."""
    require_linux()
    check_images(topology)
    check_clocks(topology)
    for needed, free_mib in memory_needs(topology):
        check_memory(needed, free_mib)


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


def memory_needs(topology: Topology) -> Iterator[tuple[Mapping[str, int], int]]:
    """For each machine what is needed of it, by who needs it, and what it has; in MiB.

    Of a run and its Spark it is what they have yet to take: the second run of a suite finds them there.
    """
    nodes = {"the nodes": memory_mib(topology)}
    here = {"the run and its Spark": max(0, HARNESS_MIB + SPARK_MIB - (memory.held_bytes() >> 20))}
    if docker_api.is_local():
        yield nodes | here, available_mib()
        return
    yield nodes, available_mib()
    if (available := memory.available_bytes()) is not None:
        yield here, available >> 20


def check_memory(needed: Mapping[str, int], free_mib: int) -> None:
    """Raise MachineError if more may be needed than there is, and so some process would be killed for it."""
    if sum(needed.values()) > free_mib:
        parts = ", ".join(f"{who} need up to {mib} MiB" for who, mib in needed.items())
        raise MachineError(
            f"memory: {parts}, {free_mib} MiB are available\n"
            "    next step: end other programs, or use fewer nodes or smaller heaps"
        )


def available_mib() -> int:
    """Memory that new processes can have on the engine's machine; all of it, if that is another machine."""
    total = int(docker_api.client().info()["MemTotal"]) // 2**20
    available = memory.available_bytes() if docker_api.is_local() else None
    return total if available is None else min(total, available // 2**20)
