"""The shipped scenarios: each is valid, says what it is for, and is found by its group and its tags."""

import json
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import UsageError
from harness.scenario.catalogue import catalogue, listing
from harness.scenario.load.load_size import schedule_s
from harness.scenario.resolve import SHIPPED, find, resolve, shipped

GROUPS = {
    "administration": [
        "acks-all-planned-move-behind",
        "acks1-planned-move",
        "acks1-planned-move-behind",
        "acks1-reassignment",
        "min-isr-lowered",
        "min-isr-lowered-without-leader",
        "reassign-without-leader",
    ],
    "disk": [
        "disk-full",
        "disk-full-all",
        "last-leader-disk-loss",
        "last-leader-disk-loss-elr",
        "last-leader-disk-loss-elr-off",
        "last-leader-disk-loss-unclean",
        "log-dir-failure",
        "stalled-leader-disk",
        "stuttering-follower-disk",
    ],
    "general": ["baseline", "storm"],
    "leader-failure": [
        "acks-all-leader-kill",
        "acks0-leader-kill",
        "acks1-leader-kill",
        "back-to-back-leader-kills",
        "back-to-back-leader-kills-min-isr-1",
        "client-cut-leader-kill",
        "leader-bounce",
    ],
    "network": [
        "isolated-from-controllers-acks-all",
        "isolated-from-controllers-acks1",
        "one-way-follower-fetch",
        "zombie-leader-acks-all",
        "zombie-leader-acks1",
    ],
    "power": ["kill-all-brokers", "power-failure-all", "power-failure-all-flushed", "power-failure-one"],
    "in-sync-replicas": [
        "elr-switched-off",
        "isr-thrashing",
        "last-known-elr",
        "last-replica-standing-elr-off",
        "last-replica-standing-elr-on",
        "slow-leader-elr",
        "slow-leader-offline",
        "slow-leader-unclean",
        "unclean-election",
        "unclean-election-slow-followers",
    ],
    "availability": [
        "isr-below-min",
        "majority-freeze",
        "min-isr-equals-replicas",
        "starved-leader",
        "two-replicas-min-isr-1",
        "two-replicas-min-isr-2",
    ],
    "clocks": [
        "clock-ahead",
        "clock-behind",
        "clock-beyond-retention",
        "controller-clock-ahead",
        "controllers-clocks-ahead",
    ],
    "controllers": ["quorum-loss", "quorum-loss-follower-kill", "quorum-loss-leader-kill"],
    "restarts": ["acks1-rolling-restart", "rolling-kill", "rolling-restart", "rolling-restart-impatient"],
    "transactions": [
        "coordinator-isolated",
        "coordinator-isolated-tv1",
        "coordinator-kill",
        "coordinator-kill-tv1",
        "zombie-producer-fenced",
        "zombie-producer-fenced-tv1",
    ],
    "upgrades": ["rolling-downgrade", "rolling-upgrade"],
}
LONGEST_S = 75.0
"""Of a schedule, so that a run with its cluster's start takes about a minute and a half at most."""


def test_the_shipped_scenarios_are_these_in_these_groups() -> None:
    found: dict[str, list[str]] = {}
    for entry in catalogue():
        found.setdefault(entry.group, []).append(entry.name)
    assert found == GROUPS
    assert len({path.stem for path in SHIPPED.rglob("*.yaml")}) == len(list(SHIPPED.rglob("*.yaml")))


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_scenario_is_valid_says_what_it_shows_and_requires_its_evidence(name: str) -> None:
    resolved = resolve(*find(name), seed=1)
    scenario = resolved.scenario
    (file,) = SHIPPED.rglob(f"{name}.yaml")
    assert (scenario.name, scenario.tags[0]) == (name, file.parent.name)
    assert scenario.about.endswith(".")
    assert len(scenario.shows) > 200
    assert scenario.require
    assert ("loss" in scenario.tags) is (scenario.expect.acked_loss == "permitted")
    assert schedule_s(resolved.steps, scenario) <= LONGEST_S


PAIRS = [
    ("acks1-leader-kill", "acks-all-leader-kill"),
    ("zombie-leader-acks1", "zombie-leader-acks-all"),
    ("isolated-from-controllers-acks1", "isolated-from-controllers-acks-all"),
    ("last-replica-standing-elr-off", "last-replica-standing-elr-on"),
    ("power-failure-all", "power-failure-all-flushed"),
    ("slow-leader-offline", "slow-leader-elr"),
    ("slow-leader-offline", "slow-leader-unclean"),
    ("back-to-back-leader-kills", "back-to-back-leader-kills-min-isr-1"),
    ("acks1-planned-move-behind", "acks-all-planned-move-behind"),
    ("acks1-rolling-restart", "rolling-restart"),
    ("last-leader-disk-loss", "last-leader-disk-loss-unclean"),
    ("last-leader-disk-loss", "last-leader-disk-loss-elr"),
    ("last-leader-disk-loss-elr", "last-leader-disk-loss-elr-off"),
    ("coordinator-kill", "coordinator-kill-tv1"),
    ("coordinator-isolated", "coordinator-isolated-tv1"),
    ("zombie-producer-fenced", "zombie-producer-fenced-tv1"),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_scenarios_that_are_compared_have_the_same_schedule(one: str, other: str) -> None:
    assert resolve(*find(one), seed=1).steps == resolve(*find(other), seed=1).steps


def test_tags_together_narrow_the_list() -> None:
    both = {entry.name for entry in catalogue(["network", "acks-1"])}
    assert both == {
        "acks1-leader-kill",
        "acks1-planned-move-behind",
        "isolated-from-controllers-acks1",
        "zombie-leader-acks1",
    }
    assert {entry.group for entry in catalogue(["network"])} >= {"network", "leader-failure", "general"}


def test_a_tag_that_no_scenario_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError) as refused:
        catalogue(["netwrok"])
    assert str(refused.value).startswith("tag: unknown 'netwrok'; did you mean network? allowed: acks-0, ")


def test_the_list_has_a_heading_for_each_group() -> None:
    assert list(listing(catalogue(["controllers", "network"]))) == [
        "network",
        "  isolated-from-controllers-acks-all  acked loss expected: none       The schedule of "
        "isolated-from-controllers-acks1 with acks=all. The followers leave the fenced leader for its "
        "successor, so it acknowledges nothing more, and nothing acknowledged is lost.",
        "  isolated-from-controllers-acks1     acked loss expected: permitted  A leader reaches clients and "
        "brokers, but no controller: it is fenced and deposed while it serves. With acks=1 it goes on "
        "acknowledging what its successor never gets. A run that sees no loss has shown nothing.",
        "",
        "tags: acks-1, acks-all, controllers, loss, network",
    ]
    *headings, tags = [line for line in listing(catalogue()) if line and not line.startswith(" ")]
    assert headings == sorted(GROUPS)
    assert tags.startswith("tags: acks-0, acks-1, acks-all, ")


def test_the_command_lists_by_tag_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "list", "--tag", "restarts"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "restarts"
    assert main(["scenario", "list", "--tag", "restarts", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in entries] == GROUPS["restarts"]
    assert entries[2]["require"] == ["brokers.restarted >= 3", "elections.max >= 1"]
    assert main(["scenario", "list", "--tag", "nothing"]) == 2


def test_a_scenario_without_tags_is_listed_with_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bare.yaml").write_text("name: bare\ntopics: [{name: t}]\n")
    monkeypatch.setattr("harness.scenario.resolve.SHIPPED", tmp_path)
    assert [(entry.group, entry.name) for entry in catalogue()] == [("others", "bare")]
