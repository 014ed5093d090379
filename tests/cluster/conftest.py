"""What tests on one real cluster have in common, whichever it is: each folder has a fixture `cluster`."""

import itertools
import re
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from compose.cluster.ready import wait_until_ready
from compose.cluster.start import DockerCluster
from compose.kafka.view import ClusterView

READY_S = 60.0
SETTLED_S = 30.0
TELLING = re.compile(r"WARN|ERROR|ISR|[Tt]runcat|leader|failed")
"""What of a broker's log may say why a test failed."""
READ_LINES, SHOWN_LINES = 20_000, 150


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails shows what the nodes said: the cluster ends with the tests, and its logs with it."""
    report = yield
    cluster = getattr(item, "funcargs", {}).get("cluster")
    if report.failed and call.when == "call" and isinstance(cluster, DockerCluster):
        for node in (*cluster.brokers, *cluster.controllers):
            lines = [line for line in cluster.tail(node, READ_LINES).splitlines() if TELLING.search(line)]
            report.sections.append((f"log of node {node}", "\n".join(lines[-SHOWN_LINES:])))
    return report


@pytest.fixture
def heal() -> Callable[[DockerCluster], None]:
    """Undoes whatever a test may have left in a cluster, and waits for it: frozen disks, paused or ended
    nodes, cut edges."""

    def heal(cluster: DockerCluster) -> None:
        def revive(node: int) -> None:
            cluster.thaw(node)
            cluster.unpause(node)
            cluster.start(node)

        nodes = (*cluster.controllers, *cluster.brokers)
        with ThreadPoolExecutor(len(nodes)) as pool:
            list(pool.map(revive, nodes))
        cluster.mesh.mend_all()
        wait_until_ready(cluster, within_s=READY_S)

    return heal


@pytest.fixture
def view(cluster: DockerCluster) -> Iterator[ClusterView]:
    """The cluster's partitions as its brokers see them."""
    with ClusterView(cluster.bootstrap) as view:
        yield view


@pytest.fixture(scope="session")
def topic_numbers() -> Iterator[int]:
    """Numbers that make the names of the tests' topics unique."""
    return itertools.count(1)


@pytest.fixture
def make_topic(cluster: DockerCluster, view: ClusterView, topic_numbers: Iterator[int]) -> Callable[..., str]:
    """Create a topic of RF 3 that no other test uses, wait until it is settled, and return its name."""

    def make(*, partitions: int = 1, config: dict[str, str] | None = None) -> str:
        name = f"topic-{next(topic_numbers)}"
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        topic = NewTopic(name, num_partitions=partitions, replication_factor=3, config=config or {})
        admin.create_topics([topic])[name].result(SETTLED_S)
        view.wait_until_settled(name, within_s=SETTLED_S)
        return name

    return make
