"""Bounds that never hold: deadlines of no time at all, lines that exclude each other, lines about what this
scenario does not have, evidence that it cannot show or always shows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from checkers.verdict.metrics.metric import ERRORS
from checkers.verdict.metrics.transactions import of_transactions
from compose.spec.topology import Topology
from faults.durations import write_duration
from faults.kinds.registry import KINDS
from faults.plan.blocks import steps_as_written
from faults.plan.storm import RULES
from harness.scenario.acceptance import Bound, parse_accepted, parse_required, refuse_foregone
from harness.scenario.cluster.kafka_settings import UNCLEAN, effective
from harness.scenario.load.load_size import LONGEST_LOAD_S, MOST_LATE_S, LoadLength
from harness.scenario.model import Scenario, topology_of
from harness.scenario.rules.contradiction import Contradiction
from harness.scenario.text.positions import Path
from workloads.clients.outcome import error_names

LONGEST_DELIVERY_S = 2_147_483.647
"""What librdkafka's 32 bits hold of milliseconds; a larger number would be taken for another one."""
SHORTEST_SETTLE_S = 1.0
"""No cluster is in sync, and no log read, sooner."""
ACKED, RESUMED, LOST_READS, CLOCKS = "acked.count", "resumed.max", "reads.lost", "clocks.apart"
UNAVAILABLE = "unavailable.max"
_CAUSES: Mapping[str, frozenset[str]] = {
    "nodes.new-release": frozenset({"rolling-upgrade"}),
    "replicas.changes": frozenset({"reassign"}),
    CLOCKS: frozenset({"clock-skew"}),
    "data-lost.brokers": frozenset(name for name, kind in KINDS.items() if kind.cost.loses_data),
}
"""The kinds of faults without which a metric is 0."""
SHARES = frozenset({"indeterminate.ratio", "failed.ratio"})
"""Of all sends; no send is counted in both, so together they are at most 1."""


def deadlines(scenario: Scenario) -> Iterator[Contradiction]:
    """Times that are zero where nothing can be done in no time, or longer than anything counts."""
    settle = scenario.settle
    for key, value_s in (("full_isr", settle.full_isr_s), ("final_read", settle.final_read_s)):
        if not SHORTEST_SETTLE_S <= value_s <= LONGEST_LOAD_S:
            allowed = f"{write_duration(SHORTEST_SETTLE_S)} to {write_duration(LONGEST_LOAD_S)}"
            yield _out_of_range(("settle", key), value_s, allowed)
    if not 0 < (value_s := scenario.workload.delivery_timeout_s) <= LONGEST_DELIVERY_S:
        allowed = f"more than 0s, at most {write_duration(LONGEST_DELIVERY_S)}"
        yield _out_of_range(("workload", "delivery_timeout"), value_s, allowed)
    for key, value_s in (("lasts", scenario.workload.lasts_s), ("tail", scenario.workload.tail_s)):
        if value_s > LONGEST_LOAD_S:
            yield _out_of_range(("workload", key), value_s, f"at most {write_duration(LONGEST_LOAD_S)}")


def _out_of_range(path: Path, value_s: float, allowed: str) -> Contradiction:
    return Contradiction(path=path, text=f"{write_duration(value_s)} is refused; allowed: {allowed}")


def lines(scenario: Scenario) -> Iterator[Contradiction]:
    """Each acceptance line and required line that some line before it excludes."""
    for (_, first), (path, second) in combinations(_bounds(scenario), 2):
        if _exclude_each_other(first, second):
            text = f"{second.text!r} and {first.text!r} cannot both hold"
            yield Contradiction(path=path, text=text)


def subjects(scenario: Scenario) -> Iterator[Contradiction]:
    """Lines about what the scenario does not have, or about a time that it may not last."""
    load = scenario.workload
    for path, bound in _bounds(scenario):
        name = bound.metric.name
        if of_transactions(name) and load.transactions is None:
            text = f"{name} is about transactions, and the load has none; give it workload.transactions"
            yield Contradiction(path=path, text=text)
        elif name == LOST_READS and not load.readers:
            text = f"{name} is about readers, and the load has none; give it workload.readers"
            yield Contradiction(path=path, text=text)
        elif name == RESUMED and not scenario.faults and scenario.storm is None:
            text = f"{name} is about the time after the last fault, and the scenario has none; give it faults"
            yield Contradiction(path=path, text=text)
        elif name == RESUMED and not _is_lower(bound) and bound.bound >= load.tail_s:
            text = (
                f"{bound.text!r} may hold whatever happens: the load may end {write_duration(load.tail_s)} "
                f"after the last fault; give it a workload.tail of more than {write_duration(bound.bound)}"
            )
            yield Contradiction(path=path, text=text)
        elif name == UNAVAILABLE and not _is_lower(bound) and bound.bound <= 0:
            text = f"{bound.text!r} never holds: there is some time between two acknowledgements"
            yield Contradiction(path=path, text=text)


def causes(scenario: Scenario) -> Iterator[Contradiction]:
    """Evidence of what nothing in the scenario can bring about, and a loss without a fault."""
    kinds, topology = _kinds(scenario), topology_of(scenario.cluster)
    missing = dict(_without_cause(scenario, topology, kinds))
    for index, line in enumerate(scenario.require):
        bound = parse_required(line)
        if bound.metric.name in missing and not bound.holds(0):
            text = f"{bound.text!r} never holds: {missing[bound.metric.name]}"
            yield Contradiction(path=("require", index), text=text)
    if scenario.expect.acked_loss == "permitted" and not kinds:
        text = "nothing is lost without a fault, and the scenario has none; give it faults"
        yield Contradiction(path=("expect", "acked_loss"), text=text)


def _kinds(scenario: Scenario) -> frozenset[str]:
    """The kinds of faults that there may be; all that it may draw of a storm."""
    written = {str(step.get("do")) for _, step in steps_as_written(scenario.faults)}
    return frozenset(written if scenario.storm is None else {*written, *RULES})


def _without_cause(
    scenario: Scenario, topology: Topology, kinds: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """Each metric that is 0 whatever happens, and why. What a metric counts may have causes of Kafka's own:
    here are those of which none is known."""
    elr_on = topology.elr_on or kinds & {"feature", "finalize"}
    if not elr_on:
        why = "the cluster has no eligible leader replicas; set cluster.elr: true, with Kafka 4.0 or newer"
        yield from (("elections.elr", why), ("elections.last-known", why))
    if not _may_be_unclean(scenario) and not kinds & {"config", "reassign", "unclean-election"}:
        yield (
            "elections.unclean",
            f"no topic has {UNCLEAN}=true, and no fault asks for an unclean election; give it one of them",
        )
    for name, causes in _CAUSES.items():
        if not kinds & causes:
            yield name, f"no fault does that; give it {' or '.join(sorted(causes))}"
    if max(topic.replication for topic in scenario.topics) == 1 and "reassign" not in kinds:
        alone = "no topic has more than one replica"
        yield "leaders.moved", alone
        if not elr_on:  # with them, the last replica in sync may leave the ISR
            yield from (("isr.shrinks", alone), ("isr.expands", alone))


def _may_be_unclean(scenario: Scenario) -> bool:
    cluster = scenario.cluster
    found = [cluster.controller_config.get(UNCLEAN)]
    found += [effective(UNCLEAN, topic.config, cluster.broker_config) for topic in scenario.topics]
    return any(value is not None and value.strip().lower() == "true" for value in found)


def _bounds(scenario: Scenario) -> Sequence[tuple[Path, Bound]]:
    """All lines, each with its place."""
    accepted = [(("accept", at), parse_accepted(line)) for at, line in enumerate(scenario.accept)]
    required = [(("require", at), parse_required(line)) for at, line in enumerate(scenario.require)]
    return [*accepted, *required]


def evidence(scenario: Scenario) -> Iterator[Contradiction]:
    """Required lines that this cluster and these topics decide beforehand, or about an error there is not."""
    greatest = _greatest(scenario)
    for index, line in enumerate(scenario.require):
        bound = parse_required(line)
        path: Path = ("require", index)
        error = bound.metric.name.removeprefix(ERRORS)
        if error != bound.metric.name and error not in error_names():
            text = f"no client reports an error {error!r}; write {ERRORS}NOT_ENOUGH_REPLICAS, for example"
            yield Contradiction(path=path, text=text)
        yield from _foregone(bound, greatest.get(bound.metric.name, math.inf), path)


def counts(scenario: Scenario, length: LoadLength) -> Iterator[Contradiction]:
    """Lines about the number of acknowledgements that the rate decides beforehand.

    Nothing is made up for after an outage, so there are never more records than the rate gives in the
    longest time that the load can last.
    """
    if scenario.workload.rate is None:
        return
    most = math.ceil(scenario.workload.rate * length.most_s)
    for path, bound in _bounds(scenario):
        if bound.metric.name == ACKED:
            yield from _foregone(bound, most, path)


def durations(scenario: Scenario, length: LoadLength) -> Iterator[Contradiction]:
    """Lines that ask for a longer time than the run can last; of a clock there is no such bound."""
    settled_s = scenario.settle.full_isr_s + scenario.settle.final_read_s + MOST_LATE_S
    for path, bound in _bounds(scenario):
        if bound.metric.unit != "duration" or bound.metric.name == CLOCKS:
            continue
        greatest_s = length.most_s if bound.metric.of_clients else length.most_s + settled_s
        if _is_lower(bound) and not bound.holds(greatest_s):
            text = f"{bound.text!r} never holds: the run lasts {write_duration(greatest_s)} at most"
            yield Contradiction(path=path, text=text)


def _foregone(bound: Bound, greatest: float, path: Path) -> Iterator[Contradiction]:
    try:
        refuse_foregone(bound, greatest)
    except ValueError as refusal:
        yield Contradiction(path=path, text=str(refusal))


def _greatest(scenario: Scenario) -> Mapping[str, float]:
    """The greatest value that a metric can have in a run of the scenario, of those that have one."""
    brokers, topology = scenario.cluster.brokers, topology_of(scenario.cluster)
    # Without its only log directory a broker halts, and tells the controllers of none that is offline.
    alone = {"log-dirs.offline": 0} if scenario.cluster.log_dirs == 1 else {}
    return alone | {
        "acked.partitions": sum(topic.partitions for topic in scenario.topics),
        "isr.min": min(topic.replication for topic in scenario.topics),
        "brokers.restarted": brokers,
        "nodes.new-release": len(topology.nodes),
        "data-lost.brokers": brokers,
    }


def _exclude_each_other(one: Bound, other: Bound) -> bool:
    if one.metric.name == other.metric.name:
        low, high = sorted((one, other), key=lambda bound: bound.sign in ("<", "<="))
        return _is_lower(low) and not _is_lower(high) and not _meet(low, high)
    both_lower = _is_lower(one) and _is_lower(other)
    return both_lower and {one.metric.name, other.metric.name} <= SHARES and not _share(one, other)


def _is_lower(bound: Bound) -> bool:
    return bound.sign in (">", ">=")


def _meet(low: Bound, high: Bound) -> bool:
    """Whether any value is above `low` and below `high`."""
    if low.metric.whole:
        least = math.floor(low.bound) + 1 if low.sign == ">" else math.ceil(low.bound)
        return high.holds(least)
    return low.bound < high.bound or (low.bound == high.bound and low.sign == ">=" and high.sign == "<=")


def _share(one: Bound, other: Bound) -> bool:
    """Whether two shares of the same whole can be so large."""
    total = one.bound + other.bound
    return total < 1 or (total == 1 and one.sign == other.sign == ">=")
