"""Faults of processes and disks in runs as a user makes them: restarts, pulses, full and lost disks.

With acks=all, brokers may have them in turn; if all lose their disks at once, what was flushed is lost too.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.run.highwater_process import highwater

from harness.scenario.resolve import find

IN_TURN = """\
name: in-turn
topics:
  - {name: orders, partitions: 3, replication: 3, config: {min.insync.replicas: 2}}
workload: {producers: 2, acks: all, rate: 500/s, readers: 1}
faults:
  - {name: pulses, at: 3s, do: pulses, target: leader, on: 200ms, off: 300ms, for: 4s}
  - {name: stutter, after: previous.recovered, do: disk-stutter, target: leader, on: 500ms, off: 1s, for: 7s}
  - {name: cpu, after: previous.recovered, do: cpu-limit, target: follower, cpus: 0.1, for: 5s}
  - {name: full, after: previous.recovered, do: disk-full, target: leader, for: 5s}
  - {name: roll, after: previous.recovered + 1s, do: rolling-restart, target: brokers, for: 0s}
  - {name: wipe, after: previous.recovered + 1s, do: disk-wipe, target: leader, for: 1s}
expect: {acked_loss: none}
"""
KINDS = ["pulses", "disk-stutter", "cpu-limit", "disk-full", "rolling-restart", "disk-wipe"]

FLUSHED, POWER, NONE_LOST = "power-failure-all-flushed", "do: power-loss,", "acked_loss: none"
RUNS_S = 580.0


def all_at_once() -> str:
    """The shipped power failure of flushed brokers, which loses nothing, with emptied disks instead."""
    text, _ = find(FLUSHED)
    assert POWER in text
    assert NONE_LOST in text
    text = text.replace(POWER, "do: disk-wipe, disk: emptied,").replace(NONE_LOST, "acked_loss: permitted")
    return text.replace(f"name: {FLUSHED}", "name: all-at-once")


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The verdict of both runs, made by one command, by name."""
    folder = tmp_path_factory.mktemp("scenarios")
    paths: list[Path] = []
    for name, text in (("in-turn", IN_TURN), ("all-at-once", all_at_once())):
        paths.append(folder / f"{name}.yaml")
        paths[-1].write_text(text)
    out = str(tmp_path_factory.mktemp("runs"))
    code, found = highwater("run", *map(str, paths), "--seed", "7", "--out", out, within_s=RUNS_S)
    shown = json.dumps(found, indent=1)
    assert (code, [verdict["verdict"] for verdict in found]) == (0, ["PASS", "PASS"]), shown
    return dict(zip(("in-turn", "all-at-once"), found, strict=True))


def test_faults_in_turn_lose_nothing(verdicts: dict[str, Any]) -> None:
    """Each is proven and recovers, and every end of a process is accounted for."""
    in_turn = verdicts["in-turn"]
    windows = in_turn["exposure"]["fault_windows"]
    assert [window["kind"] for window in windows] == KINDS
    assert all(window["proven"] and window["recovered"] for window in windows)
    assert in_turn["findings"] == []
    assert (
        in_turn["outcome"] == f"acks=all lost none of {in_turn['exposure']['acked']:,} acknowledged records"
    )


def test_disks_that_are_lost_at_once_take_what_was_flushed(verdicts: dict[str, Any]) -> None:
    """Nobody is left to fetch from: that is permitted, and shown for what it is."""
    at_once = verdicts["all-at-once"]
    loss = at_once["properties"]["acked-loss"]
    assert loss["permitted"] >= 1000
    assert (loss["violations"], loss["undecided_anomalies"]) == (0, 0)
    finding = at_once["findings"][0]
    assert "unclean shutdowns" in finding["clause"]
    assert any(line.endswith("all data lost on 1, 2, 3") for line in finding["evidence"])
