"""Whether the engine answers now: a connection that was made once says nothing of it."""

import pytest
from docker.errors import DockerException

from compose.docker import api
from compose.errors import EngineUnreachable


class Client:
    """Made when the engine was there; it may be away since."""

    def __init__(self, *, is_away: bool) -> None:
        self.is_away = is_away

    def ping(self) -> bool:
        if self.is_away:
            raise DockerException("Connection aborted")
        return True


def unreachable() -> Client:
    raise EngineUnreachable("no Docker Engine answers")


@pytest.mark.parametrize(
    ("client", "expected"),
    [(lambda: Client(is_away=False), True), (lambda: Client(is_away=True), False), (unreachable, False)],
    ids=["there", "away since", "never there"],
)
def test_the_engine_is_asked_each_time(
    client: object, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "client", client)
    assert api.answers() is expected
