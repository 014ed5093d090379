"""Bounds that never hold: deadlines of no time at all, lines that exclude each other, lines about what this
scenario does not have, evidence that it cannot show or always shows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from checkers.verdict.metrics.metric import ERRORS
from checkers.verdict.metrics.transactions import of_transactions
from faults.durations import write_duration
from harness.scenario.acceptance import Bound, parse_accepted, parse_required, refuse_foregone
from harness.scenario.load_size import LoadLength
from harness.scenario.model import Scenario, topology_of
from harness.scenario.rules.contradiction import Contradiction
from harness.scenario.text.positions import Path
from workloads.clients.outcome import error_names

LONGEST_DELIVERY_S = 2_147_483.647
"""What librdkafka's 32 bits hold of milliseconds; a larger number would be taken for another one."""
LONGEST_LOAD_S = 365 * 86_400.0
ACKED, RESUMED, LOST_READS = "acked.count", "resumed.max", "reads.lost"
SHARES = frozenset({"indeterminate.ratio", "failed.ratio"})
"""Of all sends; no send is counted in both, so together they are at most 1."""


def deadlines(scenario: Scenario) -> Iterator[Contradiction]:
    """Times that are zero where nothing can be done in no time, or longer than anything counts."""
    for path, value_s, greatest_s in (
        (("settle", "full_isr"), scenario.settle.full_isr_s, LONGEST_LOAD_S),
        (("settle", "final_read"), scenario.settle.final_read_s, LONGEST_LOAD_S),
        (("workload", "delivery_timeout"), scenario.workload.delivery_timeout_s, LONGEST_DELIVERY_S),
    ):
        if not 0 < value_s <= greatest_s:
            yield _out_of_range(path, value_s, f"more than 0s, at most {write_duration(greatest_s)}")
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
