"""Configurations accepted on real clusters, as a user does it: a promise that is kept, and one that is read
live.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.run.highwater_process import highwater

CONFIGURATION = """\
name: small
topic: {partitions: 3, replication: 3, config: {min.insync.replicas: 1}}
producer: {acks: all}
require: [process-kill]
"""
WITHIN_S = 1000.0


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Any, Path]:
    """The exit code, the answer, and the directory of an acceptance with its search."""
    home = tmp_path_factory.mktemp("accept")
    file = home / "small.yaml"
    file.write_text(CONFIGURATION)
    code, answer = highwater(
        "accept", str(file), "--seed", "7", "--out", str(home / "runs"), within_s=WITHIN_S
    )
    (directory,) = (path for path in (home / "runs").iterdir() if not path.is_symlink())
    return code, answer, directory


def statuses(answer: Any) -> dict[str, str]:
    """What the runs show, by clause."""
    return {row["id"]: row["status"] for row in answer["clauses"]}


def test_what_acks_all_with_one_in_sync_replica_keeps_is_confirmed(
    accepted: tuple[int, Any, Path],
) -> None:
    _, answer, _ = accepted
    found = statuses(answer)
    assert {name: found[name] for name in ("process-kill", "deposed-leader", "spare-replicas")} == {
        "process-kill": "confirmed",
        "deposed-leader": "confirmed",
        "spare-replicas": "confirmed",
    }


def test_what_may_be_lost_is_lost_as_the_contract_permits(accepted: tuple[int, Any, Path]) -> None:
    code, answer, _ = accepted
    found = statuses(answer)
    expected = ("power-of-all", "isr-of-one", "disk-loss", "retention-by-clock")
    assert {name: found[name] for name in expected} == dict.fromkeys(expected, "confirmed")
    assert (found["offline"], code) == ("confirmed", 0)


def test_the_shortest_counterexample_of_the_model_loses_on_a_real_cluster_too(
    accepted: tuple[int, Any, Path],
) -> None:
    _, answer, directory = accepted
    loss = next(row for row in answer["searches"] if row["goal"] == "loss")
    assert loss["found"] == "broker 1 serves no other broker; 6.5 s later broker 1 loses its power"
    assert loss["status"] == "confirmed"
    verdict = json.loads((directory / loss["directory"] / "verdict.json").read_text())
    assert verdict["properties"]["acked-loss"]["permitted"] > 0
    assert verdict["properties"]["acked-loss"]["violations"] == 0
