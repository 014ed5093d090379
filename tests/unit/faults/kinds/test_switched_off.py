"""What is switched off of each kind, on a cluster that reacts: then nothing is proven, and else all is."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from fakes.run.one_fault import HOLD_NOTHING
from fakes.run.switched_off import SWITCHED_OFF
from fakes.run.withholding import Withheld
from fakes.world.fault_world import Inline, World, WorldView, not_finalized, without_way_back
from fakes.world.ignoring import Ignoring

from compose.admin_protocol import Admin
from compose.protocols import Cluster, Mesh
from faults.clock import ns
from faults.kinds.registry import KINDS
from faults.plan.parse import parse_steps
from faults.schedule.record import FaultEvent, FaultRecord
from faults.schedule.scheduler import run_schedule

WITHHELD_S = 20.0
"""A node boots in 3 s, and is in sync 0.5 s later."""
HEALED = [name for name, off in SWITCHED_OFF.items() if off.recovery]
VALUES = {"memory": "400MiB", "older": "4.0.0", "newer": "4.3.1"}


WORLDS: dict[str, Callable[[], World]] = {
    "finalize": not_finalized,
    "log-dir-failure": lambda: World(log_dir_count=2),
    "power-loss of a flushed log": lambda: World(flushed=True),
    "power-loss of controllers": lambda: World(flushed=True),
    "refused-downgrade": without_way_back,
    "rolling-upgrade": lambda: World(releases=dict.fromkeys((1, 2, 3, 101, 102, 103), "4.0.0")),
}
"""Where a kind has something to do, if not in any world; and where nothing was unsynced."""


def run(
    world: World,
    name: str,
    cluster: Any,
    on_event: Callable[[FaultEvent], None] = lambda _: None,
) -> FaultRecord:
    """The record of the step, after those that it needs."""
    *_, record = run_schedule(
        parse_steps(SWITCHED_OFF[name].steps("it", "orders", **VALUES)),
        cluster,
        WorldView(world),
        world.clock,
        stop=Event(),
        on_event=on_event,
        threads=Inline(),
    )
    return record


def test_no_kind_is_missing() -> None:
    assert {off.words["do"] for off in SWITCHED_OFF.values()} == set(KINDS)
    for name, off in SWITCHED_OFF.items():
        assert name.split()[0] == off.words["do"]


def test_recovery_is_switched_off_of_every_kind_that_holds_something() -> None:
    assert {SWITCHED_OFF[name].words["do"] for name in HEALED} == set(KINDS) - set(HOLD_NOTHING)


@pytest.mark.parametrize("name", SWITCHED_OFF)
def test_what_is_switched_off_is_a_call(name: str) -> None:
    """Of a cluster, its mesh or its administration."""
    off = SWITCHED_OFF[name]
    assert off.effect
    for call in (*off.effect, *off.recovery, *off.then):
        assert any(hasattr(protocol, call) for protocol in (Cluster, Mesh, Admin)), call


@pytest.mark.parametrize("name", SWITCHED_OFF)
def test_with_nothing_switched_off_each_is_proven_and_recovers(name: str) -> None:
    """Else it would show nothing that it is not, with something switched off."""
    world = WORLDS.get(name, World)()
    record = run(world, name, world)
    assert (record.proven, record.recovered) == (True, True), record.evidence


@pytest.mark.parametrize("name", SWITCHED_OFF)
def test_an_effect_that_is_switched_off_is_not_proven(name: str) -> None:
    """Though it was injected, whatever the calls returned."""
    world = WORLDS.get(name, World)()
    record = run(world, name, Ignoring(world, *SWITCHED_OFF[name].effect))
    assert record.inject_ns > 0, record.evidence
    assert (record.proven, record.effect_ns) == (False, -1), record.evidence


@pytest.mark.parametrize("name", HEALED)
def test_a_recovery_that_is_switched_off_is_not_proven_until_it_is_on(name: str) -> None:
    """However long that takes, within the minute of a recovery."""
    world, off = WORLDS.get(name, World)(), SWITCHED_OFF[name]

    def later(release: Callable[[], None]) -> None:
        world.clock.call_at(world.clock.now_ns() + ns(WITHHELD_S), release)

    withheld = Withheld(real=world, off=off, of="it", later=later, now_ns=world.clock.now_ns)
    record = run(world, name, withheld.cluster, withheld.on_event)
    assert record.proven is not off.breaks_off, record.evidence
    assert withheld.names == set(off.recovery)
    assert withheld.recovered_after_release, record.evidence


@pytest.mark.parametrize("name", HEALED)
def test_a_recovery_that_stays_switched_off_is_never_proven(name: str) -> None:
    world, off = WORLDS.get(name, World)(), SWITCHED_OFF[name]
    withheld = Withheld(real=world, off=off, of="it", later=lambda release: None, now_ns=world.clock.now_ns)
    record = run(world, name, withheld.cluster, withheld.on_event)
    assert withheld.names == set(off.recovery)
    assert not record.recovered, record.evidence
