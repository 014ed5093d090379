"""The Compose file for use by hand is the topology, nothing less and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import compose
from compose.errors import TopologyError
from compose.spec.compose_file import COMPOSE_FILE, HAND_USE, PROXIES_FILE, render, render_proxies
from compose.spec.mesh_plan import proxies
from compose.spec.server_properties import server_properties
from compose.spec.topology import Topology

HERE = Path(compose.__file__).parent


@pytest.fixture(scope="module")
def parsed() -> Any:
    """The rendered file as data."""
    return YAML(typ="safe").load(render(HAND_USE))


def test_committed_files() -> None:
    """What is committed is what the topology renders to; else: python -m compose.spec.compose_file write."""
    assert (HERE / COMPOSE_FILE).read_text() == render(HAND_USE)
    assert (HERE / PROXIES_FILE).read_text() == render_proxies(HAND_USE)


def test_settings(parsed: Any) -> None:
    """Each node gets exactly the settings that it has in a run."""
    for node in HAND_USE.nodes:
        text = parsed["services"][f"kafka-{node}"]["environment"]["PROPERTIES"]
        address = f"localhost:{29090 + node}" if node in HAND_USE.broker_ids else ""
        assert dict(line.split("=", 1) for line in text.splitlines()) == server_properties(
            HAND_USE, node, client_address=address
        )


def test_no_way_around(parsed: Any) -> None:
    """Every node is alone with the proxy in its network, and that network leads nowhere."""
    services = parsed["services"]
    for node in HAND_USE.nodes:
        members = [name for name, one in services.items() if f"net-{node}" in one["networks"]]
        assert members == ["proxy", f"kafka-{node}"]
        assert parsed["networks"][f"net-{node}"] == {"internal": True}
        assert list(services[f"kafka-{node}"]["networks"]) == [f"net-{node}"]


def test_names_resolve(parsed: Any) -> None:
    """Each proxy listens on a name that is its own in the source network, and leads to one of the target."""
    services = parsed["services"]
    for one in json.loads(render_proxies(HAND_USE)):
        source, target = one["name"].split(":")[0].split("->")
        listen, upstream = one["listen"].split(":")[0], one["upstream"].split(":")[0]
        assert listen in services["proxy"]["networks"][f"net-{source}"]["aliases"]
        assert upstream in services[f"kafka-{target}"]["networks"][f"net-{target}"]["aliases"]
        if source != "client":
            assert f"kafka-{target}" in services["proxy"]["networks"][f"net-{source}"]["aliases"]


def test_every_edge(parsed: Any) -> None:
    """The proxies are those of a run, and clients reach the ports that brokers advertise."""
    assert [one["name"] for one in json.loads(render_proxies(HAND_USE))] == [
        p.name for p in proxies(HAND_USE)
    ]
    assert parsed["services"]["proxy"]["ports"][1:] == [
        "127.0.0.1:29091:30001",
        "127.0.0.1:29092:30002",
        "127.0.0.1:29093:30003",
    ]


def test_other_topologies() -> None:
    """Combined nodes and other numbers render to valid YAML as well."""
    topology = Topology(brokers=4, controllers=3, combined=True, elr=False, client_port=40000)
    services = YAML(typ="safe").load(render(topology))["services"]
    assert list(services) == ["proxy", "kafka-1", "kafka-2", "kafka-3", "kafka-4"]
    assert "--feature eligible.leader.replicas.version=0" in services["kafka-1"]["command"][0]


def test_each_log_directory_of_a_broker_is_on_a_volume_of_its_own() -> None:
    parsed = YAML(typ="safe").load(render(Topology(log_dirs=2, client_port=40000)))
    services = parsed["services"]
    assert services["kafka-2"]["volumes"] == ["data-2:/data", "data-2-2:/data-2"]
    assert services["kafka-101"]["volumes"] == ["data-101:/data"]
    mounted = [
        each.split(":")[0] for name, one in services.items() if name != "proxy" for each in one["volumes"]
    ]
    assert sorted(mounted) == sorted(parsed["volumes"])
    assert "sync -f /data-2\n" in services["kafka-2"]["command"][0]


def test_open_ports() -> None:
    """Ports that nobody knows before the start cannot be written into a file."""
    with pytest.raises(TopologyError, match="needs a fixed one"):
        render(Topology())
