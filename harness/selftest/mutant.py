"""What a mutant is: a copy of a run with one named damage, which the verdict has to notice."""

from collections.abc import Callable
from dataclasses import dataclass

from harness.selftest.damaged_copy import DamagedCopy

Damage = Callable[[DamagedCopy], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One kind of damage. `about` is one sentence, `sealed`: the copy is sealed again afterwards.

    A copy that is sealed again has the digests and the counts of what it holds now, so the rules have to find
    the damage; one that is not tests the seal.
    """

    family: str
    name: str
    about: str
    damage: Damage
    sealed: bool = True


def family(name: str, *damages: Damage, sealed: bool = True) -> tuple[Mutant, ...]:
    """The mutants of a module: named after its functions, described by their docstrings."""
    return tuple(
        Mutant(
            family=name,
            name=damage.__name__.replace("_", "-"),
            about=(damage.__doc__ or "").strip().splitlines()[0],
            damage=damage,
            sealed=sealed,
        )
        for damage in damages
    )
