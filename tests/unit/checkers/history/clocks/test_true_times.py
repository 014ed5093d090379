"""What nodes with wrong clocks dated stands where it was, and what has two places is named."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.history.judged_run import CLOCK, ns

from checkers.contract.realised.downtimes import SECOND_NS
from checkers.damage import write
from checkers.history.clocks.true_times import on_engines_clock
from checkers.history.load import load_context
from checkers.history.rows import (
    BrokerLine,
    ClockPair,
    Context,
    Coordinator,
    Fault,
    MetadataAppend,
    MetadataChange,
    NodeEvent,
)
from checkers.model import Case, ClockSkew, Kill, ModelSettings, simulate
from checkers.model.observe.clock import ORIGIN_MS
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import disagreements
from spark_verify.selftest.model_fuzz.verdict_of import Judged, verdict_of

WALL_MS = CLOCK.wall_ns // 1_000_000
CONTROLLER = 103


def written(
    second: float, offset: int, *, ahead_s: float = 0, controller: int = CONTROLLER
) -> MetadataChange:
    """A record of the metadata log that was written at a second of the run, by a clock that was ahead."""
    return MetadataChange(
        at_ms=WALL_MS + round((second + ahead_s) * 1000),
        topic="orders",
        partition=0,
        leader=1,
        leader_epoch=offset,
        partition_epoch=offset,
        log_offset=offset,
        controller=controller,
    )


def skewed(second: float, until: float, offset: str, *nodes: int, proven: bool = True) -> Fault:
    """A clock was set at a second, seen to show it 0.1 s later, and set right at another one."""
    return Fault(
        index=0,
        name="ahead",
        kind="clock-skew",
        target=f"node {nodes[0]}: {offset}",
        nodes=nodes,
        inject_ns=ns(second),
        effect_ns=ns(second + 0.1) if proven else -1,
        end_ns=ns(until),
        heal_ns=ns(until + 0.1),
        recovered_ns=ns(until + 0.2),
        proven=proven,
    )


def run(*rows: MetadataChange, faults: Sequence[Fault], lasts: int = 60, **more: object) -> Context:
    """A run that is read on the engine's clock."""
    readings = [
        ClockPair(
            at_ns=ns(at), wall_ns=CLOCK.wall_ns + at * SECOND_NS, engine_ns=CLOCK.wall_ns + at * SECOND_NS
        )
        for at in range(0, lasts + 1, 2)
    ]
    return on_engines_clock(Context(metadata=rows, faults=faults, clocks=readings, **more))  # type: ignore[arg-type]


def seconds(context: Context) -> list[float]:
    """When each record was written, as it is read."""
    return [(row.at_ms - WALL_MS) / 1000 for row in context.metadata]


def test_a_run_that_sets_no_clock_is_read_as_it_is() -> None:
    context = Context(metadata=(written(3, 1),))
    assert on_engines_clock(context) is context


def test_what_a_controller_dated_ahead_stands_where_it_was() -> None:
    its = run(
        written(5, 1),
        written(12, 2, ahead_s=300),
        written(19, 3, ahead_s=300),
        written(25, 4),
        faults=[skewed(10, 20, "+5m", CONTROLLER)],
    )
    assert seconds(its) == [5, 12, 19, 25]
    assert its.unplaced == frozenset()


def test_what_a_controller_dated_behind_stands_where_it_was() -> None:
    records = (written(5, 1), written(12, 2, ahead_s=-3600), written(25, 3))
    assert seconds(run(*records, faults=[skewed(10, 20, "-1h", CONTROLLER)])) == [5, 12, 25]


def test_a_record_of_the_transition_stands_where_its_own_date_says() -> None:
    """Between the writing of the file and the proof either clock may have been asked."""
    records = (
        written(10.02, 1),
        written(10.06, 2, ahead_s=300),
        written(20.05, 3, ahead_s=300),
        written(20.1, 4),
    )
    its = run(*records, faults=[skewed(10, 20, "+5m", CONTROLLER)])
    assert seconds(its) == [10.02, 10.06, 20.05, 20.1]
    assert its.unplaced == frozenset()


def test_another_controller_s_records_are_left_alone() -> None:
    """The one whose clock jumped has given up its term."""
    records = (written(12, 1, ahead_s=300), written(14, 2, controller=101), written(16, 3, controller=101))
    its = run(*records, faults=[skewed(10, 20, "+5m", CONTROLLER)])
    assert seconds(its) == [12, 14, 16]


def test_a_fault_that_was_not_proven_may_have_set_the_clock() -> None:
    records = (written(12, 1, ahead_s=300), written(14, 2))
    its = run(*records, faults=[skewed(10, 20, "+5m", CONTROLLER, proven=False)])
    assert seconds(its) == [12, 14]


def test_what_no_fault_explains_has_no_place() -> None:
    """The clock still was ahead when it had been seen to be right: its date alone lies behind the run."""
    its = run(written(5, 1), written(30, 2, ahead_s=300), faults=[skewed(10, 20, "+5m", CONTROLLER)])
    assert its.unplaced == {2}


# Where the run lasts longer than the clock was ahead


def test_where_two_places_fit_the_order_of_the_log_decides() -> None:
    """By its date alone, the second one is of 25 s, or of 55 s, when the clock was right again."""
    ahead = [skewed(20, 40, "+30s", CONTROLLER)]
    its = run(written(5, 1), written(25, 2, ahead_s=30), written(27, 3, controller=101), faults=ahead)
    assert (seconds(its), its.unplaced) == ([5, 25, 27], frozenset())


def test_what_still_has_two_places_is_named() -> None:
    ahead = [skewed(20, 40, "+30s", CONTROLLER)]
    its = run(written(5, 1), written(25, 2, ahead_s=30), faults=ahead)
    assert its.unplaced == {2}
    assert run(written(5, 1), written(58, 2), faults=ahead, lasts=120).unplaced == {2}


def test_without_a_reading_of_the_clocks_nothing_has_a_place() -> None:
    records = (written(5, 1), written(25, 2, controller=101))
    context = Context(metadata=records, faults=[skewed(20, 40, "+5m", CONTROLLER)])
    assert on_engines_clock(context).unplaced == {1}


# Where nobody knows who wrote a record


def test_a_record_of_an_unknown_controller_may_be_of_any_whose_clock_was_set() -> None:
    records = (written(12, 1, ahead_s=300, controller=-1), written(14, 2, controller=-1))
    its = run(*records, faults=[skewed(10, 20, "+5m", CONTROLLER)])
    assert (seconds(its), its.unplaced) == ([12, 14], frozenset())
    both = (written(25, 1, ahead_s=30, controller=-1),)
    assert run(*both, faults=[skewed(20, 40, "+30s", CONTROLLER)]).unplaced == {1}


def test_a_broker_that_is_no_controller_writes_no_record() -> None:
    """Of releases whose dump names no controller, a broker's clock leaves the log where it is."""
    started = NodeEvent(at_ns=ns(0), node=1, role="broker", event="started")
    its = run(written(55, 1, controller=-1), faults=[skewed(20, 40, "+30s", 1)], node_events=(started,))
    assert (seconds(its), its.unplaced) == ([55], frozenset())
    combined = replace(started, role="combined")
    its = run(written(55, 1, controller=-1), faults=[skewed(20, 40, "+30s", 1)], node_events=(combined,))
    assert its.unplaced == {1}


# What metrics alone ask for


def appended(second: float, offset: int, *, ahead_s: float = 0) -> MetadataAppend:
    """An append that a controller dated by a clock that was ahead."""
    at_ms = WALL_MS + round((second + ahead_s) * 1000)
    return MetadataAppend(at_ms=at_ms, log_offset=offset, controller=CONTROLLER)


def coordinated(second: float, offset: int, *, ahead_s: float = 0) -> Coordinator:
    at_ms = WALL_MS + round((second + ahead_s) * 1000)
    return Coordinator(at_ms=at_ms, log_offset=offset, partition=0, leader=1, controller=CONTROLLER)


def test_an_append_and_a_coordinator_stand_where_they_were() -> None:
    its = run(
        faults=[skewed(10, 20, "+5m", CONTROLLER)],
        metadata_appends=(appended(5, 1), appended(12, 2, ahead_s=300), appended(25, 4)),
        coordinators=(coordinated(12, 3, ahead_s=300),),
    )
    assert [(row.at_ms - WALL_MS) / 1000 for row in its.metadata_appends] == [5, 12, 25]
    assert [(row.at_ms - WALL_MS) / 1000 for row in its.coordinators] == [12]


def test_what_no_verdict_asks_for_and_has_two_places_has_no_time() -> None:
    """And is not among the records that keep a run from being judged."""
    ahead = [skewed(20, 40, "+30s", CONTROLLER)]
    its = run(
        written(5, 1),
        faults=ahead,
        metadata_appends=(appended(5, 1), appended(25, 2, ahead_s=30)),
        coordinators=(coordinated(25, 3, ahead_s=30),),
    )
    assert [row.at_ms - WALL_MS for row in its.metadata_appends[:1]] == [5_000]
    assert [row.at_ms for row in (*its.metadata_appends[1:], *its.coordinators)] == [-1, -1]
    assert its.unplaced == frozenset()


def test_an_append_shows_where_its_neighbours_stand() -> None:
    """A record that has two places alone: what was appended behind it was of 27 s."""
    ahead = [skewed(20, 40, "+30s", CONTROLLER)]
    late = replace(appended(27, 3), controller=101)
    its = run(written(25, 2, ahead_s=30), faults=ahead, metadata_appends=(late,))
    assert (seconds(its), its.unplaced) == ([25], frozenset())


def test_without_a_reading_of_the_clocks_what_the_controller_appended_has_no_time() -> None:
    other = replace(appended(26, 3), controller=101)
    context = Context(
        metadata_appends=(appended(25, 2), other),
        coordinators=(coordinated(25, 2),),
        faults=[skewed(20, 40, "+5m", CONTROLLER)],
    )
    its = on_engines_clock(context)
    assert [row.at_ms for row in its.metadata_appends] == [-1, other.at_ms]
    assert [row.at_ms for row in its.coordinators] == [-1]
    assert its.unplaced == frozenset()


# Lines of the nodes' own logs


def test_a_line_is_dated_by_its_node() -> None:
    def line(node: int, second: float) -> BrokerLine:
        at_ms = WALL_MS + round(second * 1000)
        return BrokerLine(topic="orders", partition=0, at_ms=at_ms, node=node, kind="leader-start")

    faults = [skewed(10, 20, "+5m", 1)]
    its = run(faults=faults, broker_lines=(line(1, 8), line(1, 312), line(2, 13)))
    assert [(row.at_ms - WALL_MS) / 1000 for row in its.broker_lines] == [8, 12, 13]


# Whole runs


def cases() -> list[Case]:
    """A leader is killed while the controllers are ahead, behind, or one of them alone is."""
    settings = ModelSettings(records=150, load_s=22.0)
    kill = Kill(at_s=8.0, hold_s=4.0, nodes=(1,))
    return [
        Case(
            seed=seed,
            settings=settings,
            schedule=(ClockSkew(at_s=4.0, hold_s=14.0, nodes=nodes, ahead_s=ahead_s), kill),
        )
        for seed, (nodes, ahead_s) in enumerate(
            [((101, 102, 103), 300.0), ((103,), 300.0), ((101, 102, 103), -3600.0), ((1, 2, 3), 300.0)], 1
        )
    ]


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case.schedule[0].nodes))
def test_a_simulated_run_with_wrong_clocks_is_judged_as_it_was(case: Case) -> None:
    simulated = simulate(case)
    judged = verdict_of(simulated.history, asked_of(simulated))
    assert disagreements(simulated, judged) == ()
    assert [label.kind for label in judged.labels if label.kind == "undecided"] == []


def summary(judged: Judged) -> tuple[object, ...]:
    """What a person is told."""
    clauses = sorted((label.kind, label.cause, label.clause) for label in judged.labels.classes)
    return judged.decision.verdict, judged.decision.reasons, clauses


@pytest.mark.parametrize("acks", ["all", "1"])
@pytest.mark.parametrize("seed", range(3))
def test_the_verdict_is_the_one_without_the_wrong_clock(seed: int, acks: str) -> None:
    """The same run, of which a controller dates part of the log ahead."""
    case = cases()[0]
    producers = tuple(replace(one, acks=acks, idempotence=acks == "all") for one in case.settings.producers)
    settings = replace(case.settings, producers=producers)
    right = simulate(replace(case, seed=seed, settings=settings, schedule=case.schedule[1:]))
    origin = min(right.history.clocks, key=lambda pair: pair.at_ns)
    since_ns, until_ns = origin.at_ns + 8 * SECOND_NS, origin.at_ns + 20 * SECOND_NS
    fault = replace(
        skewed(0, 0, "+5m", CONTROLLER),
        inject_ns=since_ns,
        effect_ns=since_ns + 1,
        end_ns=until_ns,
        heal_ns=until_ns + 1,
        recovered_ns=until_ns + 2,
    )
    since_ms, until_ms = (
        (at_ns - origin.at_ns + origin.engine_ns) // 1_000_000 for at_ns in (since_ns, until_ns)
    )

    def ahead(rows):  # type: ignore[no-untyped-def]
        return [
            replace(row, at_ms=row.at_ms + 300_000)
            if row.controller == CONTROLLER and since_ms < row.at_ms < until_ms
            else row
            for row in rows
        ]

    history = right.history
    wrong = replace(history, metadata=ahead(history.metadata), brokers=ahead(history.brokers))
    assert wrong.metadata != history.metadata
    without = replace(history, faults=[*history.faults, replace(fault, nodes=())])
    wrong = replace(wrong, faults=[*history.faults, fault])
    assert summary(verdict_of(wrong, asked_of(right))) == summary(verdict_of(without, asked_of(right)))


def test_a_history_on_disk_is_read_on_the_engine_s_clock(tmp_path: Path) -> None:
    simulated = simulate(cases()[0])
    write(simulated.history, tmp_path)
    context = load_context(tmp_path)
    written_ms = [row.at_ms - ORIGIN_MS for row in simulated.history.metadata]
    read_ms = [row.at_ms - ORIGIN_MS for row in context.metadata]
    assert max(written_ms) > 300_000 > max(read_ms)
    assert read_ms == sorted(read_ms)
    assert context.unplaced == frozenset()
    appended_ms = [row.at_ms - ORIGIN_MS for row in context.metadata_appends]
    assert min(appended_ms) > -10_000
    assert max(appended_ms) < 60_000
    assert appended_ms == sorted(appended_ms)
