"""All kinds of damage, and the random choice among them."""

from collections.abc import Mapping
from random import Random
from types import MappingProxyType

from checkers.damage.claims import CLAIM_KINDS
from checkers.damage.draft import Draft, NotApplicable
from checkers.damage.kind import Kind
from checkers.damage.log import LOG_KINDS
from checkers.damage.samples import SAMPLE_KINDS
from checkers.damage.views import READ_KINDS
from checkers.history.rows import History

__all__ = ["KINDS", "Kind", "damage"]

KINDS: Mapping[str, Kind] = MappingProxyType(
    {kind.name: kind for kind in (*LOG_KINDS, *CLAIM_KINDS, *READ_KINDS, *SAMPLE_KINDS)}
)


def damage(history: History, rng: Random, *, most: int = 4) -> History:
    """Do 1 to `most` random kinds of damage, one on top of the other; what does not apply is left out."""
    draft = Draft.of(history)
    for kind in rng.choices(tuple(KINDS.values()), k=rng.randint(1, most)):
        try:
            kind.apply(draft, rng)
        except NotApplicable:
            continue
    return draft.freeze()
