"""One real cluster for all tests of this folder, which leave it as they found it: six JVMs start once.

It ends with the last of them: tests that start clusters of their own have the machine to themselves.
"""

import os
from collections.abc import Callable, Iterator

import pytest

from compose.cluster.start import DockerCluster, start
from compose.spec.topology import Topology

VOLUME_MIB = 4096
"""Every test leaves its topics: some write as fast as it goes."""


@pytest.fixture(scope="package")
def shared_cluster() -> Iterator[DockerCluster]:
    """Three brokers and three controllers, started when the first test asks for them."""
    with start(Topology(volume_mib=VOLUME_MIB), run_id=f"tests-{os.getpid()}") as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: DockerCluster, heal: Callable[[DockerCluster], None]) -> Iterator[DockerCluster]:
    """The shared cluster; after the test every fault in it is healed, and it is waited for."""
    yield shared_cluster
    heal(shared_cluster)
