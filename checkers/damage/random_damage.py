"""All kinds of damage, and the random choice among them."""

from collections.abc import Mapping
from random import Random
from types import MappingProxyType

from checkers.damage.damage_kind import DamageKind
from checkers.damage.editable_history import EditableHistory, NotApplicable
from checkers.damage.kinds.acks import ACK_KINDS
from checkers.damage.kinds.control_plane import CONTROL_PLANE_KINDS
from checkers.damage.kinds.log import LOG_KINDS
from checkers.damage.kinds.reads import READ_KINDS
from checkers.damage.kinds.replicas.kinds import REPLICA_KINDS
from checkers.damage.kinds.samples import SAMPLE_KINDS
from checkers.damage.kinds.transactions import TRANSACTION_KINDS
from checkers.history.rows import History

__all__ = ["KINDS", "DamageKind", "damage"]

_EVERY = (
    *(*LOG_KINDS, *ACK_KINDS, *READ_KINDS, *SAMPLE_KINDS, *CONTROL_PLANE_KINDS, *REPLICA_KINDS),
    *TRANSACTION_KINDS,
)
KINDS: Mapping[str, DamageKind] = MappingProxyType({kind.name: kind for kind in _EVERY})


def damage(history: History, rng: Random, *, most: int = 4) -> History:
    """Do 1 to `most` random kinds of damage, one on top of the other; what does not apply is left out."""
    damaged = EditableHistory.of(history)
    for kind in rng.choices(tuple(KINDS.values()), k=rng.randint(1, most)):
        try:
            kind.apply(damaged, rng)
        except NotApplicable:
            continue
    return damaged.freeze()
