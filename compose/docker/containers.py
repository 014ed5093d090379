"""Containers: made by Testcontainers, then driven by id with the SDK's low-level calls, one request each.

Where a `container_id` is asked for, the engine takes a container's name as well.
"""

import io
import shutil
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from compose.docker.api import asking, client
from compose.docker.reach import LOOPBACK, is_direct, published_at

KEEP_LOG = {"max-size": "256m"}
ARCHIVE_CHUNK = 1 << 18
COPY_CHUNK = 1 << 20
UNLIMITED_BYTES = 1 << 50
MOST_SWAP_BYTES = 16 << 20
"""Of a container whose memory is limited. With none at all a group of version 1 meets the limit of memory and
swap first, which Linux 6.18 does not count: of 200 MB of files written within 60 MB, `memory.failcnt` counted
143 meetings with 1 MiB more, and with equal limits neither that nor `memory.memsw.failcnt` any."""
ALL_SHARES, LEAST_SHARES = 1024, 2
"""The kernel's own default, and the least that it knows."""
CPU_PERIOD_US = 100_000
"""The kernel's own default. A container that has used up its share waits for the next period."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """A container to start. `ports` maps the ports that we use to host ports, None: none in particular (see
    reach.py). `files`: path to text.

    `network`: the first network's name, `container:<id>` for another container's network, "host" or "none".
    `cpu_shares`: its weight against other containers where the processors do not suffice for all.
    """

    name: str
    image: str
    command: Sequence[str]
    labels: Mapping[str, str]
    network: str
    aliases: Sequence[str] = ()
    hostname: str | None = None
    ports: Mapping[int, int | None] = field(default_factory=dict)
    volumes: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    capabilities: Sequence[str] = ()
    device_rules: Sequence[str] = ()
    security: Sequence[str] = ()
    sysctls: Mapping[str, str] = field(default_factory=dict)
    cpu_shares: int = ALL_SHARES


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A started container: its id, and where each of its ports is reached."""

    id: str
    name: str
    addresses: Mapping[int, tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult:
    """A command that ended inside a container; `output` holds stdout and stderr."""

    exit_code: int
    output: str


def start(spec: ContainerSpec) -> Container:
    """Create and start `spec`. Raises ComposeError; what was created by then carries its labels."""
    # Ryuk would have to be pulled, and removes everything on its own terms; our labels and cleanup.py do
    # its work.
    testcontainers_config.ryuk_disabled = True
    container = DockerContainer(
        spec.image,
        command=list(spec.command),  # type: ignore[arg-type]
        name=spec.name,
        volumes=[(name, path, "rw") for name, path in spec.volumes.items()],
    )
    # Its own would wait without end for an image that it pulls.
    container.get_docker_client().client = client()
    published = {} if _is_direct(spec) else spec.ports
    for port, host_port in published.items():
        container.ports[str(port)] = (published_at(), host_port)  # type: ignore[assignment]
    for path, text in spec.files.items():
        container.with_copy_into_container(text.encode(), path)
    for name, value in spec.environment.items():
        container.with_env(name, value)
    network: dict[str, Any] = {}
    if spec.network.startswith("container:") or spec.network in ("none", "host"):
        network["network_mode"] = spec.network
    else:
        existing = Network()
        existing.name = spec.network
        container.with_network(existing).with_network_aliases(*spec.aliases)
    container.with_kwargs(**network, **_options(spec))
    with asking(f"starting container {spec.name}"):
        container.start()
        reached = {port: _address(container, port) for port in published}
    started = Container(id=container.get_container_id(), name=spec.name, addresses=reached)
    if spec.ports and not published:
        own = addresses(started.id)[spec.network]
        return replace(started, addresses={port: (own, port) for port in spec.ports})
    return started


def _is_direct(spec: ContainerSpec) -> bool:
    """Whether its ports are reached at its own address; a port of this machine that was asked for is made."""
    return is_direct() and not any(spec.ports.values())


def inspect(container_id: str) -> dict[str, Any]:
    """Everything the engine knows of a container. Raises Vanished if it is gone."""
    with asking(f"inspecting container {container_id[:12]}"):
        return dict(client().api.inspect_container(container_id))


def addresses(container_id: str) -> dict[str, str]:
    """The container's IP address in each of its networks, "" where it has none now."""
    networks = inspect(container_id)["NetworkSettings"]["Networks"]
    return {name: str(one["IPAddress"]) for name, one in networks.items()}


def act(container_id: str, action: str, *, name: str) -> None:
    """Ask the engine to `pause`, `unpause`, `start` or `kill` (SIGKILL). Raises Vanished, Refused."""
    with asking(f"{action} of container {name}"):
        getattr(client().api, action)(container_id)


def signal_stop(container_id: str, *, name: str) -> None:
    """Send SIGTERM, and return at once."""
    with asking(f"SIGTERM to container {name}"):
        client().api.kill(container_id, signal="SIGTERM")


def remove(container_id: str, *, name: str) -> None:
    """Kill and remove a container in whatever state it is; nothing to do if it is gone."""
    with asking(f"removing container {name}"):
        client().api.remove_container(container_id, force=True, v=False)


def logs(container_id: str, *, lines: int | None = None, since_ns: int = 0) -> str:
    """What the container wrote to stdout and stderr; the last `lines` of it, from `since_ns` on.

    `since_ns` is a time of the engine's wall clock.
    """
    with asking(f"reading the log of container {container_id[:12]}"):
        since = since_ns / 1e9 if since_ns else None
        raw = client().api.logs(container_id, tail="all" if lines is None else lines, since=since)
    return bytes(raw).decode(errors="replace")


def cpu_ns(container_id: str) -> int:
    """CPU time that the container has used since it was started."""
    with asking(f"reading the statistics of container {container_id[:12]}"):
        stats = client().api.stats(container_id, stream=False, one_shot=True)
    return int(stats["cpu_stats"]["cpu_usage"]["total_usage"])


def cpu_quota(container_id: str) -> float | None:
    """The processors that the container may use at most, as 0.2; None without a limit."""
    quota_us = int(inspect(container_id)["HostConfig"]["CpuQuota"])
    return quota_us / CPU_PERIOD_US if quota_us > 0 else None


def set_cpu_quota(container_id: str, cpus: float | None, *, name: str) -> None:
    """Limit the processors that the container may use, also of one that does not run; None: no limit.

    The engine takes -1 for no limit, and 0 for no change. Raises ComposeError.
    """
    quota_us = -1 if cpus is None else round(cpus * CPU_PERIOD_US)
    with asking(f"limiting the processor time of container {name}"):
        client().api.update_container(container_id, cpu_period=CPU_PERIOD_US, cpu_quota=quota_us)


def set_cpu_shares(container_id: str, shares: int, *, name: str) -> None:
    """Set the container's weight where the processors do not suffice for all. Raises ComposeError."""
    with asking(f"setting the processor shares of container {name}"):
        client().api.update_container(container_id, cpu_shares=shares)


def memory_limit(container_id: str) -> int | None:
    """The bytes of memory that the container may have at most; None without a limit."""
    most = int(inspect(container_id)["HostConfig"]["Memory"])
    return most if 0 < most < UNLIMITED_BYTES else None


def set_memory_limit(container_id: str, most_bytes: int | None, *, name: str) -> None:
    """Limit the container's memory, and with it its swap, also of one that does not run; None: no limit.

    Which numbers mean "no limit", and in which order both are set then, differs between engines (moby
    #22578); one that no machine has means it to all. Raises ComposeError.
    """
    most = UNLIMITED_BYTES if most_bytes is None else most_bytes
    with asking(f"limiting the memory of container {name}"):
        client().api.update_container(container_id, mem_limit=most, memswap_limit=most + MOST_SWAP_BYTES)


def put_files(container_id: str, files: Mapping[str, bytes]) -> None:
    """Write `files` (absolute path to content) into the container's own file system."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    with asking(f"writing files into container {container_id[:12]}"):
        client().api.put_archive(container_id, "/", buffer.getvalue())


def get_files(container_id: str, path: str) -> dict[str, bytes]:
    """The files below the directory `path` of the container's own file system, by their path below it."""
    with asking(f"reading {path} from container {container_id[:12]}"):
        chunks, _ = client().api.get_archive(container_id, path)
        raw = b"".join(chunks)
    files = {}
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for member in archive:
            opened = archive.extractfile(member)
            if opened is not None:
                files[member.name.partition("/")[2]] = opened.read()
    return files


def save_directory(container_id: str, path: str, into: Path) -> None:
    """Write the files below the directory `path` of the container to `into`, in portions.

    The directory may be in the container's own file system or in a mounted one. Raises ComposeError, OSError.
    """
    into.mkdir(parents=True, exist_ok=True)
    with asking(f"copying {path} from container {container_id[:12]}"):
        chunks, _ = client().api.get_archive(container_id, path, chunk_size=ARCHIVE_CHUNK)
        unpack(chunks, into)


def unpack(chunks: Iterable[bytes], into: Path) -> None:
    """Write the files of a tar archive of one directory to `into`, without that directory's name. OSError."""
    try:
        with tarfile.open(fileobj=_Chunks(chunks), mode="r|") as archive:  # type: ignore[call-overload]
            for member in archive:
                _write_member(archive, member, into)
    except tarfile.TarError as error:
        raise OSError(f"the archive for {into} broke off: {error}") from error


class _Chunks:
    """An iterator of bytes as the file that tarfile reads; a read may give more than it asks for."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)

    def read(self, size: int) -> bytes:
        return next(self._chunks, b"")


def _write_member(archive: tarfile.TarFile, member: tarfile.TarInfo, into: Path) -> None:
    opened = archive.extractfile(member)
    if opened is None:
        return
    _, *below = PurePosixPath(member.name).parts
    if not below or ".." in below:
        raise OSError(f"the archive has a file named {member.name!r}")
    target = into.joinpath(*below)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        shutil.copyfileobj(opened, file, COPY_CHUNK)


def _options(spec: ContainerSpec) -> dict[str, Any]:
    from docker.types import LogConfig

    return {
        "labels": dict(spec.labels),
        "hostname": spec.hostname,
        "cap_add": list(spec.capabilities),
        "device_cgroup_rules": list(spec.device_rules),
        # With SELinux, a disk that one container mounts is used by another. Elsewhere this means nothing.
        "security_opt": ["label=disable", *spec.security],
        "sysctls": dict(spec.sysctls),
        "cpu_shares": spec.cpu_shares,
        # The engine's default driver may be one whose logs cannot be read back.
        "log_config": LogConfig(type="json-file", config=KEEP_LOG),
    }


def _address(container: "DockerContainer", port: int) -> tuple[str, int]:
    host = LOOPBACK if published_at() == LOOPBACK else container.get_container_host_ip()
    # Docker may map the IPv4 and the IPv6 side of one port to different numbers; the one we read is the
    # IPv4 one.
    return "127.0.0.1" if host == "localhost" else host, container.get_exposed_port(port)
