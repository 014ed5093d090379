"""The formatted log directories of each node, from one run of Kafka's formatter instead of one JVM a node.

What differs between nodes is two lines of meta.properties, and between clusters a third. The rest holds
feature levels and is the same for all: what the formatter of an image has made of the same settings is kept
in the user's cache folder. (It does not sync its files; `Disks.fill` does.)

The formatter gets as many log directories as a node of the cluster can have. What it has made of each is for
that directory of every node that has one: the first, which is to have the metadata log, may have more in it.
"""

import base64
import hashlib
import json
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from compose.docker import containers
from compose.docker.containers import ContainerSpec
from compose.errors import NodeNotReady
from compose.host.cache import cache_folder
from compose.host.waiting import wait_until
from compose.spec.images import java_argv, kafka_image
from compose.spec.server_properties import (
    format_features,
    log_dir_settings,
    log_dirs,
    render,
    server_properties,
)
from compose.spec.topology import Topology

Files = dict[str, bytes]
"""What a formatted directory holds, by path."""

PROPERTIES = "/opt/highwater/server.properties"
FORMAT_S = 60.0
HEAP_MIB = 128
ANY_CLUSTER = "highwaterAnyClusterAAA"
"""Stands for the cluster's id in what the formatter makes."""


def format_spec(
    topology: Topology, *, name: str, network: str, labels: Mapping[str, str], appcds: bool
) -> ContainerSpec:
    """The container that formats all log directories for the first controller of a cluster, and exits."""
    node = topology.controller_ids[0]
    settings = server_properties(topology, node, client_address="127.0.0.1:1")
    settings |= log_dir_settings(topology.log_dirs)
    options = ("--cluster-id", ANY_CLUSTER, "--config", PROPERTIES, *format_features(topology))
    return ContainerSpec(
        name=name,
        # Every node knows the metadata.version that is written: none is of an older release.
        image=kafka_image(topology.format_release),
        command=java_argv("kafka.tools.StorageTool", "format", *options, heap_mib=HEAP_MIB, archive=appcds),
        labels=labels,
        network=network,
        files={PROPERTIES: render(settings)},
    )


def formatted(spec: ContainerSpec, *, count: int) -> tuple[Files, ...]:
    """The files of the formatter's `count` log directories, in their order, for a cluster of its own: kept
    ones, or it is run.

    Raises NodeNotReady with its output.
    """
    kept = cache_folder() / f"formatted-{_digest(spec)}.json"
    made = _kept(kept)
    if len(made) != count or not all("meta.properties" in files for files in made):
        made = _format(spec, count)
        _keep(kept, made)
    cluster = new_id().encode()
    return tuple(
        {path: content.replace(ANY_CLUSTER.encode(), cluster) for path, content in files.items()}
        for files in made
    )


def _digest(spec: ContainerSpec) -> str:
    """Of all that the formatter's result depends on; the image's name has a digest of what it is made of."""
    inputs = [spec.image, *spec.command, *(f"{path}={text}" for path, text in sorted(spec.files.items()))]
    return hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:16]


def _kept(path: Path) -> tuple[Files, ...]:
    """Nothing if it is not there, or not readable."""
    try:
        kept = json.loads(path.read_text())
        return tuple(
            {name: base64.b64decode(text, validate=True) for name, text in files.items()} for files in kept
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return ()


def _keep(path: Path, made: Sequence[Files]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    growing = path.with_suffix(f".{os.getpid()}")
    texts = [{name: base64.b64encode(its).decode() for name, its in files.items()} for files in made]
    growing.write_text(json.dumps(texts))
    growing.replace(path)


def _format(spec: ContainerSpec, count: int) -> tuple[Files, ...]:
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
    made = tuple(containers.get_files(container.id, path) for path in log_dirs(count))
    containers.remove(container.id, name=spec.name)
    return made


def for_nodes(made: Sequence[Files], counts: Mapping[int, int]) -> dict[int, tuple[Files, ...]]:
    """The files of one node's log directories as they must be for each node; `counts`: how many it has."""
    return {
        node: tuple(
            {path: _of_node(path, content, node) for path, content in files.items()} for files in made[:count]
        )
        for node, count in counts.items()
    }


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
