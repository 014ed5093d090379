"""How this process reaches the ports of containers, so that as few others as possible do.

Where the engine's networks are this machine's own, a container is reached at its own address, and no port of
the machine listens for it. Elsewhere (a rootless engine, a desktop's virtual machine, another machine) the
engine publishes ports.
"""

import functools
import socket
from collections.abc import Mapping
from ipaddress import ip_network

from testcontainers.core.utils import inside_container

from compose.docker.api import asking, client, is_local
from compose.errors import Vanished

LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"


@functools.cache
def is_direct() -> bool:
    """Whether containers are reached at their own addresses: their gateway is an address of this machine."""
    if not is_local():
        return False
    try:
        with asking("inspecting the network bridge"):
            configs = client().api.inspect_network("bridge")["IPAM"]["Config"]
    except Vanished:
        return False
    return any(_is_own(_gateway(each)) for each in configs or ())


def published_at() -> str:
    """Where published ports listen: loopback, unless the engine is on another machine, or starts containers
    beside the one that this process is in."""
    return LOOPBACK if is_direct() or (is_local() and not inside_container()) else EVERYWHERE


def _gateway(config: Mapping[str, str]) -> str:
    """An engine that has just made its bridge names only the subnet; it takes the first address of that."""
    if address := config.get("Gateway"):
        return address
    subnet = config.get("Subnet")
    return str(next(ip_network(subnet).hosts())) if subnet else ""


def _is_own(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address or EVERYWHERE, 0))
        except OSError:
            return False
    return bool(address)
