"""Topics and partitions as the brokers report them, each broker asked by itself.

One broker alone proves nothing: a zombie reports its old leadership and in-sync replicas for half a minute.
So all are asked at once, and their answers are merged: the greatest leader epoch wins, and within it the
majority.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import TracebackType

from compose.errors import ViewError
from compose.host.waiting import wait_until
from compose.kafka import broker_api
from compose.kafka.broker_api import CONSUMER, DEBUGGING, PartitionAnswer, TopicAnswer
from compose.kafka.brokers import Brokers
from compose.kafka.coordinators import OFFSETS_TOPIC, coordinating_partition
from compose.protocols import PartitionOffsets, PartitionState

ASK_S = 2.0
EVERY_S = 0.1


class ClusterView:
    """Implements `compose.protocols.View`. `bootstrap`: host:port of broker 1, 2, …, separated by commas.

    `within_s` bounds each broker's answer to a question; one that is silent costs so much of every question.
    With `skips_silent` it costs that once, and is not waited for again until it answers, while another one
    does: for what must be known soon. Who must know what all brokers say that answer, as for a proof, waits.
    Leaving it as a context closes its connections to the brokers.
    """

    def __init__(self, bootstrap: str, *, within_s: float = ASK_S, skips_silent: bool = False) -> None:
        self._brokers = Brokers(bootstrap, within_s=within_s, skips_silent=skips_silent)

    def describe(self, *topics: str) -> tuple[PartitionState, ...]:
        """All partitions of `topics`, asked in one question; none of a topic that no broker knows.

        Raises ViewError if no broker answers.
        """
        if not topics:
            return ()
        answers = self._by_broker(topics)
        if not answers:
            listed = ", ".join(map(str, self._brokers.numbers))
            raise ViewError(f"topic {', '.join(topics)}: none of the brokers {listed} answers")
        return merge(one for answer in answers.values() for one in answer.values() if one.error == 0)

    def with_offsets(self, state: PartitionState) -> PartitionState:
        """The same state with the offsets of its replicas; without any if its leader does not report them.

        The leader's log end is asked first; then, of all at once, its high watermark and the log ends of the
        other replicas. So what is reported as behind was behind, however fast the log grows.
        """
        leader = state.leader
        first = self._latest(state, {leader}, asks_as=lambda _: DEBUGGING)
        if leader not in first:
            return replace(state, offsets=None)
        rest = self._latest(
            state, state.replicas, asks_as=lambda node: CONSUMER if node == leader else DEBUGGING
        )
        if leader not in rest:
            return replace(state, offsets=None)
        ends = rest | first
        return replace(
            state,
            offsets=PartitionOffsets(high_watermark=rest[leader], log_ends=tuple(sorted(ends.items()))),
        )

    def leaders(self) -> Mapping[tuple[str, int], int]:
        """Leader of every partition of every topic that is not internal. Raises ViewError."""
        answers = self._brokers.ask_all(lambda _, broker: broker_api.metadata(broker, None)).given
        if not answers:
            raise ViewError("no broker answers")
        states = merge(topic for answer in answers.values() for topic in answer.topics if not topic.internal)
        return {(state.topic, state.partition): state.leader for state in states}

    def fenced(self) -> Mapping[int, bool]:
        """Whether each broker is fenced: not among those that most brokers list. Raises ViewError.

        A broker lists those that are not fenced as far as it knows (KRaftMetadataCache.java); one that the
        controllers do not reach goes on listing all. Where as many say so as not, the broker is left out.
        """
        answers = self._brokers.ask_all(lambda _, broker: broker_api.metadata(broker, [])).given
        listed = [set(answer.brokers) for answer in answers.values() if answer.brokers]
        if not listed:
            raise ViewError("no broker answers")
        votes = {broker: sum(broker in each for each in listed) for broker in self._brokers.numbers}
        divided = {broker for broker, count in votes.items() if 2 * count == len(listed)}
        return {broker: 2 * count < len(listed) for broker, count in votes.items() if broker not in divided}

    def log_dirs(self, broker: int) -> Mapping[str, bool]:
        """Whether each log directory of a broker is online by its own word, by path. Raises BrokerSilent."""
        return self._brokers.ask(broker, lambda _, connection: broker_api.log_dirs(connection))

    def coordinator(self, group: str) -> int | None:
        """The broker that coordinates a consumer group; None if there is none now, or was no group yet.

        It is the leader of the group's partition of OFFSETS_TOPIC. A client's own question (FindCoordinator)
        would make that topic where there is none. Raises ViewError if no broker answers.
        """
        states = self.describe(OFFSETS_TOPIC)
        if not states:
            return None
        leader = states[coordinating_partition(group, len(states))].leader
        return leader if leader >= 0 else None

    def wait_until_settled(self, topic: str, *, within_s: float) -> None:
        """Return when all brokers agree on a leader of every partition, and each leader serves as such.

        All brokers: those that any broker lists as alive; one that is listed and does not answer is waited
        for. Raises ViewError after `within_s` seconds.
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
        """Return when every replica of every partition of `topics` is in sync, and each reports so itself.

        A broker that was killed stays in the ISR for a while, and so does one that is just starting again;
        but once it answers, it knows whether it was removed. Raises ViewError after `within_s` seconds.
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

    def close(self) -> None:
        """Close the connections to the brokers."""
        self._brokers.close()

    def __enter__(self) -> "ClusterView":
        """Connections open with the first question."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _short(self, topic: str) -> list[str]:
        """What `topic` lacks of a full ISR by any broker's answer; a silent replica lacks everything."""
        reported = {node: answer[topic] for node, answer in self._by_broker([topic]).items()}
        answers = {node: one for node, one in reported.items() if one.error == 0}
        if not answers:
            return [f"no broker that answers knows {topic}"]
        replicas = {replica for one in answers.values() for p in one.partitions for replica in p.replicas}
        if silent := replicas - answers.keys():
            return [f"no answer on {topic} from {sorted(silent)}"]
        states = {_state(topic, partition) for one in answers.values() for partition in one.partitions}
        return [
            f"{topic}-{s.partition} leader {s.leader} ISR {list(s.isr)} of {list(s.replicas)}"
            for s in sorted(states, key=lambda state: (state.partition, state.isr))
            if s.leader < 0 or set(s.isr) != set(s.replicas)
        ]

    def _unsettled(self, topic: str) -> str:
        """What keeps `topic` from being settled, "" if nothing."""
        answers = self._brokers.ask_all(lambda _, broker: broker_api.metadata(broker, [topic])).given
        alive = {broker for answer in answers.values() for broker in answer.brokers}
        if silent := alive - answers.keys():
            return f"no answer from {sorted(silent)}"
        leaders: dict[int, set[tuple[int, int, int]]] = {
            node: {(p.partition, p.leader, p.leader_epoch) for p in answer.topics[0].partitions}
            for node, answer in answers.items()
        }
        if len({frozenset(known) for known in leaders.values()}) != 1:
            return f"the brokers differ: {leaders}"
        (known,) = {frozenset(known) for known in leaders.values()}
        if not known or any(leader < 0 for _, leader, _ in known):
            return f"not every partition has a leader: {sorted(known)}"
        return self._not_serving(topic, known)

    def _not_serving(self, topic: str, known: Iterable[tuple[int, int, int]]) -> str:
        """Which leaders do not serve yet as the leaders at their epochs, "" if all do."""
        epochs: dict[int, dict[broker_api.Place, int]] = {}
        for partition, leader, epoch in known:
            epochs.setdefault(leader, {})[topic, partition] = epoch
        answers = self._brokers.ask_all(
            lambda node, broker: broker_api.list_offsets(broker, epochs[node]), epochs.keys()
        ).given
        errors = {
            f"{name}-{partition} on {node}": error
            for node, offsets in answers.items()
            for (name, partition), (error, _) in offsets.items()
            if error
        }
        silent = epochs.keys() - answers.keys()
        return f"leaders that do not serve yet: {errors or sorted(silent)}" if errors or silent else ""

    def _latest(
        self, state: PartitionState, nodes: Collection[int], *, asks_as: Callable[[int], int]
    ) -> dict[int, int]:
        """The latest offset of those of `nodes` that answer at the state's epoch, asked as this replica."""
        place = (state.topic, state.partition)
        epochs = {place: state.leader_epoch}
        answers = self._brokers.ask_all(
            lambda node, broker: broker_api.list_offsets(broker, epochs, replica=asks_as(node))[place], nodes
        ).given
        return {node: offset for node, (error, offset) in answers.items() if error == 0}

    def _by_broker(self, topics: Collection[str]) -> Mapping[int, Mapping[str, TopicAnswer]]:
        """The answers on topics by broker and name."""
        return self._brokers.ask_all(lambda _, broker: broker_api.describe(broker, topics)).given


def merge(answers: Iterable[TopicAnswer]) -> tuple[PartitionState, ...]:
    """One state a partition: of those with the greatest leader epoch, the one that most brokers report.

    Its ELR is the one that most of these brokers report; a broker of an old release reports none.
    """
    by_place: dict[tuple[str, int], list[PartitionAnswer]] = {}
    for answer in answers:
        for partition in answer.partitions:
            by_place.setdefault((answer.name, partition.partition), []).append(partition)
    return tuple(_merged(topic, reported) for (topic, _), reported in sorted(by_place.items()))


def _merged(topic: str, reported: list[PartitionAnswer]) -> PartitionState:
    votes = Counter(_state(topic, replace(answer, elr=None)) for answer in reported)
    winner = max(votes.items(), key=lambda item: (item[0].leader_epoch, item[1]))[0]
    agreeing = [answer for answer in reported if _state(topic, replace(answer, elr=None)) == winner]
    with_elr = Counter(_state(topic, answer) for answer in agreeing if answer.elr is not None)
    return with_elr.most_common(1)[0][0] if with_elr else winner


def _state(topic: str, answer: PartitionAnswer) -> PartitionState:
    return PartitionState(
        topic=topic,
        partition=answer.partition,
        leader=answer.leader,
        leader_epoch=answer.leader_epoch,
        replicas=answer.replicas,
        isr=tuple(sorted(answer.isr)),
        elr=tuple(sorted(answer.elr or ())),
    )
