"""Which Kafka releases the nodes of a run were of, and at which levels metadata.version was finalized.

Invariant: a node counts for a release only if its own process has named it; a level, only if it is in the
metadata log.
Evidence: the lines of the nodes' logs in which they name their release, each start anew; the feature records.
Counterexample to "the schedule brings every node to 4.3.1, so all run it":
    the container of broker 2 is started again as it was; its log names Kafka 4.0.0 twice
"""

from collections import defaultdict
from collections.abc import Mapping

from checkers.history.operations.node_releases import release_in
from checkers.history.rows import Context
from checkers.verdict.metrics.metric import Measured

FEATURE = "metadata.version"


def releases_by_node(context: Context) -> Mapping[int, tuple[str, ...]]:
    """The releases that each node has named, in the order of its log, without the same one twice in a row."""
    found: dict[int, list[str]] = defaultdict(list)
    for line in context.broker_lines:
        release = release_in(line)
        if release and found[line.node][-1:] != [release]:
            found[line.node].append(release)
    return {node: tuple(releases) for node, releases in sorted(found.items()) if releases}


def metadata_levels(context: Context) -> tuple[int, ...]:
    """The levels at which metadata.version was finalized, in the order of the metadata log."""
    rows = [row for row in context.configs if row.kind == "feature" and row.name == FEATURE]
    levels = (int(row.value) for row in sorted(rows, key=lambda row: row.log_offset) if not row.removed)
    return tuple(dict.fromkeys(levels))


def new_release(context: Context) -> Measured:
    """How many nodes have run more than one release."""
    if "broker_lines" not in context.collected:
        return Measured(value=None, unknown="not collected: the nodes' logs")
    releases = releases_by_node(context)
    return Measured(value=float(sum(len(of) > 1 for of in releases.values())))


def metadata_versions(context: Context) -> Measured:
    """How many levels metadata.version has had."""
    if "configs" not in context.collected:
        return Measured(value=None, unknown="not collected: the features of the metadata log")
    return Measured(value=float(len(metadata_levels(context))))
