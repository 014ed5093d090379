"""How far the replicas of a partition reach, each broker asked by itself."""

from collections.abc import Iterator

import pytest
from fakes.world.replica_brokers import LIST_OFFSETS, ReplicaBrokers

from compose.kafka.view import ClusterView
from compose.protocols import PartitionOffsets, PartitionState


@pytest.fixture
def brokers() -> Iterator[ReplicaBrokers]:
    """The leader has 150 records, of which the followers have 100 and 90."""
    ends = {1: 150, 2: 100, 3: 90}
    with ReplicaBrokers(log_ends=ends, high_watermark=90) as brokers:
        yield brokers


def with_offsets(brokers: ReplicaBrokers) -> PartitionState:
    with ClusterView(brokers.bootstrap) as view:
        (state,) = view.describe("t")
        return view.with_offsets(state)


def test_each_replica_reports_its_own_log_end(brokers: ReplicaBrokers) -> None:
    offsets = with_offsets(brokers).offsets
    assert offsets == PartitionOffsets(high_watermark=90, log_ends=((1, 150), (2, 100), (3, 90)))
    assert [offsets.log_end(node) for node in (1, 3, 4)] == [150, 90, -1]


def test_a_follower_that_does_not_answer_is_left_out(brokers: ReplicaBrokers) -> None:
    brokers.silent = {3}
    assert with_offsets(brokers).offsets == PartitionOffsets(high_watermark=90, log_ends=((1, 150), (2, 100)))


def test_nothing_is_known_without_the_leader_or_at_another_epoch(brokers: ReplicaBrokers) -> None:
    with ClusterView(brokers.bootstrap) as view:
        (state,) = view.describe("t")
        brokers.epoch += 1
        assert view.with_offsets(state).offsets is None
        brokers.epoch -= 1
        brokers.silent = {1}
        assert view.with_offsets(state).offsets is None


def test_what_grows_and_replicates_between_two_questions_is_not_reported_as_behind(
    brokers: ReplicaBrokers,
) -> None:
    """Every answer is followed by ten records more on all replicas at once."""
    brokers.log_ends = {1: 100, 2: 100, 3: 100}
    brokers.high_watermark = 100

    def grow(_broker: int, api: int) -> None:
        if api == LIST_OFFSETS:
            brokers.high_watermark += 10
            brokers.log_ends = {node: end + 10 for node, end in brokers.log_ends.items()}

    brokers.after_each = grow
    offsets = with_offsets(brokers).offsets
    assert offsets is not None
    assert offsets.log_end(1) == 100
    assert min(offsets.high_watermark, offsets.log_end(2), offsets.log_end(3)) >= 110
