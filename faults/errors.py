"""What can go wrong in this room.

FaultsError
├── BadStep     a step of a plan is refused before anything starts
└── NoTarget    a role that a step names is held by nobody now
"""

from collections.abc import Iterable


class FaultsError(Exception):
    """Root of all errors that this room raises."""


class BadStep(FaultsError):
    """A field of a step holds a value that is not allowed.

    `field` is the key as written in the scenario ("do", "target", "for"), `value` what stood there, `allowed`
    says what may stand there; `step` is the step's index where several were looked at together, else None.
    The scenario's loader adds file, line and column.
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
        """The same refusal, which also says at which step."""
        return BadStep(self.field, self.value, self.allowed, step=step)


class NoTarget(FaultsError):
    """Nobody holds the role now; the message says which role, of what, and what was seen."""
