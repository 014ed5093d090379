"""What every fault offers, and what it is given: one object for each injection.

`prepare`, `effect` and `recovery` only read from the cluster. They run on background threads, one call at a
time for each fault. `inject` and `heal` change the cluster. They are tasks of the event loop that have the
changes made on background threads too, so that no other step is late; who changes a node's process or disk
has the node to himself (`Holds.changing`), and the mesh is safe to use from threads.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Generic, Literal, Protocol, TypeVar, runtime_checkable

from compose.errors import ComposeError, NodeStateError
from compose.protocols import Cluster, Edge, Status, View
from faults.clock import Clock, ns
from faults.errors import NoTarget
from faults.kinds.fault.evidence import CounterSample, Evidence
from faults.kinds.fault.node_holds import Holds
from faults.kinds.fault.step import Step
from faults.tasks import Task

StepT = TypeVar("StepT", bound=Step)

UP: tuple[Status, ...] = ("running", "paused")
"""A node in any other state has no process; it is missing while its container is replaced, and then if that
failed half way."""

VACANT_S = 5.0
"""How long a role may be vacant when a step is due, or a node unfit when its turn has come: an election takes
3.4 to 4.3 s after a kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """When a node's process had ended, and when it was started again; -1: not known, or never."""

    down_ns: int = -1
    up_ns: int = -1


LogEndSource = Literal["disk-down", "before-power-loss", "after-power-loss", "before-wipe", "after-wipe"]
"""When a node's disk was read: while the node was down; paused, before its power was cut; after that; before
the disk was replaced; after that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLog:
    """The extent of one replica's log, read from the disk of a node that could not write to it."""

    at_ns: int
    node: int
    topic: str
    partition: int
    log_start: int
    log_end: int
    source: LogEndSource


@dataclass(slots=True)
class Outages:
    """What a fault has cost so far, for the contract.

    `down`: the nodes whose process it ended; `unclean`: those that had no controlled shutdown; `data_lost`:
    those that lost unsynced pages, or their disk. Each is part of the one before, but that a node may lose a
    log directory and go on. `replicas`: by node, topic and partition, those that the fault concerns, if they
    are not all of its nodes. `logs`: what those nodes held. `waited_ns`: how long the injection has waited
    for what Kafka does in its own time.
    """

    down: dict[int, Outage] = field(default_factory=dict)
    unclean: set[int] = field(default_factory=set)
    data_lost: set[int] = field(default_factory=set)
    replicas: set[tuple[int, str, int]] = field(default_factory=set)
    logs: list[MeasuredLog] = field(default_factory=list)
    waited_ns: int = 0

    def waited(self, took_ns: int, *, at_most_s: float) -> None:
        """It has waited. Beyond `at_most_s` it was not Kafka that took so long."""
        self.waited_ns += min(took_ns, ns(at_most_s))

    def ending(self, node: int, *, unclean: bool) -> None:
        """The process is about to be ended. From here on it counts as down, whatever is raised."""
        self.down.setdefault(node, Outage())
        if unclean:
            self.unclean.add(node)

    def ended(self, node: int, at_ns: int) -> None:
        """The process had ended at `at_ns`."""
        self.down[node] = Outage(down_ns=at_ns)

    def started(self, node: int, at_ns: int) -> None:
        """The node's process runs; nothing if this fault had not ended it, or has started it before."""
        if node in self.down and self.down[node].up_ns < 0:
            self.down[node] = Outage(down_ns=self.down[node].down_ns, up_ns=at_ns)

    def is_ending(self, node: int) -> bool:
        """Whether the process is about to be ended, and still may run."""
        return self.down.get(node) == Outage()

    def has_changed(self, node: int, since_ns: int) -> bool:
        """Whether the process ended, or was started again, at `since_ns` or later."""
        its = self.down.get(node)
        return its is not None and max(its.down_ns, its.up_ns) >= since_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection(Generic[StepT]):
    """One injection of a step: what its roles meant at that moment, and what the counters were.

    `before` is from about a second earlier, `now` from just before the injection; `isr` is what was in sync
    then, by topic and partition. It is due at `due_ns`, -1 where that is not known. `broken_off` is set when
    the schedule ends before its time: an injection of several parts begins no further one.
    """

    step: StepT
    cluster: Cluster
    view: View
    clock: Clock
    holds: Holds
    nodes: tuple[int, ...]
    edges: tuple[Edge, ...]
    before: CounterSample
    now: CounterSample
    isr: Mapping[tuple[str, int], tuple[int, ...]]
    due_ns: int = -1
    outages: Outages = field(default_factory=Outages)
    broken_off: Event = field(default_factory=Event)

    @property
    def owner(self) -> str:
        """The name under which it holds edges and nodes."""
        return self.step.name


class Fault(Protocol):
    """One injection: inject, evidence of its effect, heal, evidence of the recovery."""

    def prepare(self) -> None:
        """Read what the injection needs to know. NoTarget if there is nothing to hit."""

    def inject(self) -> Task[None]:
        """Change the cluster. ComposeError if it could not be done, in part or at all: heal then."""

    def effect(self) -> Evidence:
        """One short probe: has it taken effect?"""

    def heal(self) -> Task[None]:
        """Undo. May be called again, also after an injection that failed. ComposeError: try again."""

    def recovery(self) -> Evidence:
        """One short probe: is it gone, and does everything work again that it took away?"""


@runtime_checkable
class Ongoing(Protocol):
    """A fault that goes on changing the cluster while it holds."""

    def go_on(self) -> Task[None]:
        """Runs from the begin on, beside the probes of the effect. Ends by itself once `heal` was called."""


def alive(
    injection: Injection[StepT], *, what: str, fit: tuple[Status, ...] = ("running",)
) -> tuple[int, ...]:
    """Those of the injection's nodes that this can be done to; NoTarget if there are none.

    For what ends nodes: the record of such a fault lists those that it has ended.
    """
    states = {node: unfit(injection, node, fit) for node in injection.nodes}
    found = tuple(node for node, state in states.items() if not state)
    if not found:
        raise NoTarget(f"nothing to {what}: {', '.join(states.values())}")
    return found


def all_alive(injection: Injection[StepT], *, what: str) -> tuple[int, ...]:
    """The injection's nodes, if each of them runs; NoTarget if one does not.

    Whoever reads the record takes every node of the fault for one that was hit.
    """
    if lacking := [state for node in injection.nodes if (state := unfit(injection, node))]:
        all_of = f"cannot {what} all of {'+'.join(map(str, injection.nodes))}"
        whom = all_of if len(lacking) < len(injection.nodes) else f"nothing to {what}"
        raise NoTarget(f"{whom}: {', '.join(lacking)}")
    return injection.nodes


def unfit(injection: Injection[StepT], node: int, fit: tuple[Status, ...] = ("running",)) -> str:
    """What keeps this fault from the node: its state, or another fault that is ending it; "" if nothing."""
    status = injection.cluster.state(node).status
    if status not in fit:
        ended_by = injection.cluster.ended_by(node)
        return f"node {node} is {status}" + (f", ended by {ended_by}" if ended_by else "")
    ending = injection.holds.claimed_by(process_of(node))
    return "" if ending in ("", injection.owner) else f"node {node} is {status}, and {ending} is ending it"


def check_fit(injection: Injection[StepT], node: int, fit: tuple[Status, ...] = ("running",)) -> None:
    """NodeStateError if something keeps this fault from the node; for one who has the node to himself."""
    if found := unfit(injection, node, fit):
        raise NodeStateError(found)


@contextmanager
def fit_node(
    injection: Injection[StepT], node: int, fit: tuple[Status, ...] = ("running",)
) -> Iterator[None]:
    """This fault has the node to himself, and nothing keeps it from it; NodeStateError otherwise.

    What was true when the fault was prepared may not be when its turn has come.
    """
    with injection.holds.changing((node,)):
        check_fit(injection, node, fit)
        yield


def check_free(injection: Injection[StepT], thing: str) -> None:
    """NoTarget while another fault has changed the same thing: healed first, it would undo this one."""
    if taken := _taken(injection, thing, injection.holds.claimed_by(thing)):
        raise NoTarget(taken)


def claim(injection: Injection[StepT], thing: str) -> None:
    """From here on no other fault changes the thing. ComposeError if one was quicker."""
    if taken := _taken(injection, thing, injection.holds.claim(thing, injection.owner)):
        raise ComposeError(taken)


def _taken(injection: Injection[StepT], thing: str, holder: str) -> str:
    is_free = holder in ("", injection.owner)
    return "" if is_free else f"{thing}: {holder} has changed it, and is not healed"


def process_of(node: int) -> str:
    """What a fault claims while it is ending the node, so that no other one ends it too."""
    return f"the process of node {node}"


def try_all(actions: Iterable[Callable[[], object]]) -> None:
    """Do each, also if an earlier one fails; then raise what failed first."""
    failed: list[ComposeError] = []
    for action in actions:
        try:
            action()
        except ComposeError as error:
            failed.append(error)
    if failed:
        raise failed[0]


def try_tasks(tasks: Iterable[Callable[[], Task[None]]]) -> Task[None]:
    """The same of tasks, one after the other."""
    failed: list[ComposeError] = []
    for task in tasks:
        try:
            yield from task()
        except ComposeError as error:
            failed.append(error)
    if failed:
        raise failed[0]
