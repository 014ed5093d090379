"""Which releases the nodes were of, by what they say themselves, and where metadata.version has been."""

from checkers.history.rows import BrokerLine, ConfigChange, Context
from checkers.verdict.metrics.releases import (
    metadata_levels,
    metadata_versions,
    new_release,
    releases_by_node,
)


def named(node: int, release: str, kind: str = "version") -> BrokerLine:
    """A node names its release."""
    return BrokerLine(
        topic="", partition=-1, at_ms=1, node=node, kind=kind, line=f"Kafka version: {release} (k)"
    )


def level(value: str, offset: int, name: str = "metadata.version") -> ConfigChange:
    """A feature is finalized."""
    return ConfigChange(at_ms=1, log_offset=offset, kind="feature", name=name, value=value)


def test_a_node_counts_for_the_releases_that_its_own_processes_have_named() -> None:
    """A process may name it more than once; a node that comes back to the first one has run three times."""
    lines = [
        *(named(1, release) for release in ("4.0.0", "4.0.0", "4.3.1", "4.0.0")),
        *(named(2, release) for release in ("4.0.0", "4.0.0")),
        named(3, "4.3.1", kind="halted"),
    ]
    context = Context(broker_lines=lines)
    assert releases_by_node(context) == {1: ("4.0.0", "4.3.1", "4.0.0"), 2: ("4.0.0",)}
    assert new_release(context).value == 1.0
    assert new_release(Context()).value == 0.0


def test_levels_are_those_of_the_metadata_log_in_its_order() -> None:
    rows = [level("30", 90), level("25", 2), level("25", 40), level("1", 3, "group.version")]
    context = Context(configs=rows)
    assert metadata_levels(context) == (25, 30)
    assert metadata_versions(context).value == 2.0


def test_what_was_not_collected_is_not_known() -> None:
    nothing = Context(collected=frozenset())
    assert (new_release(nothing).value, metadata_versions(nothing).value) == (None, None)
