"""Runs that an earlier version recorded on real clusters, in schema 1, keep the verdicts that they got."""

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fakes.run.run_directories import reference

from harness.report.judge import judge
from harness.run_directory.layout import RunDir

RECORDED = Path(__file__).parents[3] / "fixtures" / "runs-of-schema-1"
LATER = ("hw-monotone",)
"""Properties that later versions decide, and that are part of a finding of a recorded run."""
COUNTS = ("examined", "violations", "permitted", "undecided")
FINDING = ("label", "topic", "partition", "leader_epoch", "first_offset", "last_offset", "records", "counts")
COUNTED_OTHERWISE = {("hw-loss", "examined")}
"""Then every ack with an offset, now what a read or a sample shows to have been below the high watermark."""


Judged = Callable[[str], dict[str, Any]]


def essence(document: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """What a verdict says, without the words it uses for a finding, later properties and other figures."""
    exposure = {key: document["exposure"][key] for key in figures}
    windows = zip(exposure["fault_windows"], figures["fault_windows"], strict=True)
    exposure["fault_windows"] = [{key: window[key] for key in known} for window, known in windows]
    return {
        "verdict": document["verdict"],
        "outcome": document["outcome"],
        "reasons": document["reasons"],
        "findings_total": document["findings_total"],
        "findings": [
            {key: _without_later(finding[key]) for key in FINDING} for finding in document["findings"]
        ],
        "exposure": exposure,
    }


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """The verdict of today on a recorded run."""
    folder = tmp_path_factory.mktemp("recorded")

    @cache
    def verdict_on(name: str) -> dict[str, Any]:
        shutil.copytree(RECORDED / name, folder / name)
        return judge(RunDir(path=folder / name), reference).as_json()

    return verdict_on


def _without_later(value: Any) -> Any:
    """A finding's counts without those of the properties that later versions decide."""
    return {each: n for each, n in value.items() if each not in LATER} if isinstance(value, dict) else value


@pytest.mark.parametrize(("name", "lost", "findings"), [("acks1-leader-kill", 190, 2), ("storm", 0, 0)])
def test_a_recorded_run_keeps_its_verdict(judged: Judged, name: str, lost: int, findings: int) -> None:
    """`verdict.json` beside each run was written by the version that recorded it."""
    now = judged(name)
    then = json.loads((RECORDED / name / "verdict.json").read_text())
    assert essence(now, then["exposure"]) == essence(then, then["exposure"])
    assert (now["properties"]["acked-loss"]["permitted"], now["findings_total"]) == (lost, findings)
    fell = [finding["counts"].get("hw-monotone", 0) for finding in now["findings"]]
    assert fell == ([1] * 6 if name == "power-failure-all" else [0] * findings)
    for each, result in then["properties"].items():
        of_others = [key for key in COUNTS if (each, key) not in COUNTED_OTHERWISE]
        assert {key: now["properties"][each][key] for key in of_others} == {
            key: result[key] for key in of_others
        }


def test_a_power_loss_whose_log_ends_were_not_recorded_is_undecided_now(judged: Judged) -> None:
    """Schema 1 does not have how far a disk reached before and after."""
    now = judged("power-failure-all")
    assert now["verdict"] == "UNKNOWN"
    assert {finding["label"] for finding in now["findings"]} == {"undecided"}
    assert sum(finding["counts"]["acked-loss"] for finding in now["findings"]) == 1130
    assert all("reached after its power cut" in finding["clause"] for finding in now["findings"])


def test_what_schema_1_has_no_table_for_is_not_decided(judged: Judged) -> None:
    """Its runs had no audit of replicas, and only the partitions of the metadata log."""
    properties = judged("acks1-leader-kill")["properties"]
    replicas = ("divergence", "epoch-monotone", "log-matching", "crc", "checkpoint-sane", "sequence-dense")
    for each in (*replicas, "one-leader"):
        assert (properties[each]["status"], properties[each]["reason"]) == (
            "not decided",
            "not collected: log files of every replica",
        )
    assert {each: properties[each]["reason"] for each in ("ack-contract", "leader-legal", "fenced-out")} == {
        "ack-contract": "not collected: settings of topics, in the metadata log and as reported, "
        "settings of the producers, readings of the clocks",
        "leader-legal": "not collected: broker registrations in the metadata log, "
        "settings of topics, in the metadata log and as reported",
        "fenced-out": "not collected: broker registrations in the metadata log",
    }
    assert properties["epoch-step"]["status"] == "holds"
    assert properties["acked-loss"]["status"] == "permitted"
