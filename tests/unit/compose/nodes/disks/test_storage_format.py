"""One formatted directory, made fit for each node."""

import re
from pathlib import Path

import pytest

from compose.docker.containers import ContainerSpec
from compose.nodes.disks import storage_format
from compose.nodes.disks.storage_format import Files, for_nodes, format_spec, formatted, new_id
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
    files = {"meta.properties": META, "bootstrap.checkpoint": b"\0\1"}
    made = {node: its for node, (its,) in for_nodes([files], {1: 1, 2: 1, 101: 1}).items()}
    texts = {node: its["meta.properties"].decode() for node, its in made.items()}
    assert all(f"\nnode.id={node}\n" in text for node, text in texts.items())
    assert all("\ncluster.id=4L6g3nShT-eMCtK--X86sw\n" in text for text in texts.values())
    assert len({re.search("directory.id=(.*)", text)[1] for text in texts.values()}) == 3
    assert {its["bootstrap.checkpoint"] for its in made.values()} == {b"\0\1"}


def test_each_log_directory_has_its_own_id_and_a_controller_only_the_first() -> None:
    first, second = {"meta.properties": META, "bootstrap.checkpoint": b"\0\1"}, {"meta.properties": META}
    made = for_nodes([first, second], {1: 2, 2: 2, 101: 1})
    assert {node: [sorted(files) for files in its] for node, its in made.items()} == {
        1: [["bootstrap.checkpoint", "meta.properties"], ["meta.properties"]],
        2: [["bootstrap.checkpoint", "meta.properties"], ["meta.properties"]],
        101: [["bootstrap.checkpoint", "meta.properties"]],
    }
    texts = [(node, files["meta.properties"].decode()) for node, its in made.items() for files in its]
    assert all(f"\nnode.id={node}\n" in text for node, text in texts)
    assert len({re.search("directory.id=(.*)", text)[1] for _, text in texts}) == 5


def test_old_release() -> None:
    """Releases before 3.7 have no directory id, and get none."""
    made = for_nodes([{"meta.properties": b"version=1\ncluster.id=x\nnode.id=101\n"}], {7: 1})
    assert made == {7: ({"meta.properties": b"version=1\ncluster.id=x\nnode.id=7\n"},)}


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


def test_the_formatter_formats_as_many_log_directories_as_a_broker_has() -> None:
    for count, listed in ((1, "/data/kafka"), (2, "/data/kafka,/data-2/kafka")):
        spec = format_spec(Topology(log_dirs=count), name="f", network="none", labels={}, appcds=True)
        assert f"log.dirs={listed}\n" in next(iter(spec.files.values()))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The images whose formatter was run; the user's cache is an empty folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    images: list[str] = []

    def run(spec: ContainerSpec, count: int) -> tuple[Files, ...]:
        images.append(spec.image)
        cluster = spec.command[spec.command.index("--cluster-id") + 1]
        properties = f"cluster.id={cluster}\n".encode()
        first: Files = {"meta.properties": properties, "bootstrap.checkpoint": b"\0\1\xff"}
        return (first, *({"meta.properties": properties} for _ in range(count - 1)))

    monkeypatch.setattr(storage_format, "_format", run)
    return images


def spec_of(topology: Topology) -> ContainerSpec:
    return format_spec(topology, name=new_id(), network="none", labels={}, appcds=True)


def test_what_was_formatted_is_kept_and_each_cluster_has_its_own_id(runs: list[str]) -> None:
    (first,), (second,) = (formatted(spec_of(Topology()), count=1) for _ in range(2))
    assert runs == [kafka_image("4.3.1")]
    assert first["bootstrap.checkpoint"] == second["bootstrap.checkpoint"] == b"\0\1\xff"
    ids = [
        re.fullmatch(rb"cluster\.id=([\w-]{22})\n", each["meta.properties"])[1] for each in (first, second)
    ]
    assert ids[0] != ids[1]


def test_other_settings_and_other_releases_are_formatted_anew(runs: list[str]) -> None:
    for topology in (Topology(), Topology(elr=True), Topology(kafka="4.0.1"), Topology(controllers=1)):
        formatted(spec_of(topology), count=1)
    assert len(runs) == 4


def test_two_log_directories_of_a_cluster_are_kept_together_and_have_its_id(runs: list[str]) -> None:
    one, again = (formatted(spec_of(Topology(log_dirs=2)), count=2) for _ in range(2))
    formatted(spec_of(Topology()), count=1)
    assert len(runs) == 2
    assert [sorted(files) for files in again] == [
        ["bootstrap.checkpoint", "meta.properties"],
        ["meta.properties"],
    ]
    assert one[0]["meta.properties"] == one[1]["meta.properties"] != again[0]["meta.properties"]


def test_a_damaged_cache_is_no_error(runs: list[str], tmp_path: Path) -> None:
    formatted(spec_of(Topology()), count=1)
    (kept,) = (tmp_path / "highwater").iterdir()
    for text in ("{", "[]", "{}", "[1]", "[{}]", '[{"meta.properties": "?"}]', '[{"meta.properties": 1}]'):
        kept.write_text(text)
        (files,) = formatted(spec_of(Topology()), count=1)
        assert files["bootstrap.checkpoint"] == b"\0\1\xff"
    assert len(runs) == 8
