"""Wrong clocks in runs as a user makes them: what they lose is what retention deletes, and nothing else.

The last run is that of clock-beyond-retention with a clock that is not so far ahead: it loses nothing.
"""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fakes.run.highwater_process import highwater, verdict

from checkers.history.load import load_context
from harness.scenario.resolve import find

BEYOND = "clock-beyond-retention"
SCENARIOS = ("clock-ahead", "clock-behind", "controller-clock-ahead", "controllers-clocks-ahead", BEYOND)
WITHIN = "clock-within-retention"
RUNS_S = 1500.0
AHEAD_MS = 300_000


def within_retention() -> str:
    """The schedule of clock-beyond-retention, six days ahead, of which it loses nothing."""
    text, _ = find(BEYOND)
    for old, new in (
        (f"name: {BEYOND}\n", f"name: {WITHIN}\n"),
        ("offset: +8d", "offset: +6d"),
        ("acked_loss: permitted", "acked_loss: none"),
        ("clocks.apart >= 190h, log-start.moved >= 1", "clocks.apart >= 143h"),
        ("acks-all, loss]", "acks-all]"),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The run directory of each, all run by one command, with the verdict PASS."""
    within = tmp_path_factory.mktemp("scenarios") / f"{WITHIN}.yaml"
    within.write_text(within_retention())
    out = tmp_path_factory.mktemp("runs")
    names = (*SCENARIOS, str(within))
    code, verdicts = highwater("run", *names, "--seed", "7", "--out", str(out), within_s=RUNS_S)
    shown = json.dumps(verdicts, indent=1)
    assert (code, [verdict["verdict"] for verdict in verdicts]) == (0, ["PASS"] * len(names)), shown
    folders = sorted(path for path in out.iterdir() if not path.is_symlink())
    return dict(zip((*SCENARIOS, WITHIN), folders, strict=True))


def written_ms(run: Path) -> list[int]:
    """The dates of the metadata log's states, as their controllers wrote them."""
    return [row["at_ms"] for row in pq.read_table(run / "history" / "metadata.parquet").to_pylist()]


@pytest.mark.parametrize("name", [*SCENARIOS, WITHIN])
def test_each_clock_was_seen_to_be_wrong_and_to_be_right_again(runs: dict[str, Path], name: str) -> None:
    windows = verdict(runs[name])["exposure"]["fault_windows"]
    assert "clock-skew" in {window["kind"] for window in windows}
    assert all(window["proven"] and window["recovered"] for window in windows)
    assert [line["holds"] for line in verdict(runs[name])["require"]] == [True] * len(
        verdict(runs[name])["require"]
    )


@pytest.mark.parametrize("name", [*SCENARIOS[:-1], WITHIN])
def test_a_clock_that_is_within_retention_loses_nothing(runs: dict[str, Path], name: str) -> None:
    found = verdict(runs[name])
    assert found["findings"] == []
    assert found["outcome"] == f"acks=all lost none of {found['exposure']['acked']:,} acknowledged records"


def test_a_clock_beyond_retention_deletes_what_all_replicas_had(runs: dict[str, Path]) -> None:
    found = verdict(runs[BEYOND])
    loss = found["properties"]["acked-loss"]
    assert loss["permitted"] >= 1000
    assert (loss["violations"], loss["undecided_anomalies"]) == (0, 0)
    finding = found["findings"][0]
    assert finding["clause"].startswith("deleted by retention: the clock of broker ")
    assert finding["clause"].endswith(" was 8 days ahead, by which it was older than retention.ms (7 days)")


def test_elections_stand_where_they_were_whatever_their_controllers_dated(runs: dict[str, Path]) -> None:
    """Of the wrong dates some are minutes after the others; as the verdict reads them none is."""
    run = runs["controllers-clocks-ahead"]
    raw, read = written_ms(run), [row.at_ms for row in load_context(run / "history").metadata]
    assert max(raw) - min(raw) > AHEAD_MS
    assert max(read) - min(read) < AHEAD_MS
    assert read == sorted(read)
