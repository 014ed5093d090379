"""What can go wrong in this room.

FaultsError
├── BadStep       a step of a plan is refused before anything starts
├── NoTarget      no node holds the role that a step names now
└── NotInjected   a step whose time or target does not come; recorded, never raised by a schedule
"""

from collections.abc import Iterable, Sequence

Path = tuple[str | int, ...]
"""Where in a plan: the index of a step, and in a block its key and the index there: (0, "sequence", 2)."""


class FaultsError(Exception):
    """Root of all errors that this room raises."""


class BadStep(FaultsError):
    """A field of a step holds a value that is not allowed.

    `field` is the key as written in the scenario ("do", "target", "for"), `value` what stood there, `allowed`
    what may stand there; `path` leads to the step, and is empty for a step by itself. `keys` are given if
    `field` is a key that nobody knows there: those that may stand in its place. The scenario's loader adds
    file, line and column.
    """

    def __init__(
        self,
        field: str,
        value: object,
        allowed: str | Iterable[str],
        *,
        path: Path = (),
        keys: Sequence[str] = (),
    ) -> None:
        self.field = field
        self.value = value
        self.allowed = allowed if isinstance(allowed, str) else "one of " + ", ".join(allowed)
        self.path = path
        self.keys = tuple(keys)
        super().__init__(f"{_where(path)}{field}: {value!r} is refused; allowed: {self.allowed}")

    @property
    def step(self) -> int | None:
        """The index of the step in its plan; None for a step by itself."""
        return self.path[0] if self.path and isinstance(self.path[0], int) else None

    def below(self, *path: str | int) -> "BadStep":
        """The same refusal of what stands below `path`."""
        return BadStep(self.field, self.value, self.allowed, path=(*path, *self.path), keys=self.keys)


def _where(path: Path) -> str:
    """(0, "sequence", 2) → "step 1, sequence 3, "."""
    words = ["step" if not path or isinstance(path[0], int) else ""]
    for each in path:
        if isinstance(each, int):
            words[-1] += f" {each + 1}"
        else:
            words.append(each)
    return "".join(f"{word}, " for word in words if word) if path else ""


class NoTarget(FaultsError):
    """No node holds the role now; the message names the role, the partition, and the state found instead."""


class NotInjected(FaultsError):
    """The moment or event that a step waits for never comes, or its role stays vacant; with the reason."""
