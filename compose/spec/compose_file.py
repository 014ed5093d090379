"""The same topology as files for Docker Compose, to bring it up by hand and reproduce an incident.

`python -m compose.spec.compose_file write` writes compose.yaml and toxiproxy.json into `compose`, `… images`
prints the two variables that the file wants. What differs from a cluster of `highwater run`: the disks are
plain volumes, so there are no disk faults, and the proxy finds its neighbours by name.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from compose.errors import TopologyError
from compose.spec.images import java_argv, kafka_image, toxiproxy_image
from compose.spec.mesh_plan import client_edge_port, proxies, proxy_aliases, sources
from compose.spec.server_properties import (
    disk_label,
    format_features,
    host_name,
    log_dirs,
    mount_point,
    server_properties,
)
from compose.spec.server_properties import render as render_properties
from compose.spec.topology import Topology

HAND_USE = Topology(client_port=29090)
COMPOSE_FILE, PROXIES_FILE = "compose.yaml", "toxiproxy.json"
API_PORT = 8474
CLUSTER_ID = "highwaterByHand0000000"
FORMAT_HEAP_MIB = 128

HEADER = """\
# Three brokers and three controllers behind a directed Toxiproxy mesh, to be brought up by hand.
# Generated from the Python topology by `python -m compose.spec.compose_file write`; a test compares the two.
#
# Set the two image variables (after `make setup`), and bring it up:
#   eval "$(.venv/bin/python -m compose.spec.compose_file images)"
#   docker compose -f compose/compose.yaml up -d
# Older machines have `docker-compose` instead of `docker compose`. Clients:
#   bootstrap.servers={bootstrap}
#
# Every connection crosses a proxy of its own, SOURCE->TARGET:PORT. Cut and mend follower 1's fetches from 2:
#   curl -d '{{"enabled": false}}' 'localhost:{api}/proxies/1->2:10002'
#   curl -d '{{"enabled": true}}' 'localhost:{api}/proxies/1->2:10002'
# Kill a broker, and start it again:
#   docker compose -f compose/compose.yaml kill -s KILL kafka-1
#   docker compose -f compose/compose.yaml start kafka-1
# End it, with all data:
#   docker compose -f compose/compose.yaml down -v -t 1
"""


def render(topology: Topology) -> str:
    """The Compose file of `topology`. Raises TopologyError for free client ports or several releases."""
    if not topology.client_port:
        raise TopologyError("client port: a Compose file needs a fixed one, as brokers advertise it")
    if len(topology.releases) > 1:
        raise TopologyError(f"kafka: a Compose file has one release, not {', '.join(topology.releases)}")
    bootstrap = ",".join(_client_address(topology, node) for node in topology.broker_ids)
    lines = [HEADER.format(bootstrap=bootstrap, api=API_PORT), "services:", *_proxy(topology)]
    for node in topology.nodes:
        lines += ["", *_node(topology, node)]
    lines += ["", "networks:", "  net-client: {}"]
    lines += [f"  net-{node}: {{internal: true}}" for node in topology.nodes]
    lines += [
        "",
        "volumes:",
        *(f"  {name}: {{}}" for node in topology.nodes for name in _disks(topology, node)),
    ]
    return "\n".join(lines) + "\n"


def render_proxies(topology: Topology) -> str:
    """Toxiproxy's configuration of `topology`: one proxy for each edge, open."""
    listed = [
        {
            "name": proxy.name,
            "listen": f"mesh-{proxy.edge.source}:{proxy.listen_port}",
            "upstream": f"node-{proxy.edge.target}:{proxy.upstream_port}",
            "enabled": True,
        }
        for proxy in proxies(topology)
    ]
    return "[\n" + ",\n".join(f"  {json.dumps(one)}" for one in listed) + "\n]\n"


def _proxy(topology: Topology) -> list[str]:
    ports = [f'      - "127.0.0.1:{API_PORT}:{API_PORT}"']
    for node in topology.broker_ids:
        ports.append(f'      - "127.0.0.1:{topology.client_port + node}:{client_edge_port(node)}"')
    networks = []
    for source in sources(topology):
        names = ", ".join((f"mesh-{source}", *proxy_aliases(topology, source)))
        networks.append(f"      net-{source}: {{aliases: [{names}]}}")
    return [
        "  proxy:",
        "    image: ${TOXIPROXY_IMAGE:?see the head of this file}",
        f'    command: ["-host=0.0.0.0", "-port={API_PORT}", "-config=/{PROXIES_FILE}"]',
        f'    volumes: ["./{PROXIES_FILE}:/{PROXIES_FILE}:ro"]',
        "    ports:",
        *ports,
        "    networks:",
        *networks,
    ]


def _node(topology: Topology, node: int) -> list[str]:
    broker = node in topology.broker_ids
    address = _client_address(topology, node) if broker else ""
    settings = render_properties(server_properties(topology, node, client_address=address))
    heap = topology.broker_heap_mib if broker else topology.controller_heap_mib
    formatter = ("format", "--cluster-id", CLUSTER_ID, "--config", "/tmp/server.properties")
    features, disks = format_features(topology), _disks(topology, node)
    script = [
        "set -eu",
        'printf %s "$PROPERTIES" >/tmp/server.properties',
        f"[ -f {log_dirs(1)[0]}/meta.properties ] || "
        + _words(java_argv("kafka.tools.StorageTool", *formatter, *features, heap_mib=FORMAT_HEAP_MIB)),
        *(f"sync -f {where}" for where in disks.values()),
        "exec " + _words(java_argv("kafka.Kafka", "/tmp/server.properties", heap_mib=heap)),
    ]
    return [
        f"  {host_name(node)}:",
        "    image: ${KAFKA_IMAGE:?see the head of this file}",
        f"    hostname: {host_name(node)}",
        "    depends_on: [proxy]",
        '    user: "0"',
        "    environment:",
        "      PROPERTIES: |",
        *(f"        {line}" for line in settings.splitlines()),
        '    entrypoint: ["sh", "-c"]',
        "    command:",
        "      - |",
        # Compose would put its own variables where a dollar stands alone.
        *(f"        {line.replace('$', '$$')}" for line in script),
        f"    volumes: {json.dumps([f'{name}:{where}' for name, where in disks.items()])}",
        f"    networks: {{net-{node}: {{aliases: [node-{node}]}}}}",
    ]


def _disks(topology: Topology, node: int) -> dict[str, str]:
    """Where the node has each of its disks, by the volume's name."""
    numbers = range(1, topology.log_dirs_of(node) + 1)
    return {f"data-{disk_label(node, number)}": mount_point(number) for number in numbers}


def _client_address(topology: Topology, node: int) -> str:
    return f"localhost:{topology.client_port + node}"


def _words(argv: Sequence[str]) -> str:
    return " ".join(f"'{word}'" if "*" in word else word for word in argv)


def main(arguments: Sequence[str]) -> int:
    """Write the two files, or print the images' names as shell variables."""
    here = Path(__file__).parents[1]
    match list(arguments):
        case ["write"]:
            (here / COMPOSE_FILE).write_text(render(HAND_USE), encoding="utf-8")
            (here / PROXIES_FILE).write_text(render_proxies(HAND_USE), encoding="utf-8")
        case ["images"]:
            print(f"export KAFKA_IMAGE={kafka_image(HAND_USE.kafka)} TOXIPROXY_IMAGE={toxiproxy_image()}")
        case _:
            print("usage: python -m compose.spec.compose_file write|images", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
