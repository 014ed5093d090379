"""A session is asked once more only if it is still there."""

import socket
from collections.abc import Iterator

import pytest

from compose.docker.standing_exec import Session


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """What is asked by, and what answers."""
    near, far = socket.socketpair()
    yield near, far
    near.close()
    far.close()


def test_a_session_waits_until_its_container_ends(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    session = Session(stream=near, connection=near)
    assert session.waits
    far.close()
    assert not session.waits


def test_a_session_that_speaks_unasked_is_not_trusted(ends: tuple[socket.socket, socket.socket]) -> None:
    """Else it would be taken for the answer to the next question."""
    near, far = ends
    far.sendall(b"late")
    assert not Session(stream=near, connection=near).waits


def test_waiting_takes_nothing_from_an_answer(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    session = Session(stream=near, connection=near)
    assert session.waits
    far.sendall(b"\1\0\0\0\0\0\0\5" + b"0 2\nhi"[:5] + b"\1\0\0\0\0\0\0\1" + b"i")
    assert session.run(["echo"], within_s=1).output == "hi"
