"""Metadata logs of real clusters (Kafka 4.3.1, decoded by its own DumpLogSegments) keep to the protocol.

kills-and-stops: brokers die or shut down one after the other, and come back; ELR on.
elr-elections: brokers are away two at a time, so leaders are elected from the ELR, too.
Each record is trimmed to the fields that the replay knows, and what it ignores is left out.
"""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from checkers.history.load import load
from checkers.history.metadata_log.replay import MetadataTables, replay
from checkers.history.rows import ClockPair, ConfigChange, Context, Producer
from checkers.reference.control_plane.ack_contract import ack_contract
from checkers.reference.control_plane.elections import leader_legal
from checkers.reference.control_plane.epochs import epoch_step
from checkers.reference.control_plane.fencing import fenced_out
from checkers.reference.control_plane.rule_result import states_of
from checkers.reference.control_plane.rules import RULES

FIXTURES = Path(__file__).parents[4] / "fixtures" / "metadata-logs"
RUNS = FIXTURES.parent / "runs-of-schema-1"
SECOND = 1_000_000_000
KILLS, ELR = "kills-and-stops-4.3.1", "elr-elections-4.3.1"


def records(name: str) -> list[dict]:
    """The records of a log."""
    return [json.loads(line) for line in (FIXTURES / f"{name}.jsonl").read_text().splitlines()]


def context(tables: MetadataTables) -> Context:
    """What the rules are given."""
    return Context(metadata=tables.metadata, brokers=tables.brokers, configs=tables.configs)


@pytest.mark.parametrize(("name", "states", "elections"), [(KILLS, 74, 17), (ELR, 110, 30)])
def test_what_kafka_wrote_is_legal(name, states, elections):
    """No anomaly, and nothing undecided."""
    recorded = context(replay(records(name)))
    steps = sum(len(rows) - 1 for rows in states_of(recorded).values())
    results = {each: rule(recorded) for each, rule in RULES.items()}
    assert [list(result.anomalies) for result in results.values()] == [[], [], [], [], []]
    assert [(result.examined, result.undecided) for result in results.values()] == [
        (elections, 0),
        (steps, 0),
        (states, 0),
        (states, 0),
        (0, 0),  # it has no disks
    ]


def test_the_recorded_logs_have_what_they_are_kept_for():
    """Controlled shutdowns; and leaders elected from the ELR."""
    assert any(broker.in_controlled_shutdown for broker in replay(records(KILLS)).brokers)
    steps = [step for rows in states_of(context(replay(records(ELR)))).values() for step in pairwise(rows)]
    assert sum(row.leader in before.elr for before, row in steps) == 20


@pytest.mark.parametrize("name", [KILLS, ELR])
def test_a_record_that_is_missing_shows(name):
    """Each change of a partition but its last, dropped from the log as it would be read back."""
    tables = replay(records(name))
    last = {rows[-1] for rows in states_of(context(tables)).values()}
    first = {rows[0] for rows in states_of(context(tables)).values()}
    dropped = [row for row in tables.metadata if row not in first | last]
    assert len(dropped) > 40
    for row in dropped:
        kept = tuple(other for other in tables.metadata if other is not row)
        assert epoch_step(Context(metadata=kept)).anomalies


@pytest.mark.parametrize("name", [KILLS, ELR])
def test_a_leader_from_outside_shows(name):
    """Each election, given to a replica that was not in the ISR or the ELR that it chose from."""
    tables, forged = replay(records(name)), 0
    for rows in states_of(context(tables)).values():
        for before, row in pairwise(rows):
            others = sorted(set(row.replicas) - {*before.isr, *before.elr, *before.last_known_elr})
            if row.leader_epoch > before.leader_epoch and row.leader >= 0 and others:
                changed = tuple(
                    _led_by(other, others[0]) if other is row else other for other in tables.metadata
                )
                made = Context(metadata=changed, brokers=tables.brokers, configs=tables.configs)
                assert (others[0], row.leader_epoch) in {
                    (a.producer, a.sequence) for a in leader_legal(made).anomalies
                }
                forged += 1
    assert forged > 0


@pytest.mark.parametrize("name", [KILLS, ELR])
def test_a_broker_that_stays_in_the_isr_shows(name):
    """Each broker that is fenced, in an ISR from which the controller had taken it for that."""
    tables, kept = replay(records(name)), 0
    for barred in tables.brokers:
        if not barred.fenced or barred.in_controlled_shutdown:
            continue
        for row in tables.metadata:
            if row.at_ms == barred.at_ms and barred.node not in row.isr and row.leader >= 0:
                changed = tuple(
                    _with_isr(other, (*row.isr, barred.node)) if other is row else other
                    for other in tables.metadata
                )
                made = Context(metadata=changed, brokers=tables.brokers)
                assert barred.node in {a.producer for a in fenced_out(made).anomalies}
                kept += 1
    assert kept > 10


@pytest.mark.parametrize(("name", "acks"), [("power-failure-all", 3398), ("storm", 7522)])
def test_what_kafka_acknowledged_was_backed(name, acks):
    """All acks=all acknowledgements of a recorded run, and one that is moved to before the topic was made.

    What a run of that time has only in its manifest (settings, producers, the clocks) is put into its tables.
    """
    recorded = load(RUNS / name / "history")
    manifest = json.loads((RUNS / name / "manifest.json").read_text())
    clock = manifest["clock"]
    readings = [
        ClockPair(
            at_ns=clock["monotonic_ns"] + later, wall_ns=clock["wall_ns"] + later, error_ns=SECOND // 100
        )
        for later in (0, 60 * SECOND)
    ]
    settings = [
        ConfigChange(at_ms=-1, kind="reported", name=topic["name"], key=key, value=value)
        for topic in manifest["topics"]
        for key, value in topic["config"].items()
    ]
    asked = [Producer(**producer) for producer in manifest["producers"]]
    history = replace(
        recorded,
        metadata=tuple(replace(row, log_offset=at) for at, row in enumerate(recorded.metadata)),
        collected=frozenset({"configs", "producers", "clocks"}),
        configs=settings,
        producers=asked,
        clocks=readings,
    )
    result = ack_contract(history, history.sends)
    assert (list(result.anomalies), result.examined, result.undecided) == ([], acks, 0)
    before_the_topic = replace(
        next(send for send in history.sends if send.acked), invoked_ns=0, completed_ns=1
    )
    assert len(ack_contract(history, [before_the_topic]).anomalies) == 1


def _led_by(row, leader):
    return replace(row, leader=leader, isr=(leader,), elr=())


def _with_isr(row, isr):
    return replace(row, isr=isr)
