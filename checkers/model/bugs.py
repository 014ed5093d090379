"""The defects that can be switched on: each was, or could be, one of a broker, a controller or a client."""

from enum import Enum


class Bug(Enum):
    """One planted defect; the value says what goes wrong, and where it is known from."""

    __hash__ = object.__hash__
    """Asked for at every step of a simulation; that of Enum is Python, and hashes the name."""

    TRUNCATE_TO_HIGH_WATERMARK = (
        "a new follower truncates to its own high watermark instead of by leader epoch (KIP-101)"
    )
    EPOCH_CONFUSION = (
        "a follower that does not know the epoch of the leader's answer keeps its log as far as the answer's "
        "offset (fast fail-over, KIP-279)"
    )
    HIGH_WATERMARK_BEFORE_ISR_COMMIT = (
        "a leader counts on a smaller ISR before the controller has committed it (KIP-497)"
    )
    ISR_JOIN_TOO_EARLY = (
        "a leader asks for a follower in the ISR that has not reached the high watermark (KAFKA-6361)"
    )
    ISR_JOIN_STALE_BROKER_EPOCH = (
        "the ISR accepts a broker by a fetch from before its restart, though it has lost its log (KIP-903)"
    )
    UNCLEAN_ELECTION_FORBIDDEN = (
        "the controller elects a replica that is neither in the ISR nor in the ELR, though unclean election "
        "is off (KIP-106)"
    )
    UNCLEAN_ELECTION_TOO_EARLY = (
        "where unclean election is on, the controller elects a replica that is neither in the ISR nor in the "
        "ELR, though one that is could lead (KIP-460)"
    )
    ELR_KEPT_AFTER_UNCLEAN_SHUTDOWN = "an unclean shutdown leaves a replica in the ISR and the ELR (KIP-966)"
    ELIGIBLE_REPLICA_FORGOTTEN = (
        "the controller takes a broker out of the ELR that was stopped in order, when it registers again "
        "(KIP-966)"
    )
    HIGH_WATERMARK_EXPOSED_EARLY = (
        "a follower takes over the leader's high watermark before it has truncated, and serves readers "
        "by it (KAFKA-14704)"
    )
    FENCED_BROKER_STAYS_IN_ISR = "the controller fences a broker and leaves it in the ISR (KIP-841)"
    DEPOSED_LEADER_ACKS_ALL = "a leader without a word from its followers acknowledges acks=all by itself"
    ACK_BEFORE_MIN_ISR = (
        "a leader acknowledges acks=all with a smaller ISR than min.insync.replicas (KIP-966)"
    )
    HOLE_IN_LOG = "a crashed broker loses a batch within its log and keeps what follows"
    SWAPPED_BATCHES = "a leader stores two batches in the other order than it has numbered them"
    RETRY_APPENDED_TWICE = (
        "a new leader does not know the producers' sequences, and appends a retry again (KIP-98)"
    )
    FOLLOWER_WRITES_OTHER_BYTES = "a follower stores other bytes than the leader sent"
    LOG_START_JUMPS = "a leader moves its log start up without being asked"
    OFFSETS_REUSED_AFTER_RESTART = "a restarted leader begins its log below what it still holds (KAFKA-17076)"
    CLIENT_ACKS_REFUSED_BATCH = (
        "a client reports a refused batch as written when a later one is accepted (librdkafka up to 2.16)"
    )
    CLIENT_RESENDS_UNDER_NEW_EPOCH = (
        "a client takes a new producer epoch and sends again what may be written (librdkafka)"
    )
    ELECTION_FROM_OLD_ISR = "the controller elects from an ISR that it has already replaced"
    READS_ABOVE_HIGH_WATERMARK = "a leader gives readers what is not below the high watermark"
    TWO_LEADERS_IN_ONE_EPOCH = (
        "two controllers elect two leaders under one leader epoch (KAFKA-15489: metadata that was not agreed)"
    )
