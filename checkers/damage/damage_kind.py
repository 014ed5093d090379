"""What a kind of damage is: a named change of a history, and which properties must notice it."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from checkers.damage.editable_history import EditableHistory
from checkers.properties import Property

Change = Callable[[EditableHistory, Random], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DamageKind:
    """One kind of damage. `apply` changes the history, or raises NotApplicable and leaves it as it was."""

    name: str
    apply: Change
    noticed_by: frozenset[Property]
    """Done to a healthy history, at least one of these is violated. Empty: it may be harmless."""


def noticed_by(*properties: Property) -> Callable[[Change], DamageKind]:
    """Make a function a kind of damage, named after the function."""

    def kind(apply: Change) -> DamageKind:
        name = apply.__name__.replace("_", "-")
        return DamageKind(name=name, apply=apply, noticed_by=frozenset(properties))

    return kind


perhaps_harmless = noticed_by()
