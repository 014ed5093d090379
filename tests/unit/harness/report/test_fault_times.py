"""How late faults began, and which begin or hold has to be named."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from fakes.run.whole_runs import ns
from fakes.world.fault_world import Inline, World, WorldView

from checkers.history.rows import Fault
from checkers.verdict.algebra import Reason, Verdict
from faults.kinds.registry import KINDS
from faults.plan.parse import parse_steps
from faults.schedule.scheduler import run_schedule
from harness.report.fault_times import fault_times, in_words
from harness.report.report import Report
from harness.terminal.summary import report_text


def fault(name: str, *, late_s: float = 0.0, held_s: float = 3.0, evidence: str = "{}") -> Fault:
    """A fault of 3 s that was planned for second 10."""
    begin = 10 + late_s
    return Fault(
        index=0,
        name=name,
        kind="kill",
        planned_begin_ns=ns(10),
        planned_end_ns=ns(13),
        inject_ns=ns(begin),
        begin_ns=ns(begin + 0.05),
        end_ns=ns(begin + 0.05 + held_s),
        evidence=evidence,
    )


def test_how_late_faults_began() -> None:
    """Of 200 of which three were late: median, the least that 99 of 100 do not exceed, and the most."""
    faults = [fault(f"kill-{number}", late_s=0.002) for number in range(197)]
    faults += [fault(f"late-{number}", late_s=late_s) for number, late_s in enumerate((0.03, 0.2, 0.4))]
    assert fault_times(faults).as_json() == {
        "faults": 200,
        "median_late_s": 0.002,
        "p99_late_s": 0.03,
        "most_late_s": 0.4,
        "notes": [],
    }


def test_a_begin_and_a_hold_that_differ_are_named() -> None:
    """By more than half a second, with the reason if the schedule has recorded one."""
    waited = '{"delayed": "leader: orders-0 has no leader", "late_s": 2.5}'
    faults = [
        fault("on-time", late_s=0.499, held_s=3.499),
        fault("late", late_s=2.5, evidence=waited),
        fault("late-too", late_s=0.51, evidence="not json"),
        fault("long", held_s=3.6),
        fault("short", held_s=1.25),
    ]
    assert fault_times(faults).notes == (
        "late began 2.50 s after its planned instant: leader: orders-0 has no leader",
        "late-too began 0.51 s after its planned instant",
        "long was held for 3.60 s instead of 3.00 s",
        "short was held for 1.25 s instead of 3.00 s",
    )


def test_a_hold_that_another_fault_has_cut_short_is_named() -> None:
    """Its healing came as planned: only what it lost on the way tells."""
    short, long = (f'{{"node": 2, "by": "kill-1", "after_s": {after_s}}}' for after_s in (1.04, 2.6))
    lost = f'{{"cut_short": [{short}, {long}]}}'
    strange = '{"cut_short": [{"node": 2}, 7]}'
    assert fault_times([fault("stall", evidence=lost), fault("x", evidence=strange)]).notes == (
        "stall lost its hold of node 2 after 1.04 s instead of 3.00 s: kill-1 ended it",
    )


def changed(
    kind: str,
    *,
    inject_s: float = 0.1,
    heal_s: float = 0.1,
    nodes: int = 1,
    edges: int = 0,
    waited_s: float = 0,
) -> tuple[str, ...]:
    """The notes about a fault that began and ended in time, and whose changes took so long."""
    waited = f'{{"waited_s": {waited_s}}}' if waited_s else "{}"
    begin_ns, end_ns = ns(10 + inject_s), ns(13 + inject_s)
    one = replace(
        fault("x", evidence=waited),
        kind=kind,
        nodes=tuple(range(nodes)),
        edges=tuple(f"{number}->1" for number in range(edges)),
        begin_ns=begin_ns,
        end_ns=end_ns,
        heal_ns=end_ns + ns(heal_s),
    )
    return fault_times([one]).notes


@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_that_stands_still_within_a_change_is_named(kind: str) -> None:
    """For 15 s, of any kind, on one node: whatever it takes of itself, and waits for."""
    waited_s = 0.01 if kind in ("stop", "rolling-restart", "rolling-upgrade") else 0
    assert len(changed(kind, inject_s=15.1, waited_s=waited_s)) == 1
    assert len(changed(kind, heal_s=15.1)) == 1


def test_a_slow_change_is_named_with_what_its_kind_does_not_need() -> None:
    assert changed("pause", inject_s=15.2) == (
        "x took 15.20 s to inject, 13.70 s more than a fault of its kind needs",
    )
    assert changed("pause", heal_s=18.1) == (
        "x took 18.10 s to heal, 16.60 s more than a fault of its kind needs",
    )
    assert changed("pause", inject_s=2.0, heal_s=2.0) == ()
    assert changed("of-a-later-version", inject_s=20, heal_s=20) == ()


@pytest.mark.parametrize(
    ("kind", "inject_s", "heal_s", "nodes"),
    [
        ("partition", 1.2, 0.5, 1),
        ("pause", 0.4, 0.3, 1),
        ("kill", 0.7, 1.5, 1),
        ("kill", 2.5, 5.0, 3),
        ("disk-stall", 0.9, 0.6, 1),
        ("power-loss", 0.9, 1.8, 1),
        ("power-loss", 4.0, 6.0, 3),
    ],
)
def test_what_changes_take_on_a_busy_machine_is_no_news(
    kind: str, inject_s: float, heal_s: float, nodes: int
) -> None:
    """As measured in docs/benchmarks.md, and several times that for nodes that start again."""
    assert changed(kind, inject_s=inject_s, heal_s=heal_s, nodes=nodes) == ()


def test_a_shutdown_and_a_restart_in_turn_take_their_time() -> None:
    """What was waited for is in the record; beside it, only what the changes take."""
    assert changed("stop", inject_s=6.2, waited_s=5.9) == ()
    assert changed("stop", inject_s=21.0, waited_s=10.0) == (
        "x took 21.00 s to inject, 9.00 s more than a fault of its kind needs",
    )
    assert changed("rolling-restart", inject_s=55.0, nodes=3, waited_s=48.0) == ()
    assert len(changed("rolling-restart", inject_s=70.0, nodes=3, waited_s=48.0)) == 1
    assert changed("stop", inject_s=21.0) == ()  # of a history that does not tell what was waited for


@dataclass
class Stalling(World):
    """Its engine stands still for 15 s when it is asked for one of these changes, once."""

    stalls: set[str] = field(default_factory=set)

    def _do(self, name: str, node: int, log_dir: int | None = None) -> None:
        super()._do(name, node, log_dir)
        if name in self.stalls:
            self.stalls.remove(name)
            self.clock.advance(ns(15))


def notes_of(world: World, words: Mapping[str, object]) -> list[str]:
    """Those about one step that was run on the world."""
    records = run_schedule(
        parse_steps([{"name": "x", "at": "5s", **words}]),
        world,
        WorldView(world),
        world.clock,
        stop=Event(),
        on_event=lambda event: None,
        threads=Inline(),
    )
    rows = [record.row() for record in records]
    return list(fault_times([Fault(**row) for row in rows]).notes)  # type: ignore[arg-type]


PAUSE = {"do": "pause", "target": "node 2", "for": "3s"}
KILL = {"do": "kill", "target": "node 2", "for": "3s"}
STOP = {"do": "stop", "target": "node 2", "for": "3s"}
ROLL = {"do": "rolling-restart", "target": "brokers", "for": "0s"}
POWER = {"do": "power-loss", "target": "brokers", "for": "3s"}


@pytest.mark.parametrize("words", [PAUSE, KILL, STOP, ROLL, POWER], ids=lambda words: words["do"])
def test_a_schedule_in_its_own_time_has_no_notes(words: Mapping[str, object]) -> None:
    """A shutdown takes 6 s, a broker boots for 9 s and is in sync 4 s later."""
    assert notes_of(World(stop_ns=ns(6), boot_ns=ns(9), rejoin_ns=ns(4)), words) == []


@pytest.mark.parametrize(
    ("words", "change", "took"),
    [
        (PAUSE, "pause", "took 15.05 s to inject"),
        (PAUSE, "unpause", "took 15.05 s to heal"),
        (KILL, "kill", "took 15.05 s to inject"),
        (KILL, "start", "took 15.10 s to heal"),
        (STOP, "stop", "took 21.05 s to inject"),
        (ROLL, "stop", "to inject"),
        (ROLL, "start", "to inject"),
        (POWER, "drop_unsynced", "to inject"),
        (POWER, "start", "to heal"),
    ],
)
def test_an_engine_that_stands_still_in_a_schedule_is_named(
    words: Mapping[str, object], change: str, took: str
) -> None:
    (note,) = notes_of(Stalling(stop_ns=ns(6), boot_ns=ns(9), rejoin_ns=ns(4), stalls={change}), words)
    assert note.startswith("x took ")
    assert took in note


@pytest.mark.parametrize("words", [STOP, ROLL], ids=lambda words: words["do"])
def test_a_proxy_that_dials_a_stopped_node_is_no_news(words: Mapping[str, object]) -> None:
    """Its edges are closed when it has ended, and then the proxy hangs for 3 s: 2.7 to 3.7 s were seen."""
    world = World(stop_ns=ns(1), boot_ns=ns(9), rejoin_ns=ns(4))
    cut = world.mesh.cut

    def hang(*given: Any, **more: Any) -> None:
        world.clock.advance(ns(3.7))
        cut(*given, **more)

    world.mesh.cut = hang  # type: ignore[method-assign]
    assert notes_of(world, words) == []


def test_many_edges_take_longer_than_one() -> None:
    assert changed("partition", inject_s=4.9, nodes=6, edges=30) == ()
    assert len(changed("partition", inject_s=5.1, nodes=6, edges=30)) == 1


def test_what_was_not_injected_or_not_planned_is_not_counted() -> None:
    """An older history has no planned times."""
    older = replace(fault("older"), planned_begin_ns=-1, planned_end_ns=-1)
    skipped = replace(fault("skipped"), inject_ns=-1, begin_ns=-1, end_ns=-1)
    open_end = replace(fault("open"), end_ns=-1)
    assert fault_times([older, skipped]).as_json() == {
        "faults": 0,
        "median_late_s": None,
        "p99_late_s": None,
        "most_late_s": None,
        "notes": [],
    }
    assert fault_times([open_end]).notes == ()


def test_the_terminal_has_a_line_of_it_and_the_notes() -> None:
    """Of a run that passes, too; nothing of a run without faults."""
    times = fault_times([fault("kill-1", late_s=0.004), fault("kill-2", late_s=0.75)]).as_json()
    report = Report(
        run_dir=Path("runs/x"),
        verdict=Verdict.PASS,
        outcome="acks=all lost none of 9 acknowledged records",
        reasons=(Reason(Verdict.PASS, "all holds"),),
        document={"fault_times": times},
    )
    assert report_text(report).splitlines() == [
        "PASS  acks=all lost none of 9 acknowledged records",
        "  2 faults began 4 ms after the planned instant (median; p99 750, most 750 ms)",
        "  note: kill-2 began 0.75 s after its planned instant",
    ]
    assert in_words(fault_times([]).as_json()) == ""
    assert len(report_text(replace(report, document={})).splitlines()) == 1


def test_an_event_that_was_noticed_late_is_named() -> None:
    """By more than half a second; of a step that waited for none nothing is said."""
    faults = [
        fault("soon", evidence='{"noticed_within_s": 0.5}'),
        fault("later", evidence='{"late_s": 0.021, "noticed_within_s": 3.453}'),
        fault("odd", evidence='{"noticed_within_s": "x"}'),
    ]
    assert fault_times(faults).notes == ("later noticed its event up to 3.45 s late",)


def test_what_waited_for_another_to_recover_is_named_with_it() -> None:
    faults = [
        fault("soon", evidence='{"postponed": {"by_s": 0.4, "for": "kill-1"}}'),
        fault("later", evidence='{"postponed": {"by_s": 3.97, "for": "kill-1"}}'),
        fault("odd", evidence='{"postponed": 7}'),
    ]
    assert fault_times(faults).notes == ("later was postponed by 3.97 s: kill-1 had not recovered",)
