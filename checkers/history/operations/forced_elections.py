"""Which unclean elections a person asked for: those are no breach of what the topic allows.

The controller elects such a leader whatever unclean.leader.election.enable says (KIP-460), and its metadata
log does not show why. So it is in the table of faults: who asked, for which topic, and when.
"""

from collections.abc import Iterable

from checkers.history.rows import Fault
from checkers.history.tables import NONE

KIND = "unclean-election"
"""The kind of fault that asks for them; its target is written `topic orders`."""


def was_forced(faults: Iterable[Fault], topic: str, at_ns: int, slack_ns: int) -> bool | None:
    """Whether an unclean election of a topic's partition, at a time of the run's clock, was asked for.

    A request that was seen to have taken effect elected until then. None: one was made before that was not
    seen to, and may be the reason.
    """
    found: bool | None = False
    for fault in faults:
        if fault.kind != KIND or fault.target != f"topic {topic}" or fault.inject_ns == NONE:
            continue
        if fault.inject_ns - slack_ns > at_ns:
            continue
        if not fault.proven or fault.effect_ns == NONE:
            found = None if found is False else found
        elif at_ns <= fault.effect_ns + slack_ns:
            return True
    return found
