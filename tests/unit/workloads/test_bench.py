"""The bench reads its peer's figures right and shows which target is met."""

import pytest

from workloads.bench import BARE, PERFORMANCE, RECORDED, Measured, compare, last_rate
from workloads.errors import PeerFailed

OUTPUT = """Warmup first 25 records. Steady state results will print after the complete test summary.
125 records sent, 230811.02 records/sec (22.01 MB/sec), 68.15 ms avg latency, 323.00 ms max latency.
100 steady state records sent, 267927.5 records/sec (25.55 MB/sec), 79.83 ms avg latency.
"""


def test_the_peer_is_judged_by_its_steady_state() -> None:
    assert last_rate(OUTPUT) == 267927.5


def test_a_peer_without_figures_is_reported_with_the_end_of_its_output() -> None:
    with pytest.raises(PeerFailed, match="the end of its output: Exception in thread main"):
        last_rate("Exception in thread main")


def test_each_peer_has_its_target() -> None:
    bare, kafka = compare({RECORDED: [90_000.4], BARE: [100_000.0], PERFORMANCE: [180_000.0]})
    assert bare == Measured(
        name="recorded send throughput against same loop without recording",
        value=90_000,
        unit="records/s",
        peer="same loop without recording",
        peer_value=100_000,
        ratio=0.9,
        target=0.9,
        met=True,
    )
    assert (kafka.peer, kafka.ratio, kafka.target, kafka.met) == ("ProducerPerformance", 0.5, 0.8, False)


def test_a_ratio_is_that_of_one_round_and_of_the_round_in_the_middle() -> None:
    rates = {RECORDED: [80.0, 300.0, 100.0], BARE: [100.0, 300.0, 200.0], PERFORMANCE: [100.0, 100.0, 100.0]}
    bare, kafka = compare(rates)
    assert (bare.value, bare.peer_value, bare.ratio, bare.met) == (100, 200, 0.8, False)
    assert (kafka.value, kafka.peer_value, kafka.ratio, kafka.met) == (100, 100, 1.0, True)
