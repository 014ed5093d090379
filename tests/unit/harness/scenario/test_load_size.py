"""What a load takes: volumes, and room on the machine."""

import pytest

from harness.scenario.load_size import (
    GIB,
    fullest_share,
    load_s,
    recorded_bytes,
    replicated_bytes,
    volume_bytes,
    volume_count,
)
from harness.scenario.model import Scenario
from harness.scenario.resolve import resolve

LOAD = """
name: load
topics:
  - {name: a, partitions: 3, replication: 3}
  - {name: b, partitions: 1, replication: 1, config: {min.insync.replicas: 1}}
"""


def scenario(text: str) -> Scenario:
    return resolve(LOAD + text, "load.yaml", seed=7).scenario


def test_a_rated_load_writes_each_record_to_each_replica_and_is_written_down() -> None:
    """2,000 records of 300 bytes a second for 100 s; a record has 2.5 replicas on the average."""
    load = scenario("workload: {rate: 2000/s, record: 200B, lasts: 100s}")
    assert load_s(load) == 100
    assert replicated_bytes(load) == 150_000_000
    assert recorded_bytes(load) == 200_000_000


def test_no_more_is_written_than_the_volumes_hold() -> None:
    load = scenario("workload: {rate: 1000/s, record: 200B, lasts: 640s}\ncluster: {volume: 128MiB}")
    assert replicated_bytes(load) == 3 * (128 << 20)


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
    assert (replicated_bytes(load), recorded_bytes(load), volume_bytes(load)) == (None, None, GIB)
