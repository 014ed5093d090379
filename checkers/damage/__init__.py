"""Small random histories, healthy and damaged: what two implementations are compared on.

    healthy = random_history(rng)            every property holds, whatever the seed
    broken = damage(healthy, rng)            some random kinds of KINDS, applied one after the other
    write(broken, directory)                 the Parquet layout of checkers/history/tables.py

`KINDS` names each kind of damage and the properties of which at least one must notice it: a kill table shows
whether an implementation does.
"""

from checkers.damage.healthy.simulate import random_history
from checkers.damage.random_damage import KINDS, DamageKind, damage
from checkers.damage.write import write

__all__ = ["KINDS", "DamageKind", "damage", "random_history", "write"]
