"""Who was in sync again after an unclean shutdown, and who only seemed to be."""

from checkers.model.in_sync import InSync
from checkers.model.kafka.cluster import Shutdown
from checkers.model.kafka.controller import Record
from checkers.model.kafka.partition_change import PartitionState

BORN_S = -3.0
END_S = 30.0


def record(at_s: float, *isr: int) -> Record:
    """The partition after a record of the metadata log; its first in-sync replica leads."""
    state = PartitionState(
        partition=0, replicas=(1, 2, 3), isr=isr, leader=isr[0] if isr else -1, leader_epoch=0
    )
    return Record(offset=0, at_s=at_s, controller=103, ahead_s=0.0, state=state)


def lost_by(*records: Record, registered_s: float, by_leader: frozenset[int] = frozenset()) -> list[int]:
    """Whose unclean shutdown counts of broker 3's, which was wiped at 10 s."""
    shutdown = Shutdown(node=3, at_s=10.0, data_lost=True, wiped=True)
    in_sync = InSync(records, (), [shutdown], {3: [BORN_S, registered_s]})
    return [one.node for one in in_sync.without_recovery({3: 1.0}, END_S, by_leader=by_leader)]


def test_a_broker_that_is_elected_though_it_is_dead_is_not_back() -> None:
    """The controller takes it for alive until its session is over, and elects it from the ELR."""
    records = (record(0.0, 1, 2, 3), record(8.0, 1), record(12.0, 3), record(14.0))
    assert lost_by(*records, registered_s=16.0) == [3]


def test_a_broker_that_has_caught_up_after_its_restart_is_back() -> None:
    records = (record(0.0, 1, 2, 3), record(8.0, 1), record(12.0, 3), record(14.0, 1), record(18.0, 1, 3))
    assert lost_by(*records, registered_s=16.0) == []


def test_a_broker_that_never_came_back_is_not_in_sync() -> None:
    assert lost_by(record(0.0, 1, 2, 3), record(11.0, 1, 2), registered_s=16.0) == [3]


def test_who_was_in_sync_for_the_leader_alone_counts_until_it_is_back() -> None:
    """It was out of the ISR when the record came; the leader did not know."""
    out = (record(0.0, 1, 2), record(11.0, 1))
    assert lost_by(*out, registered_s=16.0) == []
    assert lost_by(*out, registered_s=16.0, by_leader=frozenset({3})) == [3]
    back = record(18.0, 1, 3)
    assert lost_by(*out, back, registered_s=16.0, by_leader=frozenset({3})) == []
