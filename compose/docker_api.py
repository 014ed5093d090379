"""The one module that touches the Docker SDK."""

import functools
from typing import TYPE_CHECKING

from compose.errors import EngineUnreachable

if TYPE_CHECKING:
    from docker import DockerClient

API_TIMEOUT_S = 60


@functools.cache
def client() -> "DockerClient":
    """Return the connection to the Docker Engine at DOCKER_HOST, or at its usual socket.

    The SDK is imported here and not above, so that nothing which needs no Docker pays for it.
    Raises EngineUnreachable.
    """
    import docker
    from docker.errors import DockerException

    try:
        engine = docker.from_env(timeout=API_TIMEOUT_S)
        engine.ping()
    except (DockerException, OSError) as error:
        raise EngineUnreachable(
            f"no Docker Engine answers: {error}\n    next step: `make setup` starts one, or set DOCKER_HOST"
        ) from error
    return engine
