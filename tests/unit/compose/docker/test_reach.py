"""Where ports of containers are reached, and where they listen when the engine has to publish them."""

from types import SimpleNamespace

import pytest

from compose.docker import reach
from compose.errors import Vanished


@pytest.fixture(autouse=True)
def asked_anew() -> None:
    reach.is_direct.cache_clear()


def engine(
    monkeypatch: pytest.MonkeyPatch, *, gateway: str, local: bool = True, inside: bool = False
) -> None:
    """An engine whose bridge has this gateway; `inside`: this process is in a container."""
    engine_with(monkeypatch, {"Gateway": gateway}, local=local, inside=inside)


def engine_with(
    monkeypatch: pytest.MonkeyPatch, config: dict[str, str], *, local: bool = True, inside: bool = False
) -> None:
    networks = SimpleNamespace(inspect_network=lambda _: {"IPAM": {"Config": [config]}})
    monkeypatch.setattr(reach, "client", lambda: SimpleNamespace(api=networks))
    monkeypatch.setattr(reach, "is_local", lambda: local)
    monkeypatch.setattr(reach, "inside_container", lambda: inside)


@pytest.mark.parametrize("inside", [False, True])
def test_an_engine_whose_networks_are_this_machines(monkeypatch: pytest.MonkeyPatch, inside: bool) -> None:
    engine(monkeypatch, gateway="127.0.0.1", inside=inside)
    assert (reach.is_direct(), reach.published_at()) == (True, "127.0.0.1")


@pytest.mark.parametrize(("subnet", "direct"), [("127.0.0.0/8", True), ("192.0.2.0/24", False)])
def test_an_engine_that_has_just_made_its_bridge_names_only_the_subnet(
    monkeypatch: pytest.MonkeyPatch, subnet: str, direct: bool
) -> None:
    engine_with(monkeypatch, {"Subnet": subnet}, inside=True)
    assert reach.is_direct() == direct


def test_a_rootless_engine_or_one_in_a_virtual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine(monkeypatch, gateway="192.0.2.1")
    assert (reach.is_direct(), reach.published_at()) == (False, "127.0.0.1")


def test_an_engine_that_starts_containers_beside_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    engine(monkeypatch, gateway="192.0.2.1", inside=True)
    assert (reach.is_direct(), reach.published_at()) == (False, "0.0.0.0")


def test_an_engine_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    engine(monkeypatch, gateway="127.0.0.1", local=False)
    assert (reach.is_direct(), reach.published_at()) == (False, "0.0.0.0")


def test_an_engine_without_a_bridge(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: str) -> None:
        raise Vanished("no such network")

    engine(monkeypatch, gateway="")
    monkeypatch.setattr(reach, "client", lambda: SimpleNamespace(api=SimpleNamespace(inspect_network=gone)))
    assert not reach.is_direct()
    reach.is_direct.cache_clear()
    engine(monkeypatch, gateway="")
    assert not reach.is_direct()
