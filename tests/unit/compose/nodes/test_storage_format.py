"""One formatted directory, made fit for each node."""

import re

from compose.nodes.storage_format import for_nodes, format_spec, new_id
from compose.spec.images import kafka_image
from compose.spec.topology import Topology

META = b"""\
#
#Sat Nov 21 11:57:14 UTC 2026
node.id=101
directory.id=6_FVa2xjqicWE5ZhBz1CiA
version=1
cluster.id=4L6g3nShT-eMCtK--X86sw
"""


def test_nodes_differ() -> None:
    """Each node has its own number and directory id, and all have the same cluster and checkpoint."""
    made = for_nodes({"meta.properties": META, "bootstrap.checkpoint": b"\0\1"}, [1, 2, 101])
    texts = {node: files["meta.properties"].decode() for node, files in made.items()}
    assert all(f"\nnode.id={node}\n" in text for node, text in texts.items())
    assert all("\ncluster.id=4L6g3nShT-eMCtK--X86sw\n" in text for text in texts.values())
    assert len({re.search("directory.id=(.*)", text)[1] for text in texts.values()}) == 3
    assert {files["bootstrap.checkpoint"] for files in made.values()} == {b"\0\1"}


def test_old_release() -> None:
    """Releases before 3.7 have no directory id, and get none."""
    made = for_nodes({"meta.properties": b"version=1\ncluster.id=x\nnode.id=101\n"}, [7])
    assert made[7]["meta.properties"] == b"version=1\ncluster.id=x\nnode.id=7\n"


def test_ids() -> None:
    """Ids have Kafka's form, and never that of an option."""
    ids = {new_id() for _ in range(500)}
    assert len(ids) == 500
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", one) for one in ids)


def test_formatter_of_mixed_releases() -> None:
    """The oldest release formats: every node knows the features that it writes."""
    mixed = Topology(kafka="4.3.1", kafka_by_node={2: "4.0.1"})
    spec = format_spec(mixed, name="f", network="none", labels={}, appcds=True)
    assert spec.image == kafka_image("4.0.1")


def test_formatter() -> None:
    """The formatter gets a controller's settings, and ELR only where the topology has an opinion."""
    for elr, option in ((True, "eligible.leader.replicas.version=1"), (None, "--config")):
        spec = format_spec(Topology(elr=elr), name="f", network="none", labels={}, appcds=True)
        assert option in spec.command
        assert "process.roles=controller\n" in next(iter(spec.files.values()))
        assert ("--feature" in spec.command) is (elr is not None)
