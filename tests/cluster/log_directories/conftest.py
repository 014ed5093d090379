"""One real cluster whose brokers have two log directories each."""

import os
from collections.abc import Callable, Iterator

import pytest

from compose.cluster.start import DockerCluster, start
from compose.spec.topology import Topology


@pytest.fixture(scope="package")
def cluster_with_two() -> Iterator[DockerCluster]:
    """Three brokers and three controllers, started when the first test asks for them."""
    with start(Topology(log_dirs=2), run_id=f"log-dirs-{os.getpid()}") as cluster:
        yield cluster


@pytest.fixture
def cluster(
    cluster_with_two: DockerCluster, heal: Callable[[DockerCluster], None]
) -> Iterator[DockerCluster]:
    """That cluster; after the test every fault in it is healed, and it is waited for."""
    yield cluster_with_two
    heal(cluster_with_two)
