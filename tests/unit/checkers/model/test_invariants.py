"""What holds in every run of the correct model, whatever the faults: Kafka's own promises.

Each invariant is broken by some planted bug (test_bugs.py), so none of them is empty.
"""

from collections import defaultdict
from functools import cache

import pytest

from checkers.history.tables import Outcome
from checkers.model import ClockSkew, draw_case, simulate
from checkers.model.simulate import run_case

BLOCKS = [range(first, first + 25) for first in range(0, 200, 25)]


@cache
def simulated(seed):
    return simulate(draw_case(seed))


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"seeds {seeds.start} on")
def test_a_correct_kafka_does_nothing_wrong(seeds):
    for seed in seeds:
        truth = simulated(seed).truth
        lost = [one for one in (*truth.lost, *truth.exposed_lost) if not one.permitted]
        assert (seed, truth.wrong, lost) == (seed, (), [])
        assert simulated(seed).manifested == frozenset()


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"seeds {seeds.start} on")
def test_the_metadata_changes_as_the_controller_promises(seeds):
    for seed in seeds:
        history = simulated(seed).history
        fenced = {}
        before = {}
        for change in sorted([*history.metadata, *history.brokers], key=lambda row: row.log_offset):
            if not hasattr(change, "isr"):
                fenced[change.node] = change.fenced
                continue
            assert change.leader == -1 or change.leader in change.isr
            assert set(change.isr) <= set(change.replicas)
            assert not set(change.elr) & set(change.isr)
            assert len(change.last_known_elr) <= 1
            old = before.get(change.partition)
            if old is not None:
                assert change.partition_epoch == old.partition_epoch + 1
                assert change.leader_epoch == old.leader_epoch + (change.leader != old.leader)
            before[change.partition] = change
        for state in before.values():
            assert not any(fenced[node] for node in state.isr)


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"seeds {seeds.start} on")
def test_a_leader_epoch_has_one_leader_whose_high_watermark_never_falls(seeds):
    for seed in seeds:
        samples = defaultdict(list)
        for row in simulated(seed).history.watermarks:
            samples[row.partition, row.leader_epoch].append(row)
        for rows in samples.values():
            assert len({row.leader for row in rows}) == 1
            marks = [row.high_watermark for row in sorted(rows, key=lambda row: row.at_ns)]
            assert marks == sorted(marks)


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"seeds {seeds.start} on")
def test_the_replicas_agree_at_the_end_and_hold_what_was_read(seeds):
    for seed in seeds:
        history = simulated(seed).history
        batches, begins = defaultdict(list), defaultdict(int)
        for row in history.replicas:
            begins[row.partition] = max(begins[row.partition], row.log_start)
        for row in history.replica_batches:
            if row.base_offset < begins[row.partition]:
                continue  # retention has deleted it on another one
            key = (row.base_offset, row.last_offset_delta, row.leader_epoch, row.crc, row.digest)
            batches[row.partition, row.broker].append(key)
        led = {row.partition: row.leader != -1 for row in history.metadata}
        for proof in history.proofs:
            # Another min.insync.replicas makes the controller forget whom it might elect.
            assert proof.complete == led[proof.partition]
            if not proof.complete:
                continue
            logs = [batches[proof.partition, broker] for broker in (1, 2, 3)]
            assert logs[0] == logs[1] == logs[2]
            found = [row.offset for row in history.final_log if row.partition == proof.partition]
            assert found == list(range(proof.log_start, proof.high_watermark))
            has_clocks = any(isinstance(action, ClockSkew) for action in draw_case(seed).schedule)
            assert has_clocks or begins[proof.partition] == 0


@pytest.mark.parametrize("seeds", BLOCKS[:2], ids=lambda seeds: f"seeds {seeds.start} on")
def test_what_acks_all_has_acknowledged_was_below_the_high_watermark_before(seeds):
    for seed in seeds:
        run = run_case(draw_case(seed))
        covered = {}
        for batch in run.cluster.known.batches:
            for record in batch.records:
                covered.setdefault(id(record), []).append(batch.covered_s)
        for producer in run.producers:
            for record in producer.sent:
                if record.acks == "all" and record.outcome == Outcome.OK:
                    assert any(0 <= at_s <= record.completed_s for at_s in covered[id(record)])


def test_the_random_cases_lose_records_for_many_reasons():
    causes = {one.cause for seeds in BLOCKS for seed in seeds for one in simulated(seed).truth.lost}
    assert causes >= {
        "acks=0",
        "acks=1 unreplicated tail",
        "deposed leader",
        "power loss of all in-sync replicas",
        "ISR of one with min.isr 1",
        "last replica standing",
        "unclean election",
    }
