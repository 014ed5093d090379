"""What the engine's answers mean: its times, its events, the state of a container."""

import pytest

from compose.docker.events import ContainerEvent, Inspected, engine_time_ns, read_event, read_inspected
from compose.errors import NodeStateError


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000_000),
        ("1970-01-01T00:00:01.000000007Z", 1_000_000_007),
        ("1970-01-01T00:00:01.5Z", 1_500_000_000),
        ("1970-01-01T02:00:01.25+02:00", 1_250_000_000),
        ("2026-11-22T00:19:16.511931658Z", 1_795_306_756_511_931_658),
        ("0001-01-01T00:00:00Z", -1),
    ],
)
def test_an_engine_time_keeps_its_nanoseconds(text: str, expected_ns: int) -> None:
    assert engine_time_ns(text) == expected_ns


@pytest.mark.parametrize("text", ["", "now", "2026-11-22 00:19:16Z", "2026-11-22T00:19:16"])
def test_a_time_in_another_form_is_an_error_that_shows_it(text: str) -> None:
    with pytest.raises(NodeStateError, match="which is not of RFC 3339"):
        engine_time_ns(text)


def test_a_die_has_the_exit_code_and_a_start_has_none() -> None:
    """As Engine 20.10 sends them."""
    attributes = {"exitCode": "137", "highwater.run": "r1", "image": "highwater/kafka:4.3.1", "name": "hw-1"}
    actor = {"ID": "c1", "Attributes": attributes}
    raw = {"Type": "container", "Action": "die", "Actor": actor, "time": 1, "timeNano": 1_000_000_009}
    assert read_event(raw) == ContainerEvent(
        container="hw-1", action="die", at_ns=1_000_000_009, exit_code=137
    )
    del attributes["exitCode"]
    assert read_event(raw | {"Action": "start"}) == ContainerEvent(
        container="hw-1", action="start", at_ns=1_000_000_009, exit_code=-1
    )


def test_a_container_that_runs_has_no_exit_code_and_one_that_ended_has() -> None:
    running = {
        "Status": "running",
        "ExitCode": 0,
        "OOMKilled": False,
        "StartedAt": "1970-01-01T00:00:03Z",
        "FinishedAt": "0001-01-01T00:00:00Z",
    }
    assert read_inspected(running) == Inspected(is_up=True, started_ns=3_000_000_000, finished_ns=-1)
    assert read_inspected(running | {"Status": "paused"}).is_up
    ended = {"Status": "exited", "ExitCode": 137, "OOMKilled": True, "FinishedAt": "1970-01-01T00:00:05Z"}
    assert read_inspected(running | ended) == Inspected(
        is_up=False, started_ns=3_000_000_000, finished_ns=5_000_000_000, exit_code=137, oom_killed=True
    )
