"""One answer from those of several brokers, and what it takes for a topic to be settled."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from compose.errors import ViewError
from compose.kafka import broker_api
from compose.kafka.broker_api import MetadataAnswer, PartitionAnswer, TopicAnswer
from compose.kafka.view import ClusterView, merge
from compose.kafka.wire import Connection

BOOTSTRAP = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"


def reports(
    leader: int, epoch: int, isr: tuple[int, ...], error: int = 0, elr: tuple[int, ...] | None = None
) -> TopicAnswer:
    """One broker's answer on the only partition of `orders`."""
    partition = PartitionAnswer(
        error=0, partition=0, leader=leader, leader_epoch=epoch, replicas=(1, 2, 3), isr=isr, elr=elr
    )
    return TopicAnswer(error=error, name="orders", internal=False, partitions=() if error else (partition,))


def test_epoch_outranks_majority() -> None:
    """Two zombies do not outvote the broker that knows of a later election."""
    old, new = reports(1, 4, (1, 2, 3)), reports(2, 5, (2,))
    assert [(s.leader, s.isr) for s in merge([old, old, new])] == [(2, (2,))]


def test_majority_within_an_epoch() -> None:
    """In-sync replicas change without a new epoch, so there the majority decides."""
    stale, true = reports(1, 4, (1, 2, 3)), reports(1, 4, (1, 2))
    assert merge([stale, true, true])[0].isr == (1, 2)


def test_elr_of_mixed_releases() -> None:
    """Brokers of an old release report no ELR; that neither hides it nor splits the majority."""
    old, new = reports(1, 4, (1, 2)), reports(1, 4, (1, 2), elr=(3,))
    stale = reports(1, 4, (1, 2, 3), elr=())
    assert [(s.isr, s.elr) for s in merge([stale, old, stale, old, new])] == [((1, 2), (3,))]
    assert merge([old])[0].elr == ()


def test_majority_of_elr() -> None:
    """The ELR is the one that most of the agreeing brokers report."""
    few, most = reports(1, 4, (1,), elr=(2,)), reports(1, 4, (1,), elr=(2, 3))
    assert merge([few, most, most])[0].elr == (2, 3)


class Brokers:
    """Three brokers that answer what the test puts here; one that is missing does not answer."""

    def __init__(self) -> None:
        self.topics = {node: reports(1, 4, (1, 2, 3)) for node in (1, 2, 3)}
        self.alive = (1, 2, 3)
        self.codes = {0: 0}

    def metadata(self, connection: Connection, topics: Iterable[str] | None) -> MetadataAnswer:
        return MetadataAnswer(
            brokers=self.alive, topics=tuple(self.describe(connection, ["orders"]).values())
        )

    def describe(self, connection: Connection, topics: Iterable[str]) -> dict[str, TopicAnswer]:
        if connection.address[1] not in self.topics:
            raise TimeoutError("timed out")
        return {topic: replace(self.topics[connection.address[1]], name=topic) for topic in topics}

    def list_offsets(self, connection: Connection, epochs: object) -> dict[tuple[str, int], tuple[int, int]]:
        return {("orders", partition): (code, 5) for partition, code in self.codes.items()}


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """Brokers on ports 1, 2 and 3."""
    made = Brokers()
    for name in ("metadata", "describe", "list_offsets"):
        monkeypatch.setattr(broker_api, name, getattr(made, name))
    return made


@pytest.fixture
def view() -> ClusterView:
    """A view of those brokers."""
    return ClusterView(BOOTSTRAP)


def settled(view: ClusterView) -> str:
    """What keeps the topic from being settled."""
    try:
        view.wait_until_settled("orders", within_s=0)
    except ViewError as error:
        return str(error).partition("last seen: ")[2]
    return ""


def test_settled(brokers: Brokers, view: ClusterView) -> None:
    """All alive brokers agree and the leader serves."""
    assert settled(view) == ""
    assert view.leaders() == {("orders", 0): 1}


def test_topics_that_are_described_together(brokers: Brokers, view: ClusterView) -> None:
    """Each has its own partitions; what one broker knows better of one topic is not mixed with another."""
    assert [state.topic for state in view.describe("orders", "a", "b")] == ["a", "b", "orders"]
    assert view.describe() == ()
    answers = [reports(1, 4, (1, 2)), replace(reports(2, 9, (2,)), name="a")]
    assert [(s.topic, s.leader, s.isr) for s in merge(answers)] == [("a", 2, (2,)), ("orders", 1, (1, 2))]


def test_dead_broker(brokers: Brokers, view: ClusterView) -> None:
    """A broker that no broker lists as alive is not waited for."""
    del brokers.topics[3]
    assert settled(view) == "no answer from [3]"
    brokers.alive = (1, 2)
    assert settled(view) == ""


def test_late_broker(brokers: Brokers, view: ClusterView) -> None:
    """A broker that does not know the topic yet keeps it from being settled."""
    brokers.topics[2] = reports(0, 0, (), error=3)
    assert settled(view).startswith("the brokers differ: ")


def test_no_leader(brokers: Brokers, view: ClusterView) -> None:
    """A partition without a leader is not settled, though all agree on that."""
    brokers.topics = {node: reports(-1, 5, ()) for node in (1, 2, 3)}
    assert settled(view) == "not every partition has a leader: [(0, -1, 5)]"


def test_leader_does_not_serve_yet(brokers: Brokers, view: ClusterView) -> None:
    """A leader that all know, but that does not act as one yet, keeps the topic from being settled."""
    brokers.codes = {0: 6}
    assert settled(view) == "leaders that do not serve yet: {'orders-0 on 1': 6}"


def test_full_isr(brokers: Brokers, view: ClusterView) -> None:
    """A time-out names the partition, its leader and who is in sync."""
    view.wait_for_full_isr(["orders"], within_s=0)
    brokers.topics = {node: reports(1, 4, (1, 2)) for node in (1, 2, 3)}
    with pytest.raises(ViewError, match=r"orders-0 leader 1 ISR \[1, 2\] of \[1, 2, 3\]"):
        view.wait_for_full_isr(["orders"], within_s=0)


def test_full_isr_of_a_silent_replica(brokers: Brokers, view: ClusterView) -> None:
    """A silent replica is not in sync, though the others still list it: it may just be starting."""
    del brokers.topics[3]
    with pytest.raises(ViewError, match=r"no answer on orders from \[3\]"):
        view.wait_for_full_isr(["orders"], within_s=0)


def test_full_isr_of_a_late_replica(brokers: Brokers, view: ClusterView) -> None:
    """One broker that knows of a shrunken ISR is enough to go on waiting."""
    brokers.topics[3] = reports(1, 4, (1, 2))
    with pytest.raises(ViewError, match=r"ISR \[1, 2\] of"):
        view.wait_for_full_isr(["orders"], within_s=0)


def test_nobody_answers(brokers: Brokers, view: ClusterView) -> None:
    """Without an answer there is no state, not an empty one."""
    brokers.topics = {}
    with pytest.raises(ViewError, match="none of the brokers 1, 2, 3 answers"):
        view.describe("orders")
    with pytest.raises(ViewError, match="no broker answers"):
        view.leaders()
