"""Whether a partition is settled: every broker says the same of it, and every replica is in sync."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType

from checkers.history.rows import TopicPartition
from workloads.errors import BrokerSilent
from workloads.observe.leaders import Broker, LeaderState, Told, addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All brokers' answers of one moment.

    `settled` has the state of each partition that every broker knows alike, with one leader that leads and
    every replica in sync; `unsettled` says of each other why not.
    """

    settled: Mapping[TopicPartition, LeaderState] = field(default_factory=dict)
    unsettled: Mapping[TopicPartition, str] = field(default_factory=dict)
    seen: Mapping[TopicPartition, LeaderState] = field(default_factory=dict)
    """The newest leader's state of each partition that a leader told, settled or not."""


class Surveyor:
    """Asks every broker at once. All of `bootstrap` must answer: a silent one may know of a newer leader."""

    def __init__(self, bootstrap: str, *, within_s: float = 2.0) -> None:
        """`within_s` bounds each broker's answer."""
        self._stack = ExitStack()
        self._brokers = [
            self._stack.enter_context(Broker(a, within_s=within_s)) for a in addresses(bootstrap)
        ]
        self._pool = self._stack.enter_context(ThreadPoolExecutor(len(self._brokers), "survey"))

    def survey(self, partitions: Sequence[TopicPartition]) -> Survey:
        """Ask now; a silent broker unsettles every partition."""
        told = list(self._pool.map(lambda broker: _ask(broker, partitions), self._brokers))
        silent = [answer for answer in told if isinstance(answer, str)]
        answers = [answer for answer in told if isinstance(answer, Told)]
        states: dict[TopicPartition, list[LeaderState]] = {tp: [] for tp in partitions}
        for state in (state for answer in answers for state in answer.led):
            states[state.tp].append(state)
        reasons = {tp: "; ".join(silent) or unsettled(tp, answers, states[tp]) for tp in partitions}
        newest = {tp: max(led, key=lambda s: s.leader_epoch) for tp, led in states.items() if led}
        return Survey(
            settled={tp: newest[tp] for tp, reason in reasons.items() if not reason},
            unsettled={tp: reason for tp, reason in reasons.items() if reason},
            seen=newest,
        )

    def __enter__(self) -> "Surveyor":
        """Connections open with the first question."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hang up."""
        self._stack.close()


def _ask(broker: Broker, partitions: Sequence[TopicPartition]) -> Told | str:
    try:
        return broker.ask(partitions)
    except BrokerSilent as silent:
        return str(silent)


def unsettled(tp: TopicPartition, answers: Iterable[Told], states: Sequence[LeaderState]) -> str:
    """Why the brokers' answers do not settle `tp`; "" if they do."""
    views = {
        (known.leader, known.leader_epoch, known.replicas, frozenset(known.isr)) if known else None
        for known in (answer.known.get(tp) for answer in answers)
    }
    if None in views:
        return "a broker does not know the partition"
    if len(views) > 1:
        told = sorted(f"leader {v[0]} in epoch {v[1]} with {sorted(v[3])} in sync" for v in views if v)
        return f"brokers disagree: {' / '.join(told)}"
    if len(states) != 1:
        return f"{len(states)} brokers lead it"
    (state,) = states
    if set(state.isr) != set(state.replicas):
        return f"in sync are {sorted(state.isr)} of replicas {sorted(state.replicas)}"
    return ""
