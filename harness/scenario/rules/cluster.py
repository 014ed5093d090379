"""Clusters that cannot exist: counts of nodes, and releases."""

from collections.abc import Iterator

from compose.errors import TopologyError
from compose.releases.settings import releases
from harness.scenario.load.load_size import MOST_VOLUME_BYTES
from harness.scenario.model import ClusterPart, Scenario, topology_of
from harness.scenario.rules.contradiction import Contradiction
from harness.scenario.text.complaints import unknown


def cluster(scenario: Scenario) -> Iterator[Contradiction]:
    """What `Topology` refuses; its message opens with the key, or with the configuration of a role."""
    try:
        topology_of(scenario.cluster)
    except TopologyError as refusal:
        what, _, reason = str(refusal).partition(": ")
        key = what.replace(" ", "_")
        if refusal.role:
            yield Contradiction(path=("cluster", f"{refusal.role}_config", refusal.setting), text=reason)
        elif key in ClusterPart.model_fields:
            yield Contradiction(path=("cluster", key), text=reason)
        else:
            yield Contradiction(path=("cluster",), text=str(refusal))
    if scenario.cluster.volume > MOST_VOLUME_BYTES:
        text = f"{scenario.cluster.volume >> 30}GiB is more than a file can hold; allowed: at most 16384GiB"
        yield Contradiction(path=("cluster", "volume"), text=text)


def release(scenario: Scenario) -> Iterator[Contradiction]:
    """A release that there is not, or whose settings are not known."""
    for key, asked in (("kafka", scenario.cluster.kafka), ("formatted", scenario.cluster.formatted)):
        if asked is not None and asked not in releases():
            text = unknown(asked, releases()).replace("unknown", "unknown release", 1)
            yield Contradiction(path=("cluster", key), text=text)
