"""A Docker Engine of the tests, which the code under test takes for the machine's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.world.engine_server import EngineServer, engine_server

from compose.docker import api, reach


@pytest.fixture
def engine(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[EngineServer]:
    """An engine at a port, or at the "socket" that a test's parameter asks for."""
    at = getattr(request, "param", "port")
    with engine_server(tmp_path / "s" if at == "socket" else None) as server:
        monkeypatch.setenv("DOCKER_HOST", server.address)
        monkeypatch.setattr(api, "host", lambda: server.address)
        api.client.cache_clear()
        reach.is_direct.cache_clear()
        yield server
        api.client.cache_clear()
        reach.is_direct.cache_clear()
