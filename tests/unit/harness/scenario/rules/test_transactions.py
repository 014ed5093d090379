"""Transactions that cannot be made, each refused where it is written."""

import pytest
from fakes.run.refusals import complaints

LOG = "transaction.state.log"


@pytest.mark.parametrize(
    ("workload", "complaint"),
    [
        (
            "acks: 1, transactions: {}",
            "demo.yaml:4:18: workload.acks: transactions need acks: all, found acks: 1",
        ),
        (
            "idempotence: false, transactions: {}",
            "demo.yaml:4:25: workload.idempotence: transactions need idempotent producers; leave it out",
        ),
        (
            "transactions: {timeout: 20m}",
            "demo.yaml:4:36: workload.transactions.timeout: 1200s is refused; allowed: 1s to 900s "
            "(transaction.max.timeout.ms)",
        ),
        (
            "transactions: {timeout: 500ms}",
            "demo.yaml:4:36: workload.transactions.timeout: 0.5s is refused; allowed: 1s to 900s "
            "(transaction.max.timeout.ms)",
        ),
        (
            "rate: 10/s, transactions: {records: 50}",
            "demo.yaml:4:48: workload.transactions.records: at 10/s, 4 producers need 20 s for the 50 "
            "records of a transaction, which is aborted after 10s",
        ),
        (
            "transactions: {takeover_every: 100ms}",
            "demo.yaml:4:43: workload.transactions.takeover_every: 0.1s is refused; allowed: at least 1s, "
            "or never",
        ),
        (
            "transactions: {takeover_every: often}",
            "demo.yaml:4:43: workload.transactions.takeover_every: not an interval: 'often'; allowed: "
            "a duration with its unit, not negative: 500ms, 2.5s, 10m, 1h, or never",
        ),
        (
            "transactions: {aborts: 1.5}",
            "demo.yaml:4:35: workload.transactions.aborts: input should be less than or equal to 1, "
            "found 1.5",
        ),
        (
            "transactions: {record: 5}",
            "demo.yaml:4:27: workload.transactions.record: unknown key 'record'; did you mean records? "
            "allowed: aborts, ids, readers, records, takeover_every, timeout",
        ),
        (
            "transactions: {}, client: {transaction.timeout.ms: 5000}",
            "demo.yaml:4:63: workload.client.transaction.timeout.ms: is set by the harness; "
            "use the key workload.transactions.timeout",
        ),
    ],
)
def test_a_load_that_no_transaction_can_have_is_refused(workload: str, complaint: str) -> None:
    assert complaints(workload=workload) == (complaint,)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        (f"{LOG}.replication.factor: 4", f"{LOG}.replication.factor: 4 with 3 brokers can never be met"),
        (
            f"{LOG}.replication.factor: 1",
            f"{LOG}.replication.factor: 2 in-sync replicas of the transaction log's 1: no transaction could "
            "begin",
        ),
        (
            "transaction.max.timeout.ms: 5000",
            "transaction.max.timeout.ms",
        ),
        (
            "transaction.abort.timed.out.transaction.cleanup.interval.ms: 60000",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms: 60000 is refused: how long a "
            "transaction may hang is judged by Kafka's default; allowed: at most 10000",
        ),
    ],
)
def test_brokers_on_which_no_transaction_works_are_refused(setting: str, complaint: str) -> None:
    (found,) = complaints(cluster=f"broker_config: {{{setting}}}", workload="transactions: {}")
    assert complaint in found
    if "max.timeout" not in setting:
        column = 10 + len("broker_config: {") + len(setting.partition(" ")[0]) + 2
        assert found.startswith(f"demo.yaml:2:{column}: cluster.broker_config.")


def test_a_transaction_version_is_of_a_release_that_has_the_feature() -> None:
    assert complaints(cluster="transaction_version: 1", workload="transactions: {}") == ()
    assert complaints(cluster="transaction_version: 1, kafka: 3.9.1") == (
        "demo.yaml:2:32: cluster.transaction_version: 3.9.1 has no such feature; use 4.0.0 or newer",
    )


def test_transactions_that_can_be_made_are_taken() -> None:
    asked = "ids: payments, records: 20, aborts: 0.25, takeover_every: 5s, timeout: 8s, readers: 2"
    assert complaints(workload=f"rate: 400/s, transactions: {{{asked}}}") == ()


def test_a_clock_by_which_a_coordinator_counts_is_not_set_beside_transactions() -> None:
    step = "{name: clock, at: 1s, do: clock-skew, target: node 1, offset: +5m, for: 3s}"
    rest = f"faults: [{step}]"
    assert complaints(rest=rest) == ()
    assert complaints(workload="transactions: {}", rest=rest) == (
        "demo.yaml:5:36: faults[0].do: a coordinator counts a transaction's time-out by the clock that this "
        "sets; leave one of them out",
    )


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("{at: 1s, sequence: [%s]}", "faults[0].sequence[0].do"),
        ("{at: 1s, parallel: [{sequence: [%s]}]}", "faults[0].parallel[0].sequence[0].do"),
    ],
)
def test_nor_in_a_block_of_steps(written: str, path: str) -> None:
    rest = f"faults: [{written % '{do: clock-skew, target: node 1, offset: +5m, for: 3s}'}]"
    assert complaints(rest=rest) == ()
    (complaint,) = complaints(workload="transactions: {}", rest=rest)
    assert f"{path}: a coordinator counts a transaction's time-out by the clock that this sets" in complaint
