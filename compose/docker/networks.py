"""Networks and volumes, and the lists by label of everything that carries our labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testcontainers.core.network import Network

from compose.docker.api import asking, client
from compose.docker.labels import RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A thing of the engine that carries our labels; `id` names it to the engine."""

    id: str
    name: str
    labels: Mapping[str, str]


def create_network(name: str, *, labels: Mapping[str, str], internal: bool) -> None:
    """Create a bridge network; an `internal` one has no way out of the machine."""
    network = Network(docker_network_kw={"labels": dict(labels), "internal": internal, "driver": "bridge"})
    network.name = name
    with asking(f"creating network {name}"):
        network.create()


def connect(network: str, container_id: str, *, aliases: Sequence[str]) -> None:
    """Join a container to `network`, in which it is also known by `aliases`."""
    with asking(f"joining container {container_id[:12]} to network {network}"):
        client().api.connect_container_to_network(container_id, network, aliases=list(aliases))


def remove_network(network_id: str, *, name: str) -> None:
    """Remove a network that no container is in."""
    with asking(f"removing network {name}"):
        client().api.remove_network(network_id)


def create_ext4_volume(name: str, *, device: str, labels: Mapping[str, str]) -> None:
    """Create a volume that mounts the ext4 on `device` while a container uses it."""
    with asking(f"creating volume {name}"):
        client().api.create_volume(
            name, driver="local", driver_opts={"type": "ext4", "device": device}, labels=dict(labels)
        )


def remove_volume(name: str) -> None:
    """Remove a volume that no container uses."""
    with asking(f"removing volume {name}"):
        client().api.remove_volume(name, force=True)


def our_containers() -> list[Labelled]:
    """Every container with our labels, running or not."""
    with asking("listing containers"):
        found = client().api.containers(all=True, filters={"label": RUN})
    return [_labelled(one, one["Names"][0].lstrip("/") if one["Names"] else one["Id"]) for one in found]


def our_networks() -> list[Labelled]:
    """Every network with our labels."""
    with asking("listing networks"):
        found = client().api.networks(filters={"label": RUN})
    return [_labelled(one, one["Name"]) for one in found]


def our_volumes() -> list[Labelled]:
    """Every volume with our labels."""
    with asking("listing volumes"):
        found = client().api.volumes(filters={"label": RUN})["Volumes"] or []
    return [_labelled({**one, "Id": one["Name"]}, one["Name"]) for one in found]


def _labelled(one: Mapping[str, Any], name: str) -> Labelled:
    return Labelled(id=one["Id"], name=name, labels=one["Labels"] or {})
