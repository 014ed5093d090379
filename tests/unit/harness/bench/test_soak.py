"""What the page of an hour says of its memory and of its end."""

import os
import socket
from pathlib import Path
from typing import Any

from harness.bench.soak import Moments, Sample, look_at, page

VERDICT: dict[str, Any] = {
    "verdict": "PASS",
    "outcome": "acks=all lost none of 10 acknowledged records",
    "seed": 7,
    "exposure": {
        "fault_windows": [{"proven": True, "recovered": True}, {"proven": True, "recovered": False}]
    },
    "fault_times": {"faults": 0},
    "timings": {"settle_s": 1.2, "final_read_s": 3.4, "disks_s": 4.6, "seal_s": 5.0, "audit_s": None},
}
MOMENTS = Moments(load_ended_s=600.0, judged_s=617.0, gone_s=619.4)


def samples(grown_mib: float, kept_open: int = 0) -> list[Sample]:
    """Ten minutes of load, and one after it in which all is read."""
    return [
        Sample(
            at_s=at_s,
            harness_mib=1000 if at_s >= 600 else 200 + grown_mib * (at_s >= 500),
            spark_mib=300,
            files=100,
            threads=60,
            connections=50 + at_s // 5 % 3 + kept_open * (at_s >= 450),
        )
        for at_s in range(0, 660, 5)
    ]


def test_the_end_of_an_hour_is_told_by_its_parts() -> None:
    end = "from the end of the load to the verdict: 17 s"
    parts = "(in sync 1, final read 3, disks 5, sealing 5, audit 0), to the end: 2 s more"
    assert f"- {end} {parts}" in page("10m", VERDICT, samples(0), MOMENTS).splitlines()


def test_growth_is_of_the_load_alone_from_its_sixth_minute_on() -> None:
    written = page("10m", VERDICT, samples(30), MOMENTS)
    assert "- harness, MiB: 200 in the sixth minute, 230 in the last: +15.0 %" in written
    assert "- Spark, MiB: 300 in the sixth minute, 300 in the last: +0.0 %" in written


def test_of_connections_that_come_and_go_the_least_shows_what_is_never_closed() -> None:
    level = "- connections: 50 to 52, 51 by median in the first half from the sixth minute on, "
    assert f"{level}50 to 52, 51 by median in the second" in page("10m", VERDICT, samples(0), MOMENTS)
    assert f"{level}57 to 59, 58 by median in the second" in page("10m", VERDICT, samples(0, 7), MOMENTS)


def test_connections_and_files_are_counted_apart(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = look_at(os.getpid(), 1.0)
        with (
            socket.create_connection(server.getsockname()),
            (tmp_path / "one").open("w"),
            (tmp_path / "two").open("w"),
        ):
            after = look_at(os.getpid(), 2.0)
    assert before is not None
    assert after is not None
    assert (after.connections - before.connections, after.files - before.files) == (1, 2)


def test_faults_without_recovery_are_not_counted_as_proven() -> None:
    assert "2 faults, 1 of them with evidence" in page("10m", VERDICT, samples(0), MOMENTS)
