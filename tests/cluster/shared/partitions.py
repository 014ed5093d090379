"""One partition as the brokers report it, for tests that hit its leader."""

from compose.protocols import PartitionState, View


def partition(view: View, topic: str, number: int = 0) -> PartitionState:
    """The state of one partition, which exists."""
    (state,) = (each for each in view.describe(topic) if each.partition == number)
    return state
