"""Which container registries answer here.

A registry that did not answer once is not asked again in the same run: where none can be reached, set-up must
not wait for each image anew.
"""

from enum import Enum

from compose.docker import images as docker_images
from compose.errors import ImageUnavailable
from compose.host.progress import OnLine


class Answer(Enum):
    """A registry's answer about an image."""

    HAS_IT = "has it"
    LACKS_IT = "lacks it"
    SILENT = "does not answer"


def registry_of(reference: str) -> str:
    """Return the registry's address in an image reference, or "" for the engine's default one."""
    first, slash, _ = reference.partition("/")
    is_address = slash and ("." in first or ":" in first or first == "localhost")
    return first if is_address else ""


class Registries:
    """Pulls images, and remembers which registries are silent."""

    def __init__(self, on_line: OnLine) -> None:
        self._on_line = on_line
        self._silent: set[str] = set()

    def pull(self, reference: str) -> bool:
        """Pull `reference`, and return whether it is here now."""
        registry = registry_of(reference)
        if registry in self._silent:
            return False
        answer = ask(reference)
        if answer is Answer.HAS_IT:
            self._on_line(f"pulling {reference}")
            try:
                docker_images.pull(reference)
            except ImageUnavailable as error:
                self._on_line(str(error))
                return False
            return True
        if answer is Answer.SILENT:
            self._silent.add(registry)
        self._on_line(f"{registry or 'the container registry'} {answer.value} ({reference})")
        return False


def ask(reference: str) -> Answer:
    """Ask the registry for `reference` without pulling it."""
    status = docker_images.registry_status(reference)
    if status == docker_images.STATUS_OK:
        return Answer.HAS_IT
    # A registry that answers "unauthorized" or "forbidden" to a stranger means "no such image" as a rule.
    return Answer.LACKS_IT if status in (401, 403, 404) else Answer.SILENT
