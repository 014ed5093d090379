"""The Docker SDK's calls on images. With docker_api.py this is all that touches the SDK."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from compose.docker_api import client
from compose.errors import ImageUnavailable

if TYPE_CHECKING:
    from docker import DockerClient

LABEL = "highwater.image"
STATUS_OK = 200
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


def registry_status(reference: str) -> int | None:
    """Ask for `reference` without pulling it: the registry's HTTP status; None if it says nothing in time."""
    import requests
    from docker.errors import APIError

    try:
        _engine(ASK_TIMEOUT_S).images.get_registry_data(reference)
    except APIError as error:
        return error.status_code
    except requests.RequestException:
        return None
    return STATUS_OK


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


def build(context: Path, *, dockerfile: str, name: str, arguments: Mapping[str, str]) -> tuple[str, ...]:
    """Build `context` into the image `name` and return what the builder said. Raises ImageUnavailable."""
    from docker.errors import APIError, BuildError

    try:
        _, log = _engine(LONG_TIMEOUT_S).images.build(
            path=str(context),
            dockerfile=dockerfile,
            tag=name,
            buildargs=dict(arguments),
            labels={LABEL: name},
            rm=True,
            forcerm=True,
        )
    except BuildError as error:
        tail = "\n".join(f"    {line}" for line in _text(error.build_log).splitlines()[-15:])
        raise ImageUnavailable(f"{name}: building failed: {error.msg}\n{tail}") from error
    except APIError as error:
        raise ImageUnavailable(f"{name}: building failed: {error}") from error
    return tuple(_text(log).splitlines())


def import_root(archive: Path, name: str) -> None:
    """Make the image `name` of one layer from a tar file of a root directory. Raises ImageUnavailable."""
    from docker.errors import APIError

    repository, _, tag_name = name.rpartition(":")
    try:
        _engine(LONG_TIMEOUT_S).api.import_image(
            src=str(archive), repository=repository, tag=tag_name, changes=[f"LABEL {LABEL}={name}"]
        )
    except APIError as error:
        raise ImageUnavailable(f"{name}: importing failed: {error}") from error
    if not exists(name):
        raise ImageUnavailable(f"{name}: imported without an error, and the engine does not have it")


def copy_out(image: str, path: str, archive: Path) -> None:
    """Write the directory `path` of `image` to the tar file `archive`. Raises ImageUnavailable."""
    from docker.errors import APIError

    engine = _engine(LONG_TIMEOUT_S)
    try:
        container = engine.containers.create(image, command=["true"], labels={LABEL: "copy"})
        try:
            chunks, _ = container.get_archive(path)
            with archive.open("wb") as file:
                file.writelines(chunks)
        finally:
            # With its volumes: published images declare some.
            container.remove(v=True)
    except APIError as error:
        raise ImageUnavailable(f"{image}: {path} could not be copied out of it: {error}") from error


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
