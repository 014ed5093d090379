"""Which outcome each report of the client gives a send; what cannot be known is info."""

import pytest
from confluent_kafka import KafkaError

from checkers.history.tables import Outcome
from workloads.clients.outcome import error_name, outcome

EVERY_CODE = sorted(
    value for name, value in vars(KafkaError).items() if isinstance(value, int) and name.lstrip("_").isupper()
)
AFTER_AN_APPEND = [
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "REQUEST_TIMED_OUT",
    "NOT_LEADER_FOR_PARTITION",
    "KAFKA_STORAGE_ERROR",
    "_MSG_TIMED_OUT",
    "_TIMED_OUT",
    "_TRANSPORT",
    "_PURGE_INFLIGHT",
    "_DESTROY",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "UNKNOWN_TOPIC_OR_PART",
]


def test_a_report_without_error_is_ok() -> None:
    assert outcome(None) is Outcome.OK


@pytest.mark.parametrize("code", [KafkaError._QUEUE_FULL, KafkaError.MSG_SIZE_TOO_LARGE, KafkaError._FATAL])
def test_what_the_client_never_took_failed(code: int) -> None:
    assert outcome(KafkaError(code), handed_over=False) is Outcome.FAIL


def test_no_error_of_a_client_that_may_have_tried_before_is_definite() -> None:
    assert {outcome(KafkaError(code)) for code in EVERY_CODE if code} == {Outcome.INFO}


@pytest.mark.parametrize(
    "name", ["NOT_ENOUGH_REPLICAS", "MSG_SIZE_TOO_LARGE", "INVALID_RECORD", "_PURGE_QUEUE"]
)
def test_a_refusal_before_the_append_is_definite_for_a_single_attempt(name: str) -> None:
    assert outcome(KafkaError(getattr(KafkaError, name)), single_attempt=True) is Outcome.FAIL


@pytest.mark.parametrize("name", AFTER_AN_APPEND)
def test_what_may_follow_an_append_is_unknown_even_for_a_single_attempt(name: str) -> None:
    assert outcome(KafkaError(getattr(KafkaError, name)), single_attempt=True) is Outcome.INFO


def test_a_fatal_refusal_is_unknown() -> None:
    fatal = KafkaError(KafkaError.INVALID_RECORD, fatal=True)
    assert outcome(fatal, single_attempt=True) is Outcome.INFO


def test_an_error_of_a_later_release_is_unknown_and_has_a_name() -> None:
    assert outcome(KafkaError(9999), single_attempt=True) is Outcome.INFO
    assert "9999" in error_name(9999)


def test_names_are_those_of_the_client() -> None:
    assert error_name(0) == ""
    assert error_name(KafkaError._MSG_TIMED_OUT) == "_MSG_TIMED_OUT"
    assert error_name(KafkaError.NOT_ENOUGH_REPLICAS) == "NOT_ENOUGH_REPLICAS"
