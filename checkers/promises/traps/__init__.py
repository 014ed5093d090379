"""Settings that do not do what whoever set them must have meant: each with a sentence, and what to change.

A trap is no broken promise: the clauses say what holds. It names a setting that weakens them, or that has no
effect where it seems to have one.
"""

from checkers.promises.traps.every import traps
from checkers.promises.traps.trap import Trap

__all__ = ["Trap", "traps"]
