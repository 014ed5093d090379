"""One formatted directory, made fit for each node."""

import re
from pathlib import Path

import pytest

from compose.docker.containers import ContainerSpec
from compose.nodes import storage_format
from compose.nodes.storage_format import for_nodes, format_spec, formatted, new_id
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


def test_formatter_of_an_upgrade_that_is_not_finalized() -> None:
    """The nodes run a newer release than the one that formats."""
    spec = format_spec(
        Topology(kafka="4.3.1", formatted="4.0.0"), name="f", network="none", labels={}, appcds=True
    )
    assert spec.image == kafka_image("4.0.0")


def test_formatter() -> None:
    """The formatter gets a controller's settings, and ELR only where the topology has an opinion."""
    for elr, option in ((True, "eligible.leader.replicas.version=1"), (None, "--config")):
        spec = format_spec(Topology(elr=elr), name="f", network="none", labels={}, appcds=True)
        assert option in spec.command
        assert "process.roles=controller\n" in next(iter(spec.files.values()))
        assert ("--feature" in spec.command) is (elr is not None)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The images whose formatter was run; the user's cache is an empty folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    images: list[str] = []

    def run(spec: ContainerSpec) -> dict[str, bytes]:
        images.append(spec.image)
        cluster = spec.command[spec.command.index("--cluster-id") + 1]
        return {"meta.properties": f"cluster.id={cluster}\n".encode(), "bootstrap.checkpoint": b"\0\1\xff"}

    monkeypatch.setattr(storage_format, "_format", run)
    return images


def spec_of(topology: Topology) -> ContainerSpec:
    return format_spec(topology, name=new_id(), network="none", labels={}, appcds=True)


def test_what_was_formatted_is_kept_and_each_cluster_has_its_own_id(runs: list[str]) -> None:
    first, second = formatted(spec_of(Topology())), formatted(spec_of(Topology()))
    assert runs == [kafka_image("4.3.1")]
    assert first["bootstrap.checkpoint"] == second["bootstrap.checkpoint"] == b"\0\1\xff"
    ids = [
        re.fullmatch(rb"cluster\.id=([\w-]{22})\n", each["meta.properties"])[1] for each in (first, second)
    ]
    assert ids[0] != ids[1]


def test_other_settings_and_other_releases_are_formatted_anew(runs: list[str]) -> None:
    for topology in (Topology(), Topology(elr=True), Topology(kafka="4.0.1"), Topology(controllers=1)):
        formatted(spec_of(topology))
    assert len(runs) == 4


def test_a_damaged_cache_is_no_error(runs: list[str], tmp_path: Path) -> None:
    formatted(spec_of(Topology()))
    (kept,) = (tmp_path / "highwater").iterdir()
    for text in ("{", "[]", "{}", '{"meta.properties": "?"}', '{"meta.properties": 1}'):
        kept.write_text(text)
        assert formatted(spec_of(Topology()))["bootstrap.checkpoint"] == b"\0\1\xff"
