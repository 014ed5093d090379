"""Whose new processes registered in an append of the metadata log."""

from collections.abc import Iterable, Mapping
from operator import attrgetter

from checkers.history.rows import BrokerState


def registered_at(at_ms: int, brokers: Iterable[BrokerState]) -> Mapping[int, BrokerState]:
    """By node, the new registrations of a time: the first record with their broker epoch is of then."""
    first: dict[tuple[int, int], BrokerState] = {}
    for state in sorted(brokers, key=attrgetter("log_offset")):
        if state.registered:
            first.setdefault((state.node, state.broker_epoch), state)
    return {state.node: state for state in first.values() if state.at_ms == at_ms}
