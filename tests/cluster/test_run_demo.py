"""The demonstration, end to end: acknowledged loss under acks=1, none under acks=all; the same from disk."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HIGHWATER = (sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())")
DEMO_S = 400.0
CHECK_S = 120.0


def highwater(*arguments: str, within_s: float) -> tuple[int, Any]:
    """The exit code of the command, and the JSON on its stdout."""
    done = subprocess.run(
        [*HIGHWATER, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False, timeout=within_s
    )
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, Any]:
    """Where the runs are, the exit code, and both verdicts."""
    out = tmp_path_factory.mktemp("runs")
    code, verdicts = highwater(
        "run", "acks1-leader-kill", "acks-all-leader-kill", "--out", str(out), within_s=DEMO_S
    )
    return out, code, verdicts


def test_acks_1_loses_hundreds_of_acknowledged_records_and_acks_all_none(demo: tuple[Path, int, Any]) -> None:
    _, code, (one, every) = demo
    assert (code, one["verdict"], every["verdict"]) == (0, "PASS", "PASS")
    assert one["properties"]["acked-loss"]["permitted"] >= 300
    assert one["properties"]["acked-loss"]["violations"] == 0
    assert one["outcome"].endswith(" acknowledged records, as its contract permits")
    assert every["properties"]["acked-loss"] == {
        "status": "holds",
        "examined": every["exposure"]["acked"],
        "violations": 0,
        "permitted": 0,
        "undecided": 0,
    }
    assert every["outcome"] == f"acks=all lost none of {every['exposure']['acked']:,} acknowledged records"


def test_the_explanation_names_record_time_leader_fault_and_high_watermark(
    demo: tuple[Path, int, Any],
) -> None:
    _, _, (one, _) = demo
    line = one["findings"][0]["line"]
    for word in ("orders-", "record ", "acknowledged at ", "by broker ", "leader epoch 0", "kill"):
        assert word in line
    assert "the high watermark of orders-" in line
    assert "after the fail-over to broker" in line


def test_every_fault_of_both_runs_has_evidence_of_its_effect_and_recovery(
    demo: tuple[Path, int, Any],
) -> None:
    _, _, verdicts = demo
    for verdict in verdicts:
        windows = {window["fault"]: window for window in verdict["exposure"]["fault_windows"]}
        assert set(windows) == {"cut", "kill"}
        assert all(window["proven"] and window["recovered"] for window in windows.values())


def test_check_comes_to_the_same_verdict_again(demo: tuple[Path, int, Any]) -> None:
    out, _, verdicts = demo
    runs = sorted(path for path in out.iterdir() if not path.is_symlink())
    for run, verdict in zip(runs, verdicts, strict=True):
        code, again = highwater("check", str(run), within_s=CHECK_S)
        assert code == 0
        assert again == verdict == json.loads((run / "verdict.json").read_text())


def test_a_run_keeps_the_log_and_the_settings_of_each_node(demo: tuple[Path, int, Any]) -> None:
    out, _, _ = demo
    for node in (1, 2, 3, 101, 102, 103):
        folder = out / "latest" / "nodes" / str(node)
        assert "node.id" in (folder / "server.properties").read_text()
        assert (folder / "server.log").stat().st_size > 0
