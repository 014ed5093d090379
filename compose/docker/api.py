"""The connection to the Docker Engine, and the one place where the SDK's errors become ours.

With its siblings this is all that touches the Docker SDK.
"""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from compose.errors import (
    ComposeError,
    EngineUnreachable,
    MachineError,
    NodeStateError,
    PortTaken,
    Refused,
    Vanished,
)

if TYPE_CHECKING:
    from docker import DockerClient

API_TIMEOUT_S = 60

# The engine's message (in small letters), our error, and what to do. Its error codes are the same for all.
KNOWN_TROUBLE: tuple[tuple[str, type[ComposeError], str], ...] = (
    ("port is already allocated", PortTaken, "another container has that host port: see `docker ps`"),
    ("address already in use", PortTaken, "another process has that host port: see `ss -ltnp`"),
    (
        "non-overlapping ipv4 address pool",
        MachineError,
        "too many networks: `highwater clean`, `docker network ls`",
    ),
    ("no space left on device", MachineError, "free some disk space: see `df -h`, `docker system df`"),
    ("cannot allocate memory", MachineError, "free some memory: see `free -m`, or use fewer nodes"),
    ("no such image", MachineError, "`make setup` pulls or builds the images"),
)


@functools.cache
def client() -> "DockerClient":
    """Return the connection to the Docker Engine that all calls share. Raises EngineUnreachable."""
    return connect(API_TIMEOUT_S)


def connect(timeout_s: int) -> "DockerClient":
    """Connect to the Docker Engine at DOCKER_HOST, of its context, or at its usual socket.

    Each call then waits for the engine for `timeout_s` at most. The SDK is imported here and not above, so
    that nothing which needs no Docker pays for it. Raises EngineUnreachable.
    """
    from docker.errors import DockerException

    from compose.docker.timed_client import TimedClient

    if address := host():
        os.environ["DOCKER_HOST"] = address  # as Testcontainers does; for what the SDK reads from there
    try:
        engine = TimedClient.from_env(timeout=timeout_s)
        engine.ping()
    except (DockerException, OSError) as error:
        raise EngineUnreachable(
            f"no Docker Engine answers: {error}\n    next step: `make setup` starts one, or set DOCKER_HOST"
        ) from error
    return engine


def host() -> str:
    """The address of the engine that DOCKER_HOST or else Docker's context names; "" for the usual socket."""
    from testcontainers.core.docker_client import get_docker_host

    return get_docker_host() or ""


def root() -> Path:
    """The engine's directory of images, containers and logs, on its machine. Raises EngineUnreachable."""
    return Path(str(client().info()["DockerRootDir"]))


def is_local() -> bool:
    """Whether the engine runs on this machine. Raises EngineUnreachable."""
    return str(client().api.base_url).startswith("http+docker://localhost")


def answers() -> bool:
    """Whether the engine answers now; a connection to one that has ended is none."""
    try:
        with asking("asking whether it is there"):
            client().ping()
    except ComposeError:
        return False
    return True


@contextmanager
def asking(what: str, *, within_s: float | None = None) -> Iterator[None]:
    """Turn every error of the SDK inside into one of ours whose message has `what` was asked.

    NotFound and Conflict pass as `Vanished` and `Refused`, since often they only mean that a thing is done
    already. `within_s` is the connection's time-out, API_TIMEOUT_S by default.
    """
    import requests
    import urllib3
    from docker.errors import APIError, DockerException, NotFound

    try:
        yield
    except NotFound as error:
        if "image" in str(error.explanation).lower():
            raise _known(what, str(error.explanation)) from error
        raise Vanished(f"{what}: the engine does not know it: {error.explanation}") from error
    except APIError as error:
        if error.status_code == 409:
            raise Refused(f"{what}: refused: {error.explanation}") from error
        raise _known(what, str(error.explanation or error)) from error
    except (DockerException, requests.RequestException, urllib3.exceptions.HTTPError) as error:
        if _is_silence(error):
            waited_s = API_TIMEOUT_S if within_s is None else within_s
            raise NodeStateError(f"{what}: the Docker Engine has not answered for {waited_s:g} s") from error
        raise EngineUnreachable(f"{what}: no Docker Engine answers: {error}") from error


def _is_silence(error: Exception) -> bool:
    """Whether an answer did not begin in time, or did not go on: read as a whole, in portions, or raw."""
    import requests
    from urllib3.exceptions import ReadTimeoutError

    kinds = (requests.ReadTimeout, ReadTimeoutError)
    return isinstance(error, kinds) or any(isinstance(each, kinds) for each in error.args)


def _known(what: str, message: str) -> ComposeError:
    for words, kind, next_step in KNOWN_TROUBLE:
        if words in message.lower():
            return kind(f"{what}: {message}\n    next step: {next_step}")
    return NodeStateError(f"{what}: {message}")
