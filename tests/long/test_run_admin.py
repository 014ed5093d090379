"""Runs in which Kafka is administrated under load: planned moves lose nothing; what a person permits for a
while may be lost then."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.run.highwater_process import highwater

HEAD = """
name: {name}
topics:
  - {{name: orders, partitions: 3, replication: 3, config: {{{config}}}}}
workload: {{producers: 2, acks: all, rate: 1000/s, readers: 1, lasts: 5s}}
expect: {{acked_loss: {expect}}}
faults:
"""
STRICT = "min.insync.replicas: 2, unclean.leader.election.enable: false"
ISR_OF_ONE = "min.insync.replicas: 1, unclean.leader.election.enable: false"

PLANNED = """
  - {name: rotate, at: 4s, do: reassign, to: rotated, for: 8s}
  - {name: there, after: rotate.begin + 3s, do: preferred-election, for: 2s}
  - {name: back, after: rotate.recovered + 1s, do: preferred-election, for: 2s}
  - {name: fewer, after: back.recovered + 1s, do: reassign, to: 2 replicas, for: 8s}
  - {name: pause, after: fewer.begin + 2s, do: pause, target: leader, for: 2s}
  - {name: topic, after: fewer.recovered + 1s, do: create-topic, partitions: 4, for: 3s}
  - {name: partitions, after: topic.begin + 1s, do: create-partitions, partitions: 4, for: 3s}
"""
FULL_ISR = """
  - {name: strict, at: 4s, do: config, set: min.insync.replicas=3, for: 14s}
  - {name: kill, after: strict.begin + 2s, do: kill, target: follower, for: 6s}
"""
WEAKER = """
  - {name: weaker, at: 4s, do: config, for: 40s,
     set: {min.insync.replicas: 1, unclean.leader.election.enable: true}}
  - {name: cut, after: weaker.begin + 2s, do: partition, edges: followers -> leader, for: 25s}
  - {name: kill, when: 'isr == {leader}', within: 20s, do: kill, target: leader, for: 12s}
"""
FORCED = """
  - {name: cut, at: 4s, do: partition, edges: followers -> leader, for: 30s}
  - {name: kill, when: 'isr == {leader}', within: 20s, do: kill, target: leader, for: 14s}
  - {name: force, when: leader == none, within: 20s, do: unclean-election, for: 2s}
"""
ELR_OFF = """
  - {name: elr, at: 4s, do: feature, set: eligible.leader.replicas.version=0, for: 12s}
  - {name: kill, after: elr.begin + 2s, do: kill, target: leader, for: 5s}
"""
SCENARIOS = {
    "planned": (STRICT, "none", PLANNED),
    "full-isr": (STRICT, "none", FULL_ISR),
    "weaker": (STRICT, "permitted", WEAKER),
    "forced": (ISR_OF_ONE, "permitted", FORCED),
    "elr-off": (STRICT, "none", ELR_OFF),
}
SEED = "7"
SUITE_S = 900.0


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The verdict of each scenario, all run by one command, with the verdict PASS."""
    out, texts = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("scenarios")
    for name, (config, expect, faults) in SCENARIOS.items():
        (texts / f"{name}.yaml").write_text(HEAD.format(name=name, config=config, expect=expect) + faults)
    files = [str(texts / f"{name}.yaml") for name in SCENARIOS]
    code, found = highwater("run", *files, "--seed", SEED, "--out", str(out), within_s=SUITE_S)
    assert (code, [verdict["verdict"] for verdict in found]) == (0, ["PASS"] * len(SCENARIOS)), _reasons(out)
    return dict(zip(SCENARIOS, found, strict=True))


def _reasons(out: Path) -> list[Any]:
    return [json.loads(path.read_text()).get("reasons") for path in sorted(out.glob("*/verdict.json"))]


def loss(verdict: Any) -> dict[str, int]:
    """What was lost, by label."""
    found = verdict["properties"]["acked-loss"]
    return {label: found[label] for label in ("violations", "permitted", "undecided")}


def test_every_change_has_evidence_of_its_effect_and_recovery(verdicts: dict[str, Any]) -> None:
    windows = [window for verdict in verdicts.values() for window in verdict["exposure"]["fault_windows"]]
    assert len(windows) == 7 + 2 + 3 + 3 + 2
    assert all(window["proven"] and window["recovered"] for window in windows)


@pytest.mark.parametrize("name", ["planned", "full-isr", "elr-off"])
def test_what_keeps_the_promise_loses_nothing(verdicts: dict[str, Any], name: str) -> None:
    """Leaders that move without a crash, replicas that go and come, an ISR that must be full."""
    assert loss(verdicts[name]) == {"violations": 0, "permitted": 0, "undecided": 0}


@pytest.mark.parametrize("name", ["weaker", "forced"])
def test_what_a_person_permits_for_a_while_is_lost_and_permitted(verdicts: dict[str, Any], name: str) -> None:
    """The topic was made to forbid it: a setting that was in force allows it, or the election was asked
    for."""
    found = loss(verdicts[name])
    assert found["permitted"] >= 100
    assert (found["violations"], found["undecided"]) == (0, 0)
    assert verdicts[name]["properties"]["leader-legal"]["violations"] == 0
    assert "unclean election" in verdicts[name]["findings"][0]["clause"]
    assert ("as it was asked for" in verdicts[name]["findings"][0]["clause"]) == (name == "forced")
