"""`highwater check` as a user calls it, with Spark: exit codes, JSON, no traceback whatever is on disk."""

import json
import subprocess
from pathlib import Path

import pytest
from fakes.run.highwater_process import HIGHWATER
from fakes.run.run_directories import make_run

from checkers.history.rows import History, LogRecord, Proof, Send, TopicPartition, Watermark
from checkers.history.tables import Outcome
from harness.cli import main

PLACE = {"topic": "orders", "partition": 0}
RECORD = {**PLACE, "producer": 1, "sequence": 0, "checksum": 7}


def one_record(*, logged: bool) -> History:
    """One acknowledged send, which is in the final log or not."""
    end = int(logged)
    return History(
        partitions=(TopicPartition("orders", 0),),
        sends=[Send(**RECORD, invoked_ns=10, completed_ns=20, outcome=Outcome.OK, offset=0)],
        final_log=[LogRecord(**RECORD, offset=0)] if logged else [],
        proofs=(Proof(**PLACE, log_start=0, high_watermark=end, log_end=end, complete=True),),
        watermarks=(Watermark(**PLACE, at_ns=30, leader=1, leader_epoch=0, high_watermark=1),),
    )


def test_a_lost_record_is_a_fail_with_its_finding_in_the_json(tmp_path: Path) -> None:
    """With an empty proven log, offset 0 is behind its end: lost, not undecided."""
    make_run(tmp_path, one_record(logged=False))
    command = [*HIGHWATER, "check", str(tmp_path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr, document["verdict"]) == (1, "", "FAIL")
    assert document["findings"][0]["counts"]["acked-loss"] == 1


@pytest.mark.parametrize(("damage", "code"), [("truncate", 3), ("manifest", 3), ("empty", 2)])
def test_a_directory_that_cannot_be_judged_is_never_green(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str, code: int
) -> None:
    """No Spark is needed to find that out, and so no process of its own."""
    if damage != "empty":
        run = make_run(tmp_path, one_record(logged=True))
        path = run.manifest if damage == "manifest" else run.history / "sends" / "orders-0.parquet"
        path.write_bytes(path.read_bytes()[:-9])
    assert main(["check", str(tmp_path)]) == code
    said = "".join(capsys.readouterr())
    assert str(tmp_path) in said
    assert "Traceback" not in said
