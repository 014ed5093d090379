"""Who coordinates a group or a transactional id: the leader of its partition in a topic of Kafka's own."""

OFFSETS_TOPIC, TRANSACTION_LOG = "__consumer_offsets", "__transaction_state"
INTERNAL = (OFFSETS_TOPIC, TRANSACTION_LOG)
"""The topics in which coordinators keep what they know; a broker makes each when it is needed first."""


def coordinating_partition(of: str, partitions: int) -> int:
    """The partition for a group or a transactional id: Utils.abs(of.hashCode()) % partitions in Kafka.

    Java's hash of a string is over its UTF-16 units, in 32 bits with a sign; abs of the least one is 0.
    """
    units, code = of.encode("utf-16-be"), 0
    for unit in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + 256 * unit[0] + unit[1]) & 0xFFFFFFFF
    positive = 0 if code == 1 << 31 else min(code, (1 << 32) - code)
    return positive % partitions
