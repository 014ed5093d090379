"""The formatted data directory of each node, from one run of Kafka's formatter instead of one JVM a node.

What differs between nodes is two lines of meta.properties. The rest, bootstrap.checkpoint, holds feature
levels and is the same for all. (Kafka's formatter does not sync it; `Disks.fill` does.)
"""

import base64
import re
import uuid
from collections.abc import Mapping, Sequence

from compose.docker import containers
from compose.docker.containers import ContainerSpec
from compose.errors import NodeNotReady
from compose.host.waiting import wait_until
from compose.spec.images import java_argv, kafka_image
from compose.spec.server_properties import DATA_DIR, format_features, render, server_properties
from compose.spec.topology import Topology

PROPERTIES = "/opt/highwater/server.properties"
FORMAT_S = 60.0
HEAP_MIB = 128


def format_spec(
    topology: Topology, *, name: str, network: str, labels: Mapping[str, str], appcds: bool
) -> ContainerSpec:
    """The container that formats a data directory for the first controller and exits."""
    node = topology.controller_ids[0]
    settings = server_properties(topology, node, client_address="127.0.0.1:1")
    options = ("--cluster-id", new_id(), "--config", PROPERTIES, *format_features(topology))
    return ContainerSpec(
        name=name,
        # The oldest release, so that every node knows the metadata.version that is written.
        image=kafka_image(topology.releases[0]),
        command=java_argv("kafka.tools.StorageTool", "format", *options, heap_mib=HEAP_MIB, archive=appcds),
        labels=labels,
        network=network,
        files={PROPERTIES: render(settings)},
    )


def formatted(spec: ContainerSpec) -> dict[str, bytes]:
    """Run the formatter and return the files of its data directory. Raises NodeNotReady with its output."""
    container = containers.start(spec)
    state = wait_until(
        f"{spec.name}: formatting has ended",
        lambda: containers.inspect(container.id)["State"],
        lambda state: state["Status"] == "exited",
        within_s=FORMAT_S,
    )
    if state["ExitCode"] != 0:
        output = containers.logs(container.id, lines=15)
        raise NodeNotReady(
            f"{spec.name}: Kafka's formatter failed with exit code {state['ExitCode']}:\n{output}"
        )
    files = containers.get_files(container.id, DATA_DIR)
    containers.remove(container.id, name=spec.name)
    return files


def for_nodes(files: Mapping[str, bytes], nodes: Sequence[int]) -> dict[int, dict[str, bytes]]:
    """`files` of one node as they must be for each of `nodes`."""
    return {node: {path: _of_node(path, content, node) for path, content in files.items()} for node in nodes}


def new_id() -> str:
    """A random id as Kafka writes them: 22 characters of URL-safe base 64, not starting with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def _of_node(path: str, content: bytes, node: int) -> bytes:
    if path != "meta.properties":
        return content
    text = re.sub(r"(?m)^node\.id=.*$", f"node.id={node}", content.decode())
    return re.sub(r"(?m)^directory\.id=.*$", f"directory.id={new_id()}", text).encode()
