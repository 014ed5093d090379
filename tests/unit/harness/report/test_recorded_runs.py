"""Runs that an earlier version recorded on real clusters, in schema 1, keep the verdicts that they got."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from fakes.run_directories import reference

from harness.report.judge import judge
from harness.run_directory.layout import RunDir

RECORDED = Path(__file__).parents[3] / "fixtures" / "runs-of-schema-1"
COUNTS = ("examined", "violations", "permitted", "undecided")
COUNTED_OTHERWISE = {("hw-loss", "examined")}
"""Then every ack with an offset, now what a read or a sample shows to have been below the high watermark."""
FINDING = (
    "label",
    "clause",
    "topic",
    "partition",
    "leader_epoch",
    "first_offset",
    "last_offset",
    "records",
    "counts",
)


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
        "findings": [{key: finding[key] for key in FINDING} for finding in document["findings"]],
        "exposure": exposure,
    }


@pytest.mark.parametrize(
    ("name", "lost", "findings"),
    [("acks1-leader-kill", 190, 2), ("power-failure-all", 1130, 6), ("storm", 0, 0)],
)
def test_a_recorded_run_keeps_its_verdict(tmp_path: Path, name: str, lost: int, findings: int) -> None:
    """`verdict.json` beside each run was written by the version that recorded it."""
    shutil.copytree(RECORDED / name, tmp_path / name)
    now = judge(RunDir(path=tmp_path / name), reference).as_json()
    then = json.loads((RECORDED / name / "verdict.json").read_text())
    assert essence(now, then["exposure"]) == essence(then, then["exposure"])
    assert (now["properties"]["acked-loss"]["permitted"], now["findings_total"]) == (lost, findings)
    for each, result in then["properties"].items():
        of_others = [key for key in COUNTS if (each, key) not in COUNTED_OTHERWISE]
        assert {key: now["properties"][each][key] for key in of_others} == {
            key: result[key] for key in of_others
        }
