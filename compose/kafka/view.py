"""Topics and partitions as the brokers see them, each broker asked by itself.

One broker alone proves nothing: a zombie sees its old leadership and in-sync replicas for half a minute. So
all are asked at once, and what they say is put together: the greatest leader epoch wins, and among its
tellers the majority.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from compose.errors import ViewError
from compose.host.waiting import wait_until
from compose.kafka import broker_api
from compose.kafka.wire import Connection
from compose.protocols import PartitionState

ASK_S = 2.0
EVERY_S = 0.1
# From 4.0 on brokers tell the eligible leader replicas; before, there were none.
TELLS_ELR = (4, 0)

Address = tuple[str, int]
Answer = TypeVar("Answer")


class ClusterView:
    """Implements `compose.protocols.View`. `bootstrap`: host:port of broker 1, 2, …, separated by commas."""

    def __init__(self, bootstrap: str, *, release: str) -> None:
        self._brokers: dict[int, Address] = {
            number: _address(text) for number, text in enumerate(bootstrap.split(","), start=1)
        }
        major, minor = release.split(".")[:2]
        self._tells_elr = (int(major), int(minor)) >= TELLS_ELR

    def describe(self, topic: str) -> tuple[PartitionState, ...]:
        """All partitions of `topic`; empty if nobody knows it. Raises ViewError if no broker answers."""
        said = self._topic_by_broker(topic)
        if not said:
            raise ViewError(
                f"topic {topic}: none of the brokers {', '.join(map(str, self._brokers))} answers"
            )
        return merge(answer for answer in said.values() if answer.error == 0)

    def leader(self, topic: str, partition: int) -> int:
        """Leader of one partition; -1: none. Raises ViewError if there is no such partition."""
        return self._partition(topic, partition).leader

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        """In-sync replicas of one partition. Raises ViewError if there is no such partition."""
        return self._partition(topic, partition).isr

    def leaders(self) -> Mapping[tuple[str, int], int]:
        """Leader of every partition of every topic that is not internal. Raises ViewError."""
        said = self._ask_all(lambda _, broker: broker_api.metadata(broker, None))
        if not said:
            raise ViewError("no broker answers")
        topics: dict[str, list[broker_api.TopicAnswer]] = {}
        for topic in (topic for answer in said.values() for topic in answer.topics if not topic.internal):
            topics.setdefault(topic.name, []).append(topic)
        return {(s.topic, s.partition): s.leader for answers in topics.values() for s in merge(answers)}

    def wait_until_settled(self, topic: str, *, within_s: float) -> None:
        """Return when all brokers agree on a leader of every partition, and each leader serves as such.

        All brokers: those that any broker takes for alive; one that does not answer then is waited for.
        Raises ViewError after `within_s` seconds.
        """
        wait_until(
            f"topic {topic}: what keeps it from being settled: nothing",
            lambda: self._unsettled(topic),
            lambda reason: not reason,
            within_s=within_s,
            every_s=EVERY_S,
            error=ViewError,
        )

    def wait_for_full_isr(self, topics: Iterable[str], *, within_s: float) -> None:
        """Return when every replica of every partition of `topics` is in sync, and each says so itself.

        A broker that was killed is in the ISR still for a while, and so is one that is just starting again;
        but by the time when it answers, it knows whether it was taken out. Raises ViewError after
        `within_s` seconds.
        """
        listed = list(topics)
        wait_until(
            f"topics {', '.join(listed)}: partitions without a full ISR: none",
            lambda: [short for topic in listed for short in self._short(topic)],
            lambda short: not short,
            within_s=within_s,
            every_s=EVERY_S,
            error=ViewError,
        )

    def _short(self, topic: str) -> list[str]:
        """What `topic` lacks of a full ISR, in the eyes of any broker; a replica that is silent lacks all."""
        said = {node: one for node, one in self._topic_by_broker(topic).items() if one.error == 0}
        if not said:
            return [f"no broker that answers knows {topic}"]
        replicas = {replica for one in said.values() for p in one.partitions for replica in p.replicas}
        if silent := replicas - said.keys():
            return [f"no answer on {topic} from {sorted(silent)}"]
        states = {_state(topic, partition) for one in said.values() for partition in one.partitions}
        return [
            f"{topic}-{s.partition} leader {s.leader} ISR {list(s.isr)} of {list(s.replicas)}"
            for s in sorted(states, key=lambda state: (state.partition, state.isr))
            if s.leader < 0 or set(s.isr) != set(s.replicas)
        ]

    def _unsettled(self, topic: str) -> str:
        """What keeps `topic` from being settled, "" if nothing."""
        said = self._ask_all(lambda _, broker: broker_api.metadata(broker, [topic]))
        alive = {broker for answer in said.values() for broker in answer.brokers}
        if silent := alive - said.keys():
            return f"no answer from {sorted(silent)}"
        leaders: dict[int, set[tuple[int, int, int]]] = {
            node: {(p.partition, p.leader, p.leader_epoch) for p in answer.topics[0].partitions}
            for node, answer in said.items()
        }
        if len({frozenset(known) for known in leaders.values()}) != 1:
            return f"the brokers differ: {leaders}"
        (known,) = {frozenset(known) for known in leaders.values()}
        if not known or any(leader < 0 for _, leader, _ in known):
            return f"not every partition has a leader: {sorted(known)}"
        return self._not_serving(topic, known)

    def _not_serving(self, topic: str, known: Iterable[tuple[int, int, int]]) -> str:
        epochs: dict[int, dict[broker_api.Place, int]] = {}
        for partition, leader, epoch in known:
            epochs.setdefault(leader, {})[topic, partition] = epoch
        asked = self._ask_all(lambda node, broker: broker_api.list_offsets(broker, epochs[node]), set(epochs))
        errors = {
            f"{name}-{partition} on {node}": error
            for node, told in asked.items()
            for (name, partition), (error, _) in told.items()
            if error
        }
        silent = epochs.keys() - asked.keys()
        return f"leaders that do not serve yet: {errors or sorted(silent)}" if errors or silent else ""

    def _partition(self, topic: str, partition: int) -> PartitionState:
        for state in self.describe(topic):
            if state.partition == partition:
                return state
        raise ViewError(f"{topic}-{partition}: no broker that answers knows this partition")

    def _topic_by_broker(self, topic: str) -> dict[int, broker_api.TopicAnswer]:
        if self._tells_elr:
            return self._ask_all(lambda _, broker: broker_api.describe(broker, topic))
        return self._ask_all(lambda _, broker: broker_api.metadata(broker, [topic]).topics[0])

    def _ask_all(
        self, ask: Callable[[int, Connection], Answer], only: set[int] | None = None
    ) -> dict[int, Answer]:
        """The answers of those brokers that answer in time, asked side by side."""

        def in_time(node: int, address: Address) -> Answer:
            with Connection(address, within_s=ASK_S) as broker:
                return ask(node, broker)

        asked = {node: address for node, address in self._brokers.items() if only is None or node in only}
        with ThreadPoolExecutor(len(asked) or 1) as pool:
            futures = {node: pool.submit(in_time, node, address) for node, address in asked.items()}
        return {
            node: f.result()
            for node, f in futures.items()
            if not isinstance(f.exception(), OSError | ValueError)
        }


def merge(answers: Iterable[broker_api.TopicAnswer]) -> tuple[PartitionState, ...]:
    """One state a partition: of those with the greatest leader epoch, the one that most brokers tell."""
    votes: dict[int, Counter[PartitionState]] = {}
    for answer in answers:
        for partition in answer.partitions:
            votes.setdefault(partition.partition, Counter())[_state(answer.name, partition)] += 1
    return tuple(
        max(told.items(), key=lambda item: (item[0].leader_epoch, item[1]))[0]
        for _, told in sorted(votes.items())
    )


def _state(topic: str, answer: broker_api.PartitionAnswer) -> PartitionState:
    return PartitionState(
        topic=topic,
        partition=answer.partition,
        leader=answer.leader,
        leader_epoch=answer.leader_epoch,
        replicas=answer.replicas,
        isr=tuple(sorted(answer.isr)),
        elr=tuple(sorted(answer.elr)),
    )


def _address(text: str) -> Address:
    host, _, port = text.strip().rpartition(":")
    return host, int(port)
