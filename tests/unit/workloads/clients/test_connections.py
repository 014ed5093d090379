"""What a client's own statistics show of its connections, and when they show that nothing went wrong."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import KafkaError
from fakes.world.mock_kafka import PRODUCE, MockKafka

from workloads.clients.connections import INTERVAL_MS, Connections
from workloads.clients.producer import ProducerLoop
from workloads.clients.protocol import Trouble
from workloads.plan import WorkloadPlan
from workloads.record.recorder import Recorder
from workloads.record.seal import seal
from workloads.watched_thread import Worker


class Reports:
    """Keeps what is reported: since, until, and the trouble."""

    def __init__(self) -> None:
        self.all: list[tuple[int, int, tuple[Trouble, ...]]] = []

    def connected(self, since_ns: int, at_ns: int, trouble: Sequence[Trouble]) -> None:
        self.all.append((since_ns, at_ns, tuple(trouble)))


def broker(node: int = 1, *, state: str = "UP", age_us: int = 10_000, **counters: int) -> dict[str, Any]:
    names = ("disconnects", "req_timeouts", "txretries", "txerrs", "waitresp_cnt", "outbuf_cnt")
    return {"nodeid": node, "state": state, "stateage": age_us, **dict.fromkeys(names, 0), **counters}


def partition(sent: int, given: int, *, queued: int = 0) -> dict[str, int]:
    return {
        "leader": 2,
        "txmsgs": sent,
        "msgs": given,
        "msgq_cnt": queued,
        "xmit_msgq_cnt": 0,
        "msgs_inflight": 0,
    }


def trouble_of(
    *statistics: tuple[Mapping[str, Any], Mapping[str, Any]], in_client: Sequence[int] = ()
) -> list[tuple[Trouble, ...]]:
    """The trouble that each of these statistics shows: handles by name, partitions of t by number."""
    reports = Reports()
    connections = Connections(reports, made_ns=0)
    for n, (brokers, partitions) in enumerate(statistics):
        topics = {"t": {"partitions": partitions}}
        facts = {"ts": (n + 1) * 1000, "msg_cnt": in_client[n] if in_client else 0}
        connections.take(json.dumps({**facts, "brokers": brokers, "topics": topics}))
    assert [(since, until) for since, until, _ in reports.all] == [
        (max(n, 1) * 1_000_000, (n + 1) * 1_000_000) for n in range(len(statistics))
    ]
    return [trouble for _, _, trouble in reports.all]


def test_counters_are_reported_as_far_as_they_have_grown() -> None:
    first = {"h:1/1": broker(), "h:2/2": broker(node=2)}
    second = {"h:1/1": broker(disconnects=1, req_timeouts=2, txretries=3, txerrs=1), "h:2/2": broker(node=2)}
    assert trouble_of((first, {}), (second, {}), (second, {})) == [
        (),
        (Trouble(since_ns=1_000_000, broker=1, disconnects=1, timeouts=2, retries=4),),
        (),
    ]


LOST = Trouble(since_ns=1_000_000, broker=1, disconnects=1)


@pytest.mark.parametrize(
    ("now", "trouble"),
    [
        ({}, (LOST,)),
        ({"h:1/1": broker(state="CONNECT")}, (LOST,)),
        ({"h:1/1": broker(age_us=900)}, (LOST,)),
        ({"h:1/1": broker(age_us=900, disconnects=2)}, (replace(LOST, disconnects=2),)),
        ({"h:1/1": broker(age_us=1100)}, ()),
    ],
    ids=["gone", "not up", "up again", "counted too", "up all the time"],
)
def test_a_connection_that_was_up_and_is_another_one_or_none_was_disconnected(
    now: Mapping[str, Any], trouble: tuple[Trouble, ...]
) -> None:
    assert trouble_of(({"h:1/1": broker()}, {}), (now, {})) == [(), trouble]


def test_a_handle_that_never_was_up_and_is_gone_is_no_trouble() -> None:
    assert trouble_of(({"h:1/1": broker(state="INIT")}, {}), ({}, {})) == [(), ()]


def test_a_handle_that_counts_from_zero_again_is_another_one() -> None:
    first, second = {"h:1/1": broker(req_timeouts=3)}, {"h:1/1": broker(req_timeouts=1, age_us=10)}
    assert trouble_of((first, {}), (second, {}))[1] == (replace(LOST, timeouts=1),)


def test_a_bootstrap_handle_that_gets_its_id_is_the_same() -> None:
    assert trouble_of(({"h:1/bootstrap": broker(node=-1)}, {}), ({"h:1/1": broker()}, {})) == [(), ()]


def sent_again(*states: tuple[dict[str, int], int]) -> list[tuple[tuple[int, int], ...]]:
    """Since which of the readings, and how many, for each reading of one partition and all in the client."""
    partitions = [({}, {"0": state, "-1": partition(0, 3)}) for state, _ in states]
    found = trouble_of(*partitions, in_client=[in_client for _, in_client in states])
    assert {(each.broker, each.disconnects, each.timeouts) for row in found for each in row} <= {(2, 0, 0)}
    return [tuple((each.since_ns // 1_000_000, each.retries) for each in row) for row in found]


def test_records_that_were_sent_again_count_since_the_last_exact_reading_but_one() -> None:
    assert sent_again(
        (partition(5, 5), 0),
        (partition(6, 6), 0),
        (partition(7, 7), 0),
        (partition(12, 10), 0),
        (partition(13, 11), 0),
        (partition(15, 12), 0),
    ) == [(), (), (), ((2, 2),), (), ((4, 1),)]


def test_records_that_are_still_to_be_sent_are_not_taken_for_ones_that_were_sent_twice() -> None:
    """As in any load: of those that were given, now more and now fewer have been sent."""
    assert sent_again(
        (partition(5, 9, queued=4), 4),
        (partition(9, 9), 4),
        (partition(11, 17, queued=2), 6),
        (partition(16, 17), 1),
        (partition(21, 20), 4),
    ) == [(), (), (), (), ((3, 1),)]


def test_records_that_were_given_up_unsent_do_not_hide_those_that_are_sent_again_later() -> None:
    assert sent_again(
        (partition(5, 5), 0),
        (partition(5, 9), 0),
        (partition(5, 9), 0),
        (partition(7, 10), 0),
    ) == [(), (), (), ((2, 1),)]


def test_a_reading_in_which_something_may_be_hidden_is_not_exact() -> None:
    """Two of nine records were sent again by the second reading, and two others are nowhere to be found."""
    assert sent_again(
        (partition(5, 5), 0),
        (partition(9, 9), 2),
        (partition(9, 9), 2),
        (partition(11, 9), 0),
    ) == [(), (), (), ((0, 2),)]


def events_of(
    tmp_path: Path, kafka: MockKafka, during: Callable[[ProducerLoop], None], **changes: Any
) -> list[dict[str, Any]]:
    """The client_events of one producer's load, and what happens during it."""
    plan = WorkloadPlan(**({"topics": {"t": 1}, "producers": 1, "rate_per_s": 200.0} | changes))
    with Recorder(tmp_path, plan.partitions) as recorder:
        loop = ProducerLoop(plan, kafka.bootstrap, recorder)
        worker = Worker("producer", loop)
        until(lambda: loop.counts.acked > 10)
        time.sleep(2 * INTERVAL_MS / 1000)
        during(loop)
        worker.stop()
        worker.join(time.monotonic() + 20)
        worker.check()
    seal(tmp_path)
    rows: list[dict[str, Any]] = pq.read_table(tmp_path / "history/client_events.parquet").to_pylist()
    return rows


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not what():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


def covers(rows: Sequence[Mapping[str, Any]], begin_ns: int, end_ns: int) -> bool:
    """Whether the rows leave no time between these unknown."""
    known_ns = begin_ns
    for row in sorted(rows, key=lambda each: (each["since_ns"], each["at_ns"])):
        if row["since_ns"] > known_ns:
            return False
        known_ns = max(known_ns, row["at_ns"])
    return known_ns >= end_ns


def test_a_calm_load_is_known_to_be_calm_from_its_first_send_to_its_last_report(tmp_path: Path) -> None:
    times: list[int] = []

    def go_on(loop: ProducerLoop) -> None:
        time.sleep(1.0)
        times.append(time.monotonic_ns())

    begin_ns = time.monotonic_ns()
    with MockKafka(1, t=1) as kafka:
        rows = events_of(tmp_path, kafka, go_on)
    assert {(r["producer"], r["broker"], r["disconnects"], r["timeouts"], r["retries"]) for r in rows} == {
        (1, -1, 0, 0, 0)
    }
    assert rows[0]["since_ns"] - begin_ns < 1_500_000_000
    assert covers(rows, rows[0]["since_ns"], times[0])


def test_a_broker_that_goes_away_is_trouble_with_it(tmp_path: Path) -> None:
    def restart(loop: ProducerLoop) -> None:
        down_ns.append(time.monotonic_ns())
        kafka.down(1)
        time.sleep(0.5)
        kafka.up(1)
        acked = loop.counts.acked
        until(lambda: loop.counts.acked > acked)
        down_ns.append(time.monotonic_ns())

    down_ns: list[int] = []
    with MockKafka(2, t=1) as kafka:
        kafka.lead("t", 0, 1)
        rows = events_of(tmp_path, kafka, restart)
    troubled = [row for row in rows if row["disconnects"]]
    assert {row["broker"] for row in troubled} == {1}
    assert any(row["at_ns"] > down_ns[0] and row["since_ns"] < down_ns[1] for row in troubled)
    assert covers(rows, rows[0]["since_ns"], down_ns[1])


@pytest.mark.parametrize(
    "error", [KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND, KafkaError.NOT_LEADER_FOR_PARTITION]
)
def test_records_that_a_broker_refused_and_got_again_are_retries(tmp_path: Path, error: int) -> None:
    def refuse(loop: ProducerLoop) -> None:
        kafka.answer(PRODUCE, error)
        acked = loop.counts.acked
        until(lambda: loop.counts.acked > acked + 20)

    with MockKafka(1, t=1) as kafka:
        rows = events_of(tmp_path, kafka, refuse, idempotence=False)
    assert sum(row["retries"] for row in rows) >= 1
    assert sum(row["disconnects"] + row["timeouts"] for row in rows) == 0
