"""The Docker SDK's calls on images. With its siblings this is all that touches the SDK."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from compose.docker.api import asking, client, connect
from compose.errors import ComposeError, EngineUnreachable, ImageUnavailable

if TYPE_CHECKING:
    from docker import DockerClient

LABEL = "highwater.image"
STATUS_OK = 200
LONG_TIMEOUT_S = 900
"""How long the engine may say nothing while it makes an image: an import has its answer at the end only."""
ASK_TIMEOUT_S = 8
TAIL_LINES = 15


def exists(name: str) -> bool:
    """Whether the engine has an image of this name."""
    from docker.errors import ImageNotFound

    with asking(f"inspecting image {name}"):
        try:
            client().images.get(name)
        except ImageNotFound:
            return False
    return True


def registry_status(reference: str) -> int | None:
    """Ask for `reference` without pulling it: the registry's HTTP status; None without an answer in time."""
    import requests
    from docker.errors import APIError

    try:
        connect(ASK_TIMEOUT_S).images.get_registry_data(reference)
    except APIError as error:
        return error.status_code
    except requests.RequestException:
        return None
    return STATUS_OK


def pull(reference: str) -> None:
    """Pull `reference`. Raises ImageUnavailable, EngineUnreachable."""
    with _obtaining(f"pulling {reference}") as engine:
        engine.images.pull(reference)


def tag(name: str, new_name: str) -> None:
    """Give the image `name` a second name. Raises ImageUnavailable, EngineUnreachable."""
    with _obtaining(f"tagging {name}") as engine:
        engine.images.get(name).tag(new_name)


def build(context: Path, *, dockerfile: str, name: str, arguments: Mapping[str, str]) -> tuple[str, ...]:
    """Build `context` into the image `name`, and return the lines of the builder's output.

    Raises ImageUnavailable with the last of them, EngineUnreachable.
    """
    from docker.errors import BuildError

    with _obtaining(f"building {name}") as engine:
        try:
            _, log = engine.images.build(
                path=str(context),
                dockerfile=dockerfile,
                tag=name,
                buildargs=dict(arguments),
                labels={LABEL: name},
                rm=True,
                forcerm=True,
            )
        except BuildError as error:
            tail = "\n".join(f"    {line}" for line in _lines(error.build_log)[-TAIL_LINES:])
            raise ImageUnavailable(f"building {name}: {error.msg}\n{tail}") from error
        return _lines(log)


def import_root(archive: Path, name: str) -> None:
    """Make the image `name` of one layer from a tar file of a root directory.

    Raises ImageUnavailable, EngineUnreachable.
    """
    repository, _, tag_name = name.rpartition(":")
    with _obtaining(f"importing {name}") as engine:
        engine.api.import_image(
            src=str(archive), repository=repository, tag=tag_name, changes=[f"LABEL {LABEL}={name}"]
        )
    if not exists(name):
        raise ImageUnavailable(f"{name}: imported without an error, and the engine does not have it")


def copy_out(image: str, path: str, archive: Path) -> None:
    """Write the directory `path` of `image` to the tar file `archive`.

    Raises ImageUnavailable, EngineUnreachable.
    """
    with _obtaining(f"copying {path} out of {image}") as engine:
        container = engine.containers.create(image, ["true"], labels={LABEL: "copy"})
        try:
            chunks, _ = container.get_archive(path)
            with archive.open("wb") as file:
                file.writelines(chunks)
        finally:
            # With its volumes: published images declare some.
            container.remove(v=True)


def remove_ours() -> tuple[str, ...]:
    """Remove every image that carries our label, and return their names.

    Raises ImageUnavailable, EngineUnreachable.
    """
    removed: list[str] = []
    with _obtaining("removing our images") as engine:
        for image in engine.images.list(filters={"label": LABEL}):
            for name in image.tags or [str(image.id)]:
                engine.images.remove(name, force=True)
                removed.append(name)
    return tuple(removed)


@contextmanager
def _obtaining(what: str) -> Iterator["DockerClient"]:
    """Give a connection to the engine that waits for long."""
    try:
        with asking(what, within_s=LONG_TIMEOUT_S):
            yield connect(LONG_TIMEOUT_S)
    except (EngineUnreachable, ImageUnavailable):
        raise
    except ComposeError as error:
        raise ImageUnavailable(str(error)) from error


def _lines(log: Iterable[object]) -> tuple[str, ...]:
    text = "".join(str(entry.get("stream", "")) for entry in log if isinstance(entry, dict))
    return tuple(text.splitlines())
