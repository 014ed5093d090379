"""A cluster that is healed late, though the healing returns at once: until then no recovery may be proven."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fakes.run.switched_off import SwitchedOff
from faults.schedule.record import FaultEvent


@dataclass
class Withheld:
    """The calls to the `real` cluster that heal the step `of`, made by `release`.

    They are withheld from the proof of its effect on. `later` has `release` called a while after the step has
    been healed, as it believes. All times are nanoseconds of the schedule's clock, -1: not yet.
    """

    real: Any
    off: SwitchedOff
    of: str
    later: Callable[[Callable[[], None]], None]
    now_ns: Callable[[], int]
    calls: list[tuple[str, Callable[[], object]]] = field(default_factory=list)
    nodes: tuple[int, ...] = ()
    released_ns: int = -1
    recovered_ns: int = -1

    def __post_init__(self) -> None:
        self.active = self.off.breaks_off

    @property
    def cluster(self) -> Any:
        """What the schedule is given instead of the cluster."""
        return Withholding(self.real, self)

    def on_event(self, event: FaultEvent) -> None:
        """Follow the step."""
        print(event)
        if event.name != self.of:
            return
        if event.stage == "effect":
            self.active = True
        elif event.stage == "healed":
            self.nodes = event.nodes
            self.later(self.release)
        elif event.stage == "recovered":
            self.recovered_ns = event.at_ns

    def release(self) -> None:
        """Make the calls, in their order, and those that go with them."""
        self.active, self.released_ns = False, self.now_ns()
        for _, call in self.calls:
            call()
        for name in self.off.then:
            for node in self.nodes:
                getattr(self.real, name)(node)

    @property
    def names(self) -> set[str]:
        """Of the calls that were withheld."""
        return {name for name, _ in self.calls}

    @property
    def recovered_after_release(self) -> bool:
        """Whether the recovery was proven, and not before it was healed."""
        return 0 <= self.released_ns <= self.recovered_ns


class Withholding:
    """Stands for a cluster or a mesh, of which some calls are withheld."""

    def __init__(self, real: Any, withheld: Withheld) -> None:
        self._real, self._withheld = real, withheld

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        return partial(self._call, name, found) if name in self._withheld.off.recovery else found

    def _call(self, name: str, found: Callable[..., object], *args: object, **more: object) -> object:
        if not self._withheld.active:
            return found(*args, **more)
        self._withheld.calls.append((name, partial(found, *args, **more)))
        return None

    @property
    def mesh(self) -> Any:
        """The mesh, of which the same calls are withheld."""
        return Withholding(self._real.mesh, self._withheld)

    @property
    def admin(self) -> Any:
        """Kafka's administration, of which the same calls are withheld."""
        return Withholding(self._real.admin, self._withheld)
