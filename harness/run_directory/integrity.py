"""Is what the run directory holds one whole run? Whatever does not belong to it is named: UNKNOWN.

    before the judgement   manifest, scenario and files agree; every file is of this run and as it was sealed;
                           all times lie within the run
    after it               no send is missing: what was recorded in memory is what the files hold

A run that an older version recorded has neither an id, nor digests, nor counts: what was not recorded is not
checked. A run that has an id must have them all, if it is complete; a killed one as far as it came.
"""

from checkers.errors import MalformedHistory
from checkers.history.rows import Context
from checkers.judgement import Judgement
from harness.errors import HistoryError
from harness.run_directory.agreement import check_agreement, read_scenario
from harness.run_directory.files import check_files
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import Manifest
from harness.run_directory.times import check_times
from harness.scenario.model import Scenario

OF_A_NAMED_RUN = ("scenario_sha256",)
OF_A_COMPLETE_RUN = ("recorded", "files", "sealed_ns", "load_ended_ns")


def check_integrity(run: RunDir, manifest: Manifest, context: Context) -> Scenario:
    """The scenario of the run; HistoryError or MalformedHistory with the file that does not belong to it."""
    _refuse_unrecorded(run, manifest)
    scenario = read_scenario(run, manifest)
    check_agreement(run, manifest, scenario, context)
    check_files(run, manifest)
    check_times(run, manifest)
    return scenario


def _refuse_unrecorded(run: RunDir, manifest: Manifest) -> None:
    """What only older versions did not write must be there."""
    wanted: tuple[str, ...] = OF_A_NAMED_RUN if manifest.run else ()
    if manifest.run and manifest.state == "complete":
        wanted = (*OF_A_NAMED_RUN, *OF_A_COMPLETE_RUN)
    for key in wanted:
        if getattr(manifest, key) is None:
            description = Manifest.model_fields[key].description
            raise HistoryError(f"{run.manifest}: {key}: is missing; it is {description}")


def check_attempts(run: RunDir, manifest: Manifest, judgement: Judgement) -> None:
    """MalformedHistory if a send is missing, or has another outcome than was recorded."""
    if manifest.run is None:
        return
    sends = run.history / "sends"
    for producer, its in judgement.attempts.items():
        if (its.first, its.last + 1) != (0, its.count):
            missing = its.last + 1 - its.count
            raise MalformedHistory(
                sends,
                f"producer {producer} has {its.count} sends, the last of them with sequence {its.last}: "
                f"{missing} missing",
            )
    if manifest.recorded is not None:
        _compare(run, manifest, judgement)


def _compare(run: RunDir, manifest: Manifest, judgement: Judgement) -> None:
    """Counts by producer, then by outcome over all of them."""
    assert manifest.recorded is not None
    sends, recorded = run.history / "sends", manifest.recorded
    found = {producer: its.count for producer, its in judgement.attempts.items()}
    for producer in sorted({*found, *recorded}):
        expected = recorded[producer].attempts if producer in recorded else 0
        if found.get(producer, 0) != expected:
            raise MalformedHistory(
                sends, f"producer {producer} has {found.get(producer, 0)} sends, {expected} were recorded"
            )
    for outcome in ("ok", "fail", "info"):
        held, expected = (
            getattr(judgement.totals, outcome),
            sum(getattr(r, outcome) for r in recorded.values()),
        )
        if held != expected:
            raise MalformedHistory(sends, f"{held} sends are {outcome}, {expected} were recorded")
    if set(recorded) != {producer.producer for producer in manifest.producers}:
        raise HistoryError(f"{run.manifest}: recorded: not the producers that `producers` lists")
