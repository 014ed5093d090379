"""All mutants, in the order of the kill table."""

from collections.abc import Collection

from harness.errors import UsageError
from harness.selftest.mutant import Mutant
from harness.selftest.mutants import (
    control_plane,
    disks,
    faults,
    records,
    seal,
    sends,
    transactions,
    whole,
    witnesses,
)

MUTANTS: tuple[Mutant, ...] = (
    *records.MUTANTS,
    *sends.MUTANTS,
    *witnesses.MUTANTS,
    *transactions.MUTANTS,
    *disks.MUTANTS,
    *control_plane.MUTANTS,
    *faults.MUTANTS,
    *whole.MUTANTS,
    *seal.MUTANTS,
)


def named(names: Collection[str]) -> tuple[Mutant, ...]:
    """The mutants with these names, all if there are none; UsageError for a name that no mutant has."""
    known = [mutant.name for mutant in MUTANTS]
    for name in names:
        if name not in known:
            raise UsageError(f"mutant: unknown {name!r}; allowed: {', '.join(known)}")
    return tuple(mutant for mutant in MUTANTS if not names or mutant.name in names)
