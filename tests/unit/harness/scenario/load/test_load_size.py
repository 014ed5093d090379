"""How long a load lasts, and what it takes: volumes, and room on the machine."""

import pytest

from faults.plan.parse import parse_steps
from harness.scenario.load.load_size import (
    GIB,
    fullest_share,
    load_length,
    recorded_bytes,
    replicated_bytes,
    schedule_s,
    volume_bytes,
    volume_count,
)
from harness.scenario.model import Scenario
from harness.scenario.resolve import find, resolve

LOAD = """
name: load
topics:
  - {name: a, partitions: 3, replication: 3}
  - {name: b, partitions: 1, replication: 1, config: {min.insync.replicas: 1}}
"""


def scenario(text: str) -> Scenario:
    return resolve(LOAD + text, "load.yaml", seed=7).scenario


def planned_s(resolved: Scenario) -> float:
    return load_length(resolved, parse_steps(resolved.faults)).planned_s


def test_a_rated_load_writes_each_record_to_each_replica_and_is_written_down() -> None:
    """2,000 records of 300 bytes a second for 100 s; a record has 2.5 replicas on the average."""
    load = scenario("workload: {rate: 2000/s, record: 200B, lasts: 100s}")
    assert planned_s(load) == 100
    assert replicated_bytes(load, 100) == 150_000_000
    assert recorded_bytes(load, 100) == 200_000_000


def test_no_more_is_written_than_the_volumes_hold() -> None:
    load = scenario("workload: {rate: 1000/s, record: 200B, lasts: 600s}\ncluster: {volume: 128MiB}")
    assert replicated_bytes(load, 600) == 3 * (128 << 20)


def test_a_volume_that_is_not_asked_for_holds_what_a_long_schedule_writes() -> None:
    """2,000 records of 300 bytes a second, 2.5 replicas, for 10,000 s are 15 GB. The fullest volume gets four
    of the ten replicas, and a quarter more is spare."""
    faults = "faults: [{at: 9990s, do: kill, target: leader, for: 8s}]"
    assert scenario(faults).cluster.volume == 7 * GIB
    assert scenario(f"cluster: {{volume: 5GiB}}\n{faults}").cluster.volume == 5 * GIB


def test_each_log_directory_of_a_broker_has_a_volume() -> None:
    load = scenario("workload: {rate: 1000/s, record: 200B}\ncluster: {log_dirs: 2}")
    assert volume_count(load) == 6


def test_a_replica_lies_in_one_volume() -> None:
    """Ten replicas on three volumes: one has four. On six: one has two. On twelve, most have one."""
    cluster = "workload: {rate: 1000/s, record: 200B}\ncluster: "
    shares = [fullest_share(scenario(cluster + f"{{log_dirs: {count}}}")) for count in (1, 2, 4)]
    assert shares == [0.4, 0.2, 0.1]


@pytest.mark.parametrize(("log_dirs", "gib"), [(1, 7), (2, 5), (4, 3)])
def test_a_storm_gets_volumes_for_the_fullest(log_dirs: int, gib: int) -> None:
    """1,800,000 records of 3,100 bytes with three replicas are 15.6 GiB. The fullest volume gets three, two
    or one of the nine replicas, and a quarter more is spare."""
    text = (
        "name: load\ntopics: [{name: a, partitions: 3}]\nworkload: {rate: 1000/s, record: 3000B}\n"
        f"storm: {{duration: 30m, intensity: normal}}\ncluster: {{log_dirs: {log_dirs}}}\n"
    )
    assert resolve(text, "load.yaml", seed=7).topology.volume_mib == gib << 10


def test_of_a_load_as_fast_as_it_goes_nothing_is_known() -> None:
    load = scenario("workload: {rate: max, lasts: 100s}")
    assert (replicated_bytes(load, 100), recorded_bytes(load, 100)) == (None, None)
    assert volume_bytes(load, 100) == GIB


def test_a_load_lasts_as_long_as_the_faults_that_are_written_and_its_tail() -> None:
    faults = "faults: [{at: 90s, do: kill, target: leader, for: 8s}]"
    assert planned_s(scenario(f"workload: {{lasts: 4s, tail: 2s}}\n{faults}")) == 100


def test_a_resolved_storm_has_steps_only_and_lasts_as_long() -> None:
    resolved = resolve(*find("storm"), seed=7, sets=["storm.duration=60m"])
    assert resolved.scenario.storm is None
    assert 3500 < planned_s(resolved.scenario) <= 3602


def test_the_most_that_a_load_can_last_has_its_waits_for_events() -> None:
    """Twice the plan, since what is late makes the next late, and ten minutes."""
    faults = "faults: [{when: leader.changed, within: 50s, do: kill, target: leader, for: 8s}]"
    load = scenario(f"workload: {{lasts: 4s, tail: 2s}}\n{faults}")
    length = load_length(load, parse_steps(load.faults))
    assert (length.planned_s, length.most_s) == (10, 20 + 50 + 600)


def test_volumes_have_room_for_what_is_written_while_an_event_is_waited_for() -> None:
    """2,000 records of 300 bytes a second, 2.5 replicas, four of the ten on the fullest volume, and a quarter
    more: for 10,000 s that is 7 GiB."""
    text = "faults: [{when: leader.changed, within: 9990s, do: kill, target: leader, for: 8s}]"
    load = scenario(text)
    assert load.cluster.volume == 7 * GIB
    length = load_length(load, parse_steps(load.faults))
    assert (length.planned_s, length.longest_s) == (10, 10_000)
    again = resolve(f"{LOAD}cluster: {{volume: 5GiB}}\n{text}", "load.yaml", seed=7).scenario
    assert again.cluster.volume == 5 * GIB


@pytest.mark.parametrize(
    ("faults", "planned_s", "longest_s"),
    [
        ("{at: 1s, do: rolling-restart, target: brokers, pause: 1h, for: 0s}", 7203, 7203),
        ("{at: 1s, do: rolling-restart, target: leader, pause: 1h, for: 0s}", 10, 10),
        (
            "{at: 1s, do: rolling-restart, target: 1+2, patient: false, pause: 50s, for: 2s},"
            " {after: previous.begin + 2s, do: kill, target: leader, for: 5s}",
            60,
            60,
        ),
        (
            "{when: leader.changed, within: 50s, do: kill, target: leader, for: 8s},"
            " {when: leader.moved, do: kill, target: leader, for: 4s}",
            10,
            116,
        ),
        (
            "{at: 30s, do: kill, target: leader, for: 1s},"
            " {when: leader.changed, since: start, within: 20s, do: kill, target: leader, for: 8s}",
            33,
            33,
        ),
    ],
)
def test_what_a_schedule_waits_for_by_itself(faults: str, planned_s: float, longest_s: float) -> None:
    """Pauses between restarts are certain; an event may come at once, or at the last moment."""
    load = scenario(f"workload: {{lasts: 10s, tail: 2s}}\nfaults: [{faults}]")
    length = load_length(load, parse_steps(load.faults))
    assert (length.planned_s, length.longest_s) == (planned_s, longest_s)


@pytest.mark.parametrize(
    ("faults", "lasts_s"),
    [
        ("", 4.0),
        ("faults: [{name: k, at: 6s, do: kill, target: leader, for: 5s}]", 13.0),
        (
            "faults: [{name: c, at: 6s, do: partition, edges: followers -> leader, mode: refuse, for: 5s},"
            " {after: c.begin + 2s, do: kill, target: leader, for: 6s}]",
            16.0,
        ),
        (
            "faults: [{name: k, at: 1s, do: kill, target: leader, for: 3s},"
            " {after: k.end + 2s, do: kill, target: leader, for: 4s}]",
            12.0,
        ),
        (
            "faults: [{at: 1s, do: kill, target: leader, for: 3s, repeat: {every: 10s, times: 3}}]",
            26.0,
        ),
        (
            "faults: [{at: 1s, then: end + 2s, sequence: [{do: kill, target: leader, for: 3s},"
            " {do: kill, target: leader, for: 4s}]}]",
            12.0,
        ),
        (
            "faults: [{name: k, at: 1s, do: kill, target: leader, for: 3s},"
            " {name: l, at: 1s, do: kill, target: leader, for: 5s},"
            " {after: 'any(k.end, l.end)', do: kill, target: leader, for: 3s},"
            " {when: leader.changed, since: l.end, do: kill, target: leader, for: 2s}]",
            10.0,
        ),
    ],
)
def test_a_schedule_lasts_until_its_last_hold_and_the_load_after_it(faults: str, lasts_s: float) -> None:
    text = f"name: demo\ntopics: [{{name: orders}}]\nworkload: {{lasts: 4s, tail: 2s}}\n{faults}\n"
    its = resolve(text, "demo.yaml", seed=1)
    assert schedule_s(its.steps, its.scenario) == lasts_s
