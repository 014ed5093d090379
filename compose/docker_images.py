"""The Docker SDK's calls on images. With docker_api.py this is all that touches the SDK."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from compose.docker_api import client
from compose.errors import ImageUnavailable

if TYPE_CHECKING:
    from docker import DockerClient

LABEL = "highwater.image"
LONG_TIMEOUT_S = 900
ASK_TIMEOUT_S = 8


def exists(name: str) -> bool:
    """Whether the engine has an image of this name."""
    from docker.errors import ImageNotFound

    try:
        client().images.get(name)
    except ImageNotFound:
        return False
    return True


def registry_has(reference: str) -> bool:
    """Ask the registry for `reference` without pulling it; no answer in ASK_TIMEOUT_S is a no."""
    import requests
    from docker.errors import DockerException

    try:
        _engine(ASK_TIMEOUT_S).images.get_registry_data(reference)
    except (DockerException, requests.RequestException):
        return False
    return True


def pull(reference: str) -> None:
    """Pull `reference`. Raises ImageUnavailable."""
    import requests
    from docker.errors import DockerException

    try:
        _engine(LONG_TIMEOUT_S).images.pull(reference)
    except (DockerException, requests.RequestException) as error:
        raise ImageUnavailable(f"{reference}: could not be pulled: {error}") from error


def tag(name: str, new_name: str) -> None:
    """Give the image `name` a second name."""
    client().images.get(name).tag(new_name)


def build(
    context: Path, *, dockerfile: str, name: str, arguments: Mapping[str, str], kind: str
) -> tuple[str, ...]:
    """Build `context` into the image `name` and return what the builder said. Raises ImageUnavailable."""
    from docker.errors import APIError, BuildError

    try:
        _, log = _engine(LONG_TIMEOUT_S).images.build(
            path=str(context),
            dockerfile=dockerfile,
            tag=name,
            buildargs=dict(arguments),
            labels={LABEL: kind},
            rm=True,
            forcerm=True,
        )
    except BuildError as error:
        tail = "\n".join(f"    {line}" for line in _text(error.build_log).splitlines()[-15:])
        raise ImageUnavailable(f"{name}: building failed: {error.msg}\n{tail}") from error
    except APIError as error:
        raise ImageUnavailable(f"{name}: building failed: {error}") from error
    return tuple(_text(log).splitlines())


def import_root(archive: Path, *, name: str, kind: str) -> None:
    """Make the image `name` of one layer from a tar file of a root directory. Raises ImageUnavailable."""
    from docker.errors import APIError

    repository, _, tag_name = name.rpartition(":")
    try:
        _engine(LONG_TIMEOUT_S).api.import_image(
            src=str(archive), repository=repository, tag=tag_name, changes=[f"LABEL {LABEL}={kind}"]
        )
    except APIError as error:
        raise ImageUnavailable(f"{name}: importing failed: {error}") from error
    if not exists(name):
        raise ImageUnavailable(f"{name}: imported without an error, and the engine does not have it")


def remove_ours() -> tuple[str, ...]:
    """Remove every image that carries our label, and return their names. Raises ImageUnavailable."""
    from docker.errors import APIError

    removed: list[str] = []
    for image in client().images.list(filters={"label": LABEL}):
        for name in image.tags or [str(image.id)]:
            try:
                client().images.remove(name, force=True)
            except APIError as error:
                raise ImageUnavailable(f"{name}: could not be removed: {error}") from error
            removed.append(name)
    return tuple(removed)


def _text(log: Iterable[object]) -> str:
    return "".join(str(entry.get("stream", "")) for entry in log if isinstance(entry, dict))


def _engine(timeout_s: int) -> "DockerClient":
    import docker

    return docker.from_env(timeout=timeout_s)
