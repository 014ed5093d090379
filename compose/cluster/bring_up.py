"""The steps that bring a cluster up, side by side as far as one does not need another.

The proxy comes first, since its host ports become part of the brokers' settings; beside it networks and the
formatter; then disks, nodes, and, while these boot, the mesh.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TypeVar

from compose.cluster.docker_cluster import DockerCluster
from compose.docker import containers, networks
from compose.docker.containers import ALL_SHARES, Container, ContainerSpec
from compose.docker.labels import Owner
from compose.errors import MeshError, NodeStateError
from compose.host.waiting import wait_until
from compose.mesh.mesh import ToxiproxyMesh
from compose.mesh.probe import EdgeProbe
from compose.mesh.toxiproxy import SYN_RETRIES, ToxiproxyServer
from compose.mesh.traffic import SS, Traffic
from compose.nodes.clocks import clocks
from compose.nodes.clocks.clocks import Clocks
from compose.nodes.disks import storage_format
from compose.nodes.disks.disks import Disks, make_disks
from compose.nodes.disks.storage_format import PROPERTIES
from compose.nodes.helper import Helper, helper_spec
from compose.nodes.node import Node
from compose.protocols import CLIENT
from compose.spec.images import java_argv, kafka_image, toxiproxy_image
from compose.spec.mesh_plan import client_edge_port, proxies, proxy_aliases
from compose.spec.server_properties import (
    disk_label,
    host_name,
    mount_point,
    render,
    server_properties,
)
from compose.spec.topology import Topology

API_PORT = 8474
API_S = 10.0
AT_ONCE = 8

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class BringUp:
    """A cluster about to be brought up; `appcds`: whether its JVMs use the class-data archive.

    `cpu_shares`: what its nodes have of the processors. It is given up between two steps once `unwanted` is
    set.
    """

    topology: Topology
    owner: Owner
    appcds: bool
    cpu_shares: int = ALL_SHARES
    unwanted: Event = field(default_factory=Event)

    def name(self, part: object) -> str:
        """What a part of this run is called in the engine."""
        return f"hw-{self.owner.run_id}-{part}"

    def network(self, source: object) -> str:
        """The network in which `source` opens connections."""
        return self.name(f"net-{source}")

    def volume(self, node: int, number: int) -> str:
        """The volume with the log directory `number` of a node."""
        return self.name(f"data-{disk_label(node, number)}")

    def run(self, took: "Stopwatch") -> DockerCluster:
        """Start everything; the nodes' processes run then, and may not serve yet. Raises ComposeError."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                return self._run(pool, took)
            except BaseException:
                # What has not begun by an error, or by Ctrl-C, would only have to be taken down again.
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _run(self, pool: ThreadPoolExecutor, took: "Stopwatch") -> DockerCluster:
        networks = {node: pool.submit(self._create_network, node) for node in self.topology.nodes}
        files = pool.submit(self._format, took)
        # As the others in a thread: whatever is asked of the engine has an answer before all is taken down.
        proxy = pool.submit(self._start_proxy).result()
        took.mark("proxy")
        self._check_wanted()
        helper = pool.submit(self._start_helper, proxy)
        joins = [pool.submit(self._join, proxy, node, made) for node, made in networks.items()]
        counts = {node: self.topology.log_dirs_of(node) for node in self.topology.nodes}
        disks = make_disks(helper.result(), self.owner, counts, mib=self.topology.volume_mib)
        self._for_each_node(pool, lambda node: self._create_volumes(disks, node))
        disks.fill(storage_format.for_nodes(files.result(), counts))
        its_clocks = self._clocks(disks)
        took.mark("disks")
        for join in joins:
            join.result()
        took.mark("networks")
        self._check_wanted()

        def start_node(node: int, release: str, cpu_shares: int = ALL_SHARES) -> Node:
            return self._start_node(node, release, self._properties(node, proxy), disks, cpu_shares)

        nodes = self._for_each_node(
            pool, lambda node: start_node(node, self.topology.release_of(node), self.cpu_shares)
        )
        self._check_wanted()
        took.mark("nodes")
        mesh = self._make_mesh(proxy, helper.result(), nodes)
        took.mark("mesh")
        return DockerCluster(
            topology=self.topology,
            labels=self.owner.labels(),
            proxy=proxy,
            clients={node: self._client_address(node, proxy) for node in self.topology.broker_ids},
            nodes=nodes,
            start_node=start_node,
            disks=disks,
            clocks=its_clocks,
            mesh=mesh,
        )

    def _check_wanted(self) -> None:
        if self.unwanted.is_set():
            raise NodeStateError(f"run {self.owner.run_id}: its cluster is not wanted any more")

    def _for_each_node(self, pool: ThreadPoolExecutor, do: Callable[[int], Result]) -> dict[int, Result]:
        return dict(zip(self.topology.nodes, pool.map(do, self.topology.nodes), strict=True))

    def _create_network(self, source: object) -> None:
        # The clients' network needs a way to the machine's ports; the nodes' networks must have none to
        # anywhere.
        internal = source != CLIENT
        networks.create_network(self.network(source), labels=self.owner.labels(), internal=internal)

    def _start_proxy(self) -> Container:
        self._create_network(CLIENT)
        fixed = self.topology.client_port
        ports = {client_edge_port(node): fixed + node if fixed else None for node in self.topology.broker_ids}
        spec = ContainerSpec(
            name=self.name("proxy"),
            image=toxiproxy_image(),
            command=("-host=0.0.0.0", f"-port={API_PORT}"),
            labels=self.owner.labels(),
            network=self.network(CLIENT),
            ports={API_PORT: None, **ports},
            sysctls={"net.ipv4.tcp_syn_retries": SYN_RETRIES},
            # By default it traces each connection, and what it says last before it ends is nothing else.
            environment={"LOG_LEVEL": "warn"},
        )
        return containers.start(spec)

    def _start_helper(self, proxy: Container) -> Helper:
        spec = helper_spec(
            name=self.name("helper"), network=f"container:{proxy.id}", labels=self.owner.labels()
        )
        return Helper(container_id=containers.start(spec).id)

    def _join(self, proxy: Container, node: int, created: "Future[None]") -> None:
        created.result()
        networks.connect(self.network(node), proxy.id, aliases=proxy_aliases(self.topology, str(node)))

    def _format(self, took: "Stopwatch") -> tuple[storage_format.Files, ...]:
        spec = storage_format.format_spec(
            self.topology,
            name=self.name("format"),
            network="none",
            labels=self.owner.labels(),
            appcds=self.appcds,
        )
        files = storage_format.formatted(spec, count=self.topology.log_dirs)
        took.mark("format")
        return files

    def _create_volumes(self, disks: Disks, node: int) -> None:
        for number, device in enumerate(disks.devices[node], start=1):
            name = self.volume(node, number)
            networks.create_ext4_volume(name, device=device, labels=self.owner.labels())

    def _client_address(self, node: int, proxy: Container) -> tuple[str, int]:
        return proxy.addresses[client_edge_port(node)]

    def _properties(self, node: int, proxy: Container) -> str:
        address = ""
        if node in self.topology.broker_ids:
            host, port = self._client_address(node, proxy)
            address = f"{host}:{port}"
        return render(server_properties(self.topology, node, client_address=address))

    def _clocks(self, disks: Disks) -> Clocks:
        """A node reads from its first moment on by how much its clock differs."""
        names = {node: self.name(node) for node in self.topology.clocks}
        made = Clocks(helper=disks.helper, of_run=disks.directory, containers=names)
        for node in names:
            made.prepare(node)
        return made

    def _start_node(self, node: int, release: str, properties: str, disks: Disks, cpu_shares: int) -> Node:
        broker = node in self.topology.broker_ids
        heap = self.topology.broker_heap_mib if broker else self.topology.controller_heap_mib
        flags = clocks.JVM_FLAGS if node in self.topology.clocks else ()
        spec = ContainerSpec(
            name=self.name(node),
            image=kafka_image(release),
            command=java_argv("kafka.Kafka", PROPERTIES, heap_mib=heap, archive=self.appcds, flags=flags),
            labels=self.owner.labels(),
            network=self.network(node),
            hostname=host_name(node),
            volumes={
                self.volume(node, number): mount_point(number)
                for number in range(1, self.topology.log_dirs_of(node) + 1)
            },
            files={PROPERTIES: properties},
            cpu_shares=cpu_shares,
        )
        if node in self.topology.clocks:
            spec = _with_clock(spec, clocks.directory(disks.directory, node))
        container = containers.start(spec)
        return Node(
            number=node,
            container_id=container.id,
            name=spec.name,
            network=spec.network,
            release=release,
            properties=properties,
        )

    def _make_mesh(self, proxy: Container, helper: Helper, nodes: Mapping[int, Node]) -> ToxiproxyMesh:
        server = ToxiproxyServer(*proxy.addresses[API_PORT])
        wait_until(
            f"Toxiproxy in {proxy.name} answers", server.answers, bool, within_s=API_S, error=MeshError
        )
        plan = proxies(self.topology)
        own = containers.addresses(proxy.id)
        listens = {one.name: f"{own[self.network(one.edge.source)]}:{one.listen_port}" for one in plan}
        to = {n: containers.addresses(node.container_id)[node.network] for n, node in nodes.items()}
        leads_to = {one.name: f"{to[one.edge.target]}:{one.upstream_port}" for one in plan}
        server.create({name: (listens[name], leads_to[name]) for name in listens})
        places = {listens[one.name]: one.edge for one in plan}
        edge_probe = EdgeProbe(places, {listens[name]: leads_to[name] for name in listens}, helper.run)
        return ToxiproxyMesh(plan, server, Traffic(places, lambda: helper.run(SS)), edge_probe)


def _with_clock(spec: ContainerSpec, directory: str) -> ContainerSpec:
    """The same container with a clock that can be set by the file in `directory`."""
    return replace(
        spec,
        volumes={**spec.volumes, directory: clocks.IN_NODE},
        files={**spec.files, **clocks.files()},
        environment=clocks.ENVIRONMENT,
    )


class Stopwatch:
    """Seconds since it was made, at each named mark."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.marks: dict[str, float] = {}

    def mark(self, name: str) -> None:
        """The step `name` has ended now."""
        self.marks[name] = time.monotonic() - self._began
