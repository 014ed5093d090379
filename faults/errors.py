"""What can go wrong in this room.

FaultsError
├── BadStep       a step of a plan is refused before anything starts
├── NoTarget      no node holds the role that a step names now
└── NotInjected   a step whose time or target does not come; recorded, never raised by a schedule
"""

from collections.abc import Iterable


class FaultsError(Exception):
    """Root of all errors that this room raises."""


class BadStep(FaultsError):
    """A field of a step holds a value that is not allowed.

    `field` is the key as written in the scenario ("do", "target", "for"), `value` what stood there, `allowed`
    what may stand there; `step` is the step's index in a plan, None for a step by itself. The scenario's
    loader adds file, line and column.
    """

    def __init__(
        self, field: str, value: object, allowed: str | Iterable[str], *, step: int | None = None
    ) -> None:
        self.field = field
        self.value = value
        self.allowed = allowed if isinstance(allowed, str) else "one of " + ", ".join(allowed)
        self.step = step
        where = "" if step is None else f"step {step + 1}, "
        super().__init__(f"{where}{field}: {value!r} is refused; allowed: {self.allowed}")

    def at_step(self, step: int) -> "BadStep":
        """The same refusal, with the index of the step."""
        return BadStep(self.field, self.value, self.allowed, step=step)


class NoTarget(FaultsError):
    """No node holds the role now; the message names the role, the partition, and the state found instead."""


class NotInjected(FaultsError):
    """The moment or event that a step waits for never comes, or its role stays vacant; with the reason."""
