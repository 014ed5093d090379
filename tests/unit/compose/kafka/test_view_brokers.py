"""Which brokers are fenced, by what most say that answer, who coordinates a group, and which log directories
of a broker are online by its own word."""

from collections.abc import Iterator

import pytest
from fakes.world.replica_brokers import ReplicaBrokers

from compose.errors import BrokerSilent, ViewError
from compose.kafka.coordinators import coordinating_partition
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


@pytest.mark.parametrize(
    ("group", "partition"),
    [
        ("", 0),
        ("a", 97 % 50),
        ("hello", 99162322 % 50),
        ("polygenelubricants", 0),
        ("orders-ö", 46),
        ("\N{GRINNING FACE}", 1772899 % 50),
    ],
)
def test_the_partition_of_a_group_is_that_of_kafka(group: str, partition: int) -> None:
    """As Java 17 printed the hashes: 0, 97, 99162322, -2147483648, 1234322446, 1772899 (of two units)."""
    assert coordinating_partition(group, 50) == partition


def test_a_group_is_coordinated_by_the_leader_of_its_partition() -> None:
    """While there is none, nobody coordinates it."""
    brokers = ReplicaBrokers(topic="__consumer_offsets", leader=2)
    with brokers, ClusterView(brokers.bootstrap) as view:
        assert view.coordinator("any") == 2
        brokers.leader = -1
        assert view.coordinator("any") is None


def test_a_broker_says_itself_which_of_its_log_directories_are_online(brokers: ReplicaBrokers) -> None:
    brokers.log_dirs = {"/data/kafka": 0, "/data-2/kafka": 56}
    with ClusterView(brokers.bootstrap) as view:
        assert view.log_dirs(2) == {"/data/kafka": True, "/data-2/kafka": False}
        brokers.silent = {2}
        with pytest.raises(BrokerSilent):
            view.log_dirs(2)
