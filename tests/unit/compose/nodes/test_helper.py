"""What a failed command in the helper container says."""

import pytest

from compose.docker.containers import ExecResult
from compose.errors import DiskError
from compose.nodes.helper import SAID, Helper


def failed(monkeypatch: pytest.MonkeyPatch, exit_code: int, printed: str) -> str:
    helper = Helper(container_id="none")
    monkeypatch.setattr(
        type(helper.commands), "run", lambda *_, **__: ExecResult(exit_code=exit_code, output=printed)
    )
    with pytest.raises(DiskError) as raised:
        helper.disk("tree", within_s=7)
    return str(raised.value)


def test_a_command_says_how_it_failed_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed(monkeypatch, 1, "broken\n").endswith("disk.sh tree: exit code 1: broken")
    assert failed(monkeypatch, 137, "").endswith("disk.sh tree: exit code 137 (stopped after 7 s): no output")


def test_of_a_listing_that_breaks_off_the_end_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    listing = "".join(f"700 orders-{number}/00000000000000000000.log\n" for number in range(10_000))
    message = failed(monkeypatch, 1, f"{listing}/mnt/kafka: Input/output error\n")
    assert message.endswith("orders-9999/00000000000000000000.log\n/mnt/kafka: Input/output error")
    assert len(message) < SAID + 100
