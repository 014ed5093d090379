"""How long each partition went without an acknowledgement after the last fault had recovered.

Invariant: what has recovered serves again. Time counts from the last recovery, or from the first send after
it where none was pending by then, until the next acknowledgement; without one, until the end of the load.
Evidence: the recoveries of the faults, and the sends with their times. A partition to which nothing was sent
any more shows nothing.
Counterexample to "no partition waited for more than 20 s, so each one serves again":
    the last fault has recovered at 30 s; orders-3 refuses every send from 29 s on, and the load ends at 40 s
    its longest time without an acknowledgement is 11 s, and 10 s of that are after the recovery
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.history.rows import Fault, TopicPartition
from checkers.history.tables import NONE
from checkers.verdict.exposure.gaps import Gap, Times


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRecovery:
    """When the last fault had recovered, ns of the run's clock; -1 where there is no such time, and why."""

    at_ns: int = NONE
    unknown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """The time of each partition, the longest first; none where it is not known, and why."""

    gaps: tuple[Gap, ...] = ()
    unknown: str = ""


def last_recovery(faults: Iterable[Fault]) -> LastRecovery:
    """Of the faults that were injected: another one leaves nothing to recover from."""
    injected = [fault for fault in faults if fault.inject_ns != NONE]
    lasting = [fault.name for fault in injected if not fault.recovered or fault.recovered_ns == NONE]
    if lasting:
        return LastRecovery(unknown=f"fault {lasting[0]} has not recovered")
    if not injected:
        return LastRecovery(unknown="no fault was injected")
    return LastRecovery(at_ns=max(fault.recovered_ns for fault in injected))


def first_open_ns(invoked_ns: Times, completed_ns: Times, since_ns: int) -> int:
    """When the first of the sends was made that `since_ns` found open, or that came later; -1: there is none,
    or `since_ns` is -1. Shapes (sends,)."""
    if since_ns == NONE:
        return NONE
    is_open = (completed_ns == NONE) | (completed_ns > since_ns)
    return int(invoked_ns[is_open].min()) if is_open.any() else NONE


def resumption(
    recovery: LastRecovery,
    opened_ns: Mapping[TopicPartition, int],
    acks: Mapping[TopicPartition, Times],
    load_ended_ns: int,
) -> Resumption:
    """`opened_ns` has `first_open_ns` of each partition since the recovery; `load_ended_ns` -1: not known."""
    if recovery.unknown:
        return Resumption(unknown=recovery.unknown)
    gaps: list[Gap] = []
    for tp, at_ns in opened_ns.items():
        if at_ns == NONE:
            continue
        times, from_ns = acks[tp], max(at_ns, recovery.at_ns)
        place = int(np.searchsorted(times, recovery.at_ns, "right"))
        if place == len(times) and load_ended_ns == NONE:
            return Resumption(unknown="when the load ended is not known")
        to_ns = int(times[place]) if place < len(times) else max(load_ended_ns, from_ns)
        gaps.append(Gap(tp=tp, from_ns=from_ns, to_ns=to_ns))
    if not gaps:
        return Resumption(unknown="nothing was sent after the last fault")
    return Resumption(gaps=tuple(sorted(gaps, key=lambda gap: -gap.length_ns)))
