"""Transactions that cannot be made or judged: by producers, settings, rate, or beside a clock that is set."""

from collections.abc import Iterator

from checkers.history.clocks.node_clocks import KIND as CLOCK_SKEW
from checkers.history.records.transactions import CLEANUP_NS
from compose.releases.settings import settings_of
from compose.spec.server_properties import server_properties
from faults.durations import write_duration
from faults.plan.blocks import steps_as_written
from harness.scenario.model import Scenario, TransactionsPart, topology_of
from harness.scenario.rules.contradiction import Contradiction
from harness.scenario.text.positions import Path
from harness.scenario.text.units import NEVER, rate_text

LONGEST = "transaction.max.timeout.ms"
CLEANUP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
"""How often a coordinator looks for transactions whose time-out is over."""
LOG_MIN_ISR, LOG_REPLICATION = "transaction.state.log.min.isr", "transaction.state.log.replication.factor"
SHORTEST_S = 1.0
"""The client library takes no shorter time-out; and a takeover takes about as long."""


def transactions(scenario: Scenario) -> Iterator[Contradiction]:
    """What every transaction of the load needs."""
    asked = scenario.workload.transactions
    if asked is None:
        return
    yield from _of_producers(scenario)
    yield from _of_time(scenario, asked)
    yield from _of_log(scenario)
    yield from _of_clocks(scenario)


def _of_producers(scenario: Scenario) -> Iterator[Contradiction]:
    load = scenario.workload
    if load.acks != "all":
        text = f"transactions need acks: all, found acks: {load.acks}"
        yield Contradiction(path=("workload", "acks"), text=text)
    if load.idempotence is False:
        text = "transactions need idempotent producers; leave it out"
        yield Contradiction(path=("workload", "idempotence"), text=text)


def _of_time(scenario: Scenario, asked: TransactionsPart) -> Iterator[Contradiction]:
    """A time-out that nobody takes, or that is over before a transaction has its records."""
    path: Path = ("workload", "transactions", "timeout")
    longest_s = _milliseconds(scenario, LONGEST) / 1000
    if not SHORTEST_S <= asked.timeout_s <= longest_s:
        text = (
            f"{write_duration(asked.timeout_s)} is refused; allowed: {write_duration(SHORTEST_S)} to "
            f"{write_duration(longest_s)} ({LONGEST})"
        )
        yield Contradiction(path=path, text=text)
    if asked.takeover_s is not None and asked.takeover_s < SHORTEST_S:
        text = (
            f"{write_duration(asked.takeover_s)} is refused; allowed: at least {write_duration(SHORTEST_S)}"
        )
        yield Contradiction(path=("workload", "transactions", "takeover_every"), text=f"{text}, or {NEVER}")
    if (interval_ms := _milliseconds(scenario, CLEANUP)) > CLEANUP_NS // 1_000_000:
        text = f"{interval_ms} is refused: how long a transaction may hang is judged by Kafka's default; "
        text += f"allowed: at most {CLEANUP_NS // 1_000_000}"
        yield Contradiction(path=("cluster", "broker_config", CLEANUP), text=text)
    load = scenario.workload
    if load.rate is None:
        return
    takes_s = asked.records * load.producers / load.rate
    if takes_s >= asked.timeout_s:
        text = (
            f"at {rate_text(load.rate)}, {load.producers} producers need {takes_s:.3g} s for the "
            f"{asked.records} records of a transaction, which is aborted after "
            f"{write_duration(asked.timeout_s)}"
        )
        yield Contradiction(path=("workload", "transactions", "records"), text=text)


def _of_log(scenario: Scenario) -> Iterator[Contradiction]:
    """More in-sync replicas than the transaction log has: no coordinator could write to it."""
    settings = server_properties(topology_of(scenario.cluster), 1, client_address="")
    least, copies = settings[LOG_MIN_ISR], settings[LOG_REPLICATION]
    if least.isdecimal() and copies.isdecimal() and int(least) > int(copies):
        text = f"{least} in-sync replicas of the transaction log's {copies}: no transaction could begin"
        given = LOG_MIN_ISR if LOG_MIN_ISR in scenario.cluster.broker_config else LOG_REPLICATION
        yield Contradiction(path=("cluster", "broker_config", given), text=text)


def _of_clocks(scenario: Scenario) -> Iterator[Contradiction]:
    """A coordinator times transactions out by its wall clock, and how long one may hang is judged by ours."""
    for path, step in steps_as_written(scenario.faults):
        if step.get("do") == CLOCK_SKEW:
            text = "a coordinator counts a transaction's time-out by the clock that this sets; "
            text += "leave one of them out"
            yield Contradiction(path=("faults", *path, "do"), text=text)


def _milliseconds(scenario: Scenario, key: str) -> int:
    """The brokers' setting, else Kafka's default; the default too where the value is refused elsewhere."""
    default = int(settings_of(scenario.cluster.kafka, "broker")[key].default)
    text = scenario.cluster.broker_config.get(key, "")
    return int(text) if text.isdecimal() else default
