"""Which brokers are fenced: what most of those say that answer."""

from collections.abc import Iterator

import pytest
from fakes.world.replica_brokers import ReplicaBrokers

from compose.errors import ViewError
from compose.kafka.view import ClusterView


@pytest.fixture
def brokers() -> Iterator[ReplicaBrokers]:
    with ReplicaBrokers() as brokers:
        yield brokers


def fenced(brokers: ReplicaBrokers) -> dict[int, bool]:
    with ClusterView(brokers.bootstrap) as view:
        return dict(view.fenced())


def test_a_broker_that_the_others_do_not_list_is_fenced(brokers: ReplicaBrokers) -> None:
    """Although it lists itself, as one does that the controllers do not reach."""
    assert fenced(brokers) == {1: False, 2: False, 3: False}
    brokers.lists = {1: (1, 2, 3), 2: (2, 3), 3: (2, 3)}
    assert fenced(brokers) == {1: True, 2: False, 3: False}


def test_brokers_that_are_divided_say_nothing(brokers: ReplicaBrokers) -> None:
    """One of two that answer lists a broker, the other does not."""
    brokers.lists, brokers.silent = {2: (1, 2, 3), 3: (2, 3)}, {1}
    assert fenced(brokers) == {2: False, 3: False}


def test_a_broker_that_lists_nobody_is_not_counted(brokers: ReplicaBrokers) -> None:
    """It has only just started, and knows nothing yet."""
    brokers.lists, brokers.silent = {1: (), 2: (1, 2, 3)}, {3}
    assert fenced(brokers) == {1: False, 2: False, 3: False}


def test_no_broker_answers(brokers: ReplicaBrokers) -> None:
    brokers.silent = {1, 2, 3}
    with pytest.raises(ViewError, match="no broker answers"):
        fenced(brokers)
