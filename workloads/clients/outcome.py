"""The one place that maps librdkafka's errors: a send is written, certainly not written, or indeterminate.

A wrong *fail* makes the checker report `resurrected` where nothing is wrong, and a wrong *ok* makes it report
`acked-loss`; a needless *info* only examines one record less. So whatever cannot be known is info.

A delivery report with an error has the error of the *last* attempt, and not whether an earlier one was
written. librdkafka sends again after NOT_LEADER, UNKNOWN_TOPIC_OR_PART and the like even with `retries=0`,
holding that these never follow an append (rd_kafka_handle_Produce_error, `incr_retry = 0`). But a leader
that is deposed while an acks=all append waits for its followers answers just that (Kafka's DelayedProduce).
So a refusal such as NOT_ENOUGH_REPLICAS, though it comes before the append, proves nothing about the attempt
before it; nor does _PURGE_QUEUE, for what was sent once and waits to be sent again is in a queue, too
(rd_kafka_toppar_purge_queues). Both are definite only for a client that makes a *single attempt*:
`retries=0`, not idempotent, and acks 0 or 1, where no error follows an append unseen.
"""

from confluent_kafka import KafkaError

from checkers.history.tables import Outcome

_REFUSALS = frozenset(
    {
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.INVALID_REQUIRED_ACKS,
        KafkaError.UNSUPPORTED_COMPRESSION_TYPE,
        KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError._PURGE_QUEUE,
    }
)
"""Errors of an attempt that was not written: the broker answers them before it appends, or never got it.

NOT_ENOUGH_REPLICAS_AFTER_APPEND, REQUEST_TIMED_OUT, NOT_LEADER_FOR_PARTITION, KAFKA_STORAGE_ERROR, every
time-out and every closed connection are not among them.
"""


def outcome(error: KafkaError | None, *, handed_over: bool = True, single_attempt: bool = False) -> Outcome:
    """Map the client's report of one send to its outcome; `error` None is success.

    `handed_over` is False if `produce` raised instead of taking the record (queue full, too large for the
    client, unknown partition, a fatal producer): it was never sent, whatever the error.
    """
    if not handed_over:
        return Outcome.FAIL
    if error is None:
        return Outcome.OK
    definite = single_attempt and error.code() in _REFUSALS and not error.fatal()
    return Outcome.FAIL if definite else Outcome.INFO


TRANSACTION_ABORTED, TRANSACTION_UNKNOWN = "_TRANSACTION_ABORTED", "_TRANSACTION_UNKNOWN"
"""What a send ends with that was delivered, but whose transaction was aborted, or nobody knows what came of
its commit. The library has no names for them."""


def error_names() -> frozenset[str]:
    """The names of all errors that a send can end with."""
    names = (name for name, code in vars(KafkaError).items() if isinstance(code, int) and code)
    return frozenset((*names, TRANSACTION_ABORTED, TRANSACTION_UNKNOWN))


def error_name(code: int) -> str:
    """Kafka's or librdkafka's own name of an error code, as "_MSG_TIMED_OUT"; "" for 0."""
    return KafkaError(code).name() if code else ""
