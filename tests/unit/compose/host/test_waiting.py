"""Waits end with what they waited for, or with the last value in the error."""

import pytest

from compose.cluster import preflight
from compose.errors import MachineError, NodeNotReady, ViewError
from compose.host.waiting import wait_until
from compose.spec.topology import Topology


def test_value() -> None:
    """The value that fulfils the condition is returned."""
    values = iter([1, 2, 3, 4])
    assert wait_until("more than two", lambda: next(values), lambda v: v > 2, within_s=5, every_s=0) == 3


def test_deadline() -> None:
    """A time-out has the condition and the last value; it reads at least once."""
    with pytest.raises(NodeNotReady, match=r"node 2 is up: not so after 0\.\d s; last seen: starting"):
        wait_until("node 2 is up", lambda: "starting", lambda v: v == "up", within_s=0)
    with pytest.raises(ViewError):
        wait_until("it", lambda: 0, bool, within_s=0.02, every_s=0.01, error=ViewError)


def test_memory() -> None:
    """Too little memory is reported in numbers, before a JVM is killed for it."""
    needed = {"the nodes": 2688, "the run and its Spark": 2448}
    preflight.check_memory(needed, 5136)
    seen = "memory: the nodes need up to 2688 MiB, the run and its Spark need up to 2448 MiB, 5135 MiB are"
    with pytest.raises(MachineError, match=seen):
        preflight.check_memory(needed, 5135)


@pytest.mark.parametrize(
    ("is_local", "held_mib", "needs"),
    [
        (True, 0, [({"the nodes": 2688, "the run and its Spark": 2448}, 3000)]),
        (True, 2000, [({"the nodes": 2688, "the run and its Spark": 448}, 3000)]),
        (True, 9000, [({"the nodes": 2688, "the run and its Spark": 0}, 3000)]),
        (False, 0, [({"the nodes": 2688}, 3000), ({"the run and its Spark": 2448}, 7000)]),
    ],
)
def test_who_needs_memory_where(
    is_local: bool, held_mib: int, needs: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three brokers and three controllers; the harness and Spark take what they have not taken yet."""
    monkeypatch.setattr(preflight.docker_api, "is_local", lambda: is_local)
    monkeypatch.setattr(preflight, "available_mib", lambda: 3000)
    monkeypatch.setattr(preflight.memory, "available_bytes", lambda: 7000 << 20)
    monkeypatch.setattr(preflight.memory, "held_bytes", lambda: held_mib << 20)
    assert list(preflight.memory_needs(Topology())) == needs


def test_available_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """On this machine what is available counts, elsewhere what the engine reports."""

    class Engine:
        def __init__(self, base_url: str) -> None:
            self.api = self
            self.base_url = base_url

        def info(self) -> dict[str, int]:
            return {"MemTotal": 8 * 2**30}

    monkeypatch.setattr(preflight.memory, "available_bytes", lambda: 2000 << 20)
    for url, mib in (("http+docker://localhost", 2000), ("http://10.0.0.1:2375", 8192)):
        monkeypatch.setattr(preflight.docker_api, "client", lambda url=url: Engine(url))
        assert preflight.available_mib() == mib
