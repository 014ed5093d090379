"""What a kind of damage is: a named change of a draft, and who must notice it."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from checkers.damage.draft import Draft
from checkers.judgement import Property

Change = Callable[[Draft, Random], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of damage. `apply` changes the draft, or raises NotApplicable and leaves it as it was."""

    name: str
    apply: Change
    noticed_by: frozenset[Property]
    """Done to a healthy history, at least one of these is violated. Empty: it may be harmless."""


def noticed_by(*properties: Property) -> Callable[[Change], Kind]:
    """Make a function a kind of damage, named after the function."""

    def kind(apply: Change) -> Kind:
        name = apply.__name__.replace("_", "-")
        return Kind(name=name, apply=apply, noticed_by=frozenset(properties))

    return kind


perhaps_harmless = noticed_by()
