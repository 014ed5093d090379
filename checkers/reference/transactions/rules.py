"""The rules about transactions, for both implementations: over what each partition shows of them."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from checkers.history.records.transactions import PartitionShown
from checkers.history.rows import Context
from checkers.properties import Property
from checkers.reference.control_plane.rule_result import NOT_COLLECTED, RuleResult
from checkers.reference.transactions.markers import marker_per_transaction
from checkers.reference.transactions.stable_offset import hanging_transaction
from checkers.reference.transactions.tally import Tally, tally_of
from checkers.reference.transactions.visibility import aborted_read, torn_transaction, zombie_fenced

RULES: Mapping[Property, Callable[[Tally], RuleResult]] = MappingProxyType(
    {
        Property.ABORTED_READ: aborted_read,
        Property.TORN_TRANSACTION: torn_transaction,
        Property.HANGING_TRANSACTION: hanging_transaction,
        Property.ZOMBIE_FENCED: zombie_fenced,
        Property.MARKER_PER_TRANSACTION: marker_per_transaction,
    }
)


def results(context: Context, shown: Sequence[PartitionShown]) -> dict[Property, RuleResult]:
    """What each rule decides; nothing is examined of a history without transactions."""
    tally = tally_of(context, shown)
    return {each: NOT_COLLECTED if tally is None else rule(tally) for each, rule in RULES.items()}
