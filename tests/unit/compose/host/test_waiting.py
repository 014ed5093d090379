"""Waits end with what they waited for, or with the last value in the error."""

import pytest

from compose.cluster import preflight
from compose.errors import MachineError, NodeNotReady, ViewError
from compose.host.waiting import wait_until


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
    preflight.check_memory(2688, 2688)
    with pytest.raises(MachineError, match="need up to 2688 MiB, 1000 MiB are available"):
        preflight.check_memory(2688, 1000)


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
