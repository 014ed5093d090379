"""What the run really was: its settings as the cluster had them, its faults and elections as they happened.

The contract is computed from this and never from what a scenario wished for.

Invariant: each setting has the value that the cluster used, each fault and election the time it happened.
Evidence: the run's manifest, the tables of one file, and of the final log which epochs it holds where.
Counterexample to "the scenario asks for min.insync.replicas=2":
    the scenario asks for 2, the topic was created with 1
    one unclean shutdown permits a loss, and the verdict must show it
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from checkers.contract.realised.terms import TermsOverTime, TopicPromise
from checkers.contract.realised.timeline import Clock, Timeline
from checkers.history.clocks.node_clocks import Ahead, spans_of
from checkers.history.metadata_log.eligible import Eligible
from checkers.history.metadata_log.passed_over import PassedOver
from checkers.history.metadata_log.settings import ELR_FEATURE
from checkers.history.records.log_runs import BatchProducers, LogRun
from checkers.history.rows import ClockPair, ConfigChange, Context, TopicPartition
from checkers.history.tables import NONE

Acks: TypeAlias = Literal["0", "1", "all"]
"""How many replicas a producer waits for, as Kafka writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerPromise:
    """What a producer asked for. `acks` is "0", "1" or "all"."""

    acks: str
    idempotence: bool


def nothing_survives(_: TopicPartition) -> Sequence[LogRun]:
    """Of a run whose final log is empty."""
    return ()


def no_batches(_: TopicPartition) -> BatchProducers | None:
    """Of a run whose replicas were not read."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Realised:
    """Everything the contract depends on.

    `topics` are the settings with which each was made, and `elr` whether it was on in the end; `terms` has
    both as they changed. `clocks_ahead`: of each node whose own clock was set, by how much it was off.
    `survivors` gives the epochs of a partition's final log, by offset; `batches` which producers wrote its
    batches (None: nobody knows). Both read the history, and are asked only about partitions with anomalies.
    """

    producers: Mapping[int, ProducerPromise]
    topics: Mapping[str, TopicPromise]
    elr: bool
    clock: Clock
    context: Context
    survivors: Callable[[TopicPartition], Sequence[LogRun]] = nothing_survives
    batches: Callable[[TopicPartition], BatchProducers | None] = no_batches
    timeline: Timeline = field(init=False)
    terms: TermsOverTime = field(init=False)
    passed_over: PassedOver = field(init=False)
    eligible: Eligible = field(init=False)
    clocks_ahead: Mapping[int, Sequence[Ahead]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "timeline", Timeline(self.context, self.clock))
        object.__setattr__(self, "terms", TermsOverTime(self.context, self.clock, self.elr))
        object.__setattr__(self, "passed_over", PassedOver(self.context))
        object.__setattr__(self, "eligible", Eligible(self.context, self.clock))
        object.__setattr__(self, "clocks_ahead", spans_of(self.context.faults))

    def producer(self, number: int) -> ProducerPromise:
        """The promise to a producer; an unlisted one (a client made anew) gets the strictest of all."""
        strictest = max(self.producers.values(), key=lambda p: (p.acks == "all", p.acks, p.idempotence))
        return self.producers.get(number, strictest)

    def topic(self, name: str) -> TopicPromise | None:
        """The settings of a topic as it was made; None for one that the run does not list."""
        return self.topics.get(name)


def clock_of_nodes(clocks: Sequence[ClockPair], monotonic_ns: int, wall_ns: int) -> Clock:
    """The run's clock against that of the nodes and the metadata log: the engine's, if that answered."""
    answered = [replace(pair, wall_ns=pair.engine_ns) for pair in clocks if pair.engine_ns != NONE]
    pairs = sorted(answered or clocks, key=lambda pair: pair.wall_ns)
    return Clock(monotonic_ns=monotonic_ns, wall_ns=wall_ns, pairs=tuple(pairs))


def elr_in_force(configs: Sequence[ConfigChange], formatted: bool) -> bool:
    """By the last record of the feature in the metadata log; a feature without a record is at level 0.

    A history without any feature is of an older version: then as the cluster was `formatted`.
    """
    features = [change for change in configs if change.kind == "feature"]
    if not features:
        return formatted
    of_elr = [change for change in features if change.name == ELR_FEATURE]
    last = max(of_elr, key=lambda change: change.log_offset, default=None)
    return last is not None and not last.removed and int(last.value) > 0
