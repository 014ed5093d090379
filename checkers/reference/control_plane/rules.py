"""The rules that take only the small tables of a history, for both implementations."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from checkers.history.rows import Context
from checkers.properties import Property
from checkers.reference.control_plane.elections import leader_legal
from checkers.reference.control_plane.eligibility import eligible_step
from checkers.reference.control_plane.epochs import epoch_step
from checkers.reference.control_plane.fencing import fenced_out
from checkers.reference.control_plane.loading import loads_all
from checkers.reference.control_plane.rule_result import RuleResult

RULES: Mapping[Property, Callable[[Context], RuleResult]] = MappingProxyType(
    {
        Property.LEADER_LEGAL: leader_legal,
        Property.ELIGIBLE_STEP: eligible_step,
        Property.FENCED_OUT: fenced_out,
        Property.EPOCH_STEP: epoch_step,
        Property.LOADS_ALL: loads_all,
    }
)
