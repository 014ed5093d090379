"""What a load takes: volumes, and room on the machine."""

from harness.scenario.load_size import GIB, load_s, recorded_bytes, replicated_bytes, volume_bytes
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
    load = scenario("workload: {rate: 1000/s, record: 200B, lasts: 700s}\ncluster: {volume: 128MiB}")
    assert replicated_bytes(load) == 3 * (128 << 20)


def test_of_a_load_as_fast_as_it_goes_nothing_is_known() -> None:
    load = scenario("workload: {rate: max, lasts: 100s}")
    assert (replicated_bytes(load), recorded_bytes(load), volume_bytes(load)) == (None, None, GIB)
