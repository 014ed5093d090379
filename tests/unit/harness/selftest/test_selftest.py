"""The self-test of a small run: which mutants its verdict kills, and what becomes of one that it does not."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.run.evidence import whole_history, whole_run
from fakes.run.run_directories import reference

from checkers.anomalies import Anomalies
from checkers.history.tables import unit_path
from checkers.judgement import Judgement
from checkers.properties import Property
from checkers.verdict.algebra import Verdict
from harness.cli import main
from harness.errors import UsageError
from harness.report.judge import judge
from harness.run.live import verifier
from harness.run_directory.digests import files_of, sha256_of
from harness.run_directory.layout import RunDir
from harness.selftest.damaged_copy import NotApplicable
from harness.selftest.documentation import PAGE, rewritten
from harness.selftest.judge_mutant import Result
from harness.selftest.kill_table import WIDTH, heading, row, summary
from harness.selftest.mutant import family
from harness.selftest.mutants import transactions
from harness.selftest.mutants.every import MUTANTS, named
from harness.selftest.selftest import SelfTest

NOT_IN_THIS_RUN = {
    *(mutant.name for mutant in transactions.MUTANTS),
    *("lose-transactions", "lose-fencings", "lose-transaction-reads", "lose-markers", "lose-coordinators"),
    "move-record",
    "swap-records",
    "resurrect-lost-record",
    "other-epoch",
    "send-to-another-partition",
    "forge-snapshot",
    "unprove-fault",
    "unheal-fault",
    "drop-fault",
    "invent-fault",
    "misdate-fault",
    "call-shutdown-clean",
    "call-shutdown-unclean",
    "call-end-unplanned",
    "drop-end-of-process",
    "forget-partition",
    "forget-schedule",
    "mix-in-partition",
    "mix-in-final-read",
    "mix-in-disk",
}
"""It has one partition, one producer, no fault, no loss and no transaction."""


def without(*forgotten: Property):
    """A verifier that has forgotten these properties."""

    def verify(history: Path) -> Judgement:
        found = reference(history)
        kept = [block for block in found.anomalies.blocks if block.property not in forgotten]
        return replace(found, anomalies=Anomalies(kept))

    return verify


def results(run: RunDir, *names: str, verify=reference) -> dict[str, Result]:
    return {result.mutant.name: result for result in SelfTest(run, verify, named(names))}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """What becomes of every mutant of the whole run."""
    return results(whole_run(tmp_path_factory.mktemp("whole")))


def test_the_undamaged_run_passes(tmp_path: Path) -> None:
    report = judge(whole_run(tmp_path), reference)
    assert (report.verdict, report.outcome) == (
        Verdict.PASS,
        "acks=all lost none of 12 acknowledged records",
    )


def test_every_mutant_that_applies_is_killed(found: dict[str, Result]) -> None:
    assert {name for name, result in found.items() if not result.applied} == NOT_IN_THIS_RUN
    assert [name for name, result in found.items() if result.survived] == []
    assert len(found) == len(MUTANTS)


@pytest.mark.parametrize(
    ("mutant", "verdict", "by"),
    [
        ("drop-record", Verdict.FAIL, "acked-loss"),
        ("corrupt-record", Verdict.FAIL, "content"),
        ("duplicate-record", Verdict.FAIL, "duplicate"),
        ("deny-record", Verdict.FAIL, "resurrected"),
        ("read-early", Verdict.FAIL, "early-read"),
        ("truncate-replica", Verdict.FAIL, "divergence"),
        ("drop-metadata-record", Verdict.FAIL, "epoch-step"),
        ("forge-election-of-a-stranger", Verdict.FAIL, "leader-legal"),
        ("hide-attempt", Verdict.UNKNOWN, "history/sends: producer 1 has 11 sends"),
        ("mix-in-file", Verdict.UNKNOWN, "history/reads/orders-0.parquet: of run 00000000-"),
        (
            "lose-replica",
            Verdict.UNKNOWN,
            "replicas were not read: orders-0 on broker 3",
        ),
        ("weaken-acks", Verdict.UNKNOWN, "producers: producer 1 has (acks, idempotence) ('all', True)"),
    ],
)
def test_a_mutant_is_killed_by_what_it_damages(
    found: dict[str, Result], mutant: str, verdict: Verdict, by: str
) -> None:
    result = found[mutant]
    assert result.verdict is verdict
    assert any(reason.sentence.startswith(by) for reason in result.reasons), result.reasons


def test_a_forgotten_rule_lets_a_mutant_survive(tmp_path: Path) -> None:
    weak = results(whole_run(tmp_path), "corrupt-record", verify=without(Property.CONTENT))
    assert weak["corrupt-record"].survived
    assert weak["corrupt-record"].verdict is Verdict.PASS


def test_only_a_reason_that_the_run_does_not_have_kills(tmp_path: Path) -> None:
    """The run is UNKNOWN already, for want of one broker's log."""
    rows = whole_history()
    unread = [replace(each, complete=each.broker != 3, reason="torn") for each in rows.replicas]
    run = whole_run(tmp_path, replace(rows, replicas=unread))
    assert judge(run, reference).verdict is Verdict.UNKNOWN
    strong = results(run, "corrupt-record")["corrupt-record"]
    weak = results(run, "corrupt-record", verify=without(Property.CONTENT))["corrupt-record"]
    assert (strong.killed, weak.verdict, weak.survived) == (True, Verdict.UNKNOWN, True)


def test_a_run_that_fails_already_is_refused(tmp_path: Path) -> None:
    rows = whole_history()
    run = whole_run(tmp_path, replace(rows, final_log=rows.final_log[:-1]))
    with pytest.raises(UsageError, match="is FAIL already"):
        SelfTest(run, reference, MUTANTS)


def test_a_judgement_that_crashes_kills_nothing(tmp_path: Path) -> None:
    run = whole_run(tmp_path)

    def verify(history: Path) -> Judgement:
        if history == run.history:
            return reference(history)
        raise KeyError("outcome")

    result = results(run, "corrupt-record", verify=verify)["corrupt-record"]
    assert (result.survived, result.crash) == (True, "KeyError: 'outcome'")
    assert row(result) == f"  {'corrupt-record':<30}CRASHED  KeyError: 'outcome'"


def test_the_run_is_not_changed(tmp_path: Path) -> None:
    run = whole_run(tmp_path)
    before = {name: sha256_of(path) for name, path in files_of(run.path).items()}
    text = run.manifest.read_text() + run.scenario.read_text()
    results(run, "drop-record", "flip-byte-of-file", "lose-clocks", "drop-batch", "weaken-acks")
    assert {name: sha256_of(path) for name, path in files_of(run.path).items()} == before
    assert run.manifest.read_text() + run.scenario.read_text() == text


def test_a_mutant_that_does_not_apply_is_neither_killed_nor_survived(tmp_path: Path) -> None:
    def nothing_there(_: object) -> None:
        """Nothing is there."""
        raise NotApplicable("no fault")

    (result,) = SelfTest(whole_run(tmp_path), reference, family("faults", nothing_there))
    assert (result.applied, result.killed, result.survived) == (False, False, False)
    assert row(result) == f"  {'nothing-there':<30}–        no fault"


def test_a_damage_that_changes_nothing_survives(tmp_path: Path) -> None:
    def damage_nothing(_: object) -> None:
        """Nothing is changed."""

    test = SelfTest(whole_run(tmp_path), reference, family("none", damage_nothing))
    found = list(test)
    assert row(found[0]) == f"  {'damage-nothing':<30}SURVIVED Nothing is changed."
    assert summary(found, 1.0) == (
        "0 of 1 mutants killed, in 1 s; 1 survived: the verdict is wrong on these\n"
        "  - damage-nothing: Nothing is changed."
    )


def test_the_table_fits_into_80_columns(tmp_path: Path) -> None:
    test = SelfTest(whole_run(tmp_path), reference, named(["mix-in-file", "lose-replica", "drop-record"]))
    lines = [*heading(test.report, 132).splitlines(), *map(row, test)]
    assert max(map(len, lines)) == WIDTH == 80


@contextmanager
def in_place_of_spark(verify) -> Iterator[object]:
    class Session:
        def begin(self) -> None:
            """Nothing to start."""

        def verify_all(self, histories: Sequence[Path]) -> list[Judgement]:
            return [verify(history) for history in histories]

    yield Session()


@pytest.mark.parametrize(("verify", "code"), [(reference, 0), (without(Property.CONTENT), 1)])
def test_the_exit_code_of_the_command_is_1_if_a_mutant_survives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verify, code: int
) -> None:
    monkeypatch.setattr(verifier, "spark_verifier", lambda _: in_place_of_spark(verify))
    run = whole_run(tmp_path)
    mutants = ("--only", "corrupt-record", "--only", "drop-record", "--only", "reuse-offset")
    assert main(["selftest", str(run.path), *mutants]) == code
    lines = capsys.readouterr().out.splitlines()
    of_content = ("FAIL     content", "SURVIVED A record has another content than what…")[code]
    assert lines[4:8] == [
        "records",
        f"  {'drop-record':<30}FAIL     acked-loss, hw-loss, offset-gap",
        f"  {'reuse-offset':<30}UNKNOWN  history/final_log/orders-0.parquet: of…",
        f"  {'corrupt-record':<30}{of_content}",
    ]


def test_where_no_damage_applies_nothing_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The load of this run has no transactions."""
    monkeypatch.setattr(verifier, "spark_verifier", lambda _: in_place_of_spark(reference))
    assert main(["selftest", str(whole_run(tmp_path).path), "--only", "turn-marker"]) == 3
    printed = capsys.readouterr()
    assert "0 of 0 mutants killed, 1 do not apply to this run" in printed.out
    assert printed.err == "highwater: none of these damages applies to this run: nothing is shown\n"


def test_json_names_the_survivors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verifier, "spark_verifier", lambda _: in_place_of_spark(without(Property.CONTENT)))
    assert main(["selftest", str(whole_run(tmp_path).path), "--only", "corrupt-record", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["survivors"]) == ("PASS", ["corrupt-record"])
    assert document["mutants"][0]["status"] == "SURVIVED"


def test_an_unknown_mutant_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", str(whole_run(tmp_path).path), "--only", "eat-record"]) == 2
    assert capsys.readouterr().err.startswith(
        "highwater: mutant: unknown 'eat-record'; allowed: drop-record,"
    )


def test_no_two_mutants_have_one_name_and_each_says_what_it_does() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert all(mutant.about.endswith(".") for mutant in MUTANTS)


def test_the_page_lists_the_mutants_as_they_are() -> None:
    """`python -m harness.selftest.documentation` writes them."""
    page = PAGE.read_text(encoding="utf-8")
    assert rewritten(page) == page


def test_a_file_that_is_gone_is_a_link_no_more(tmp_path: Path) -> None:
    """Otherwise a copy would share what it damages with the run."""
    run = whole_run(tmp_path)
    path = unit_path(run.history, "sends", "orders", 0)
    assert not path.is_symlink()
    results(run, "empty-file", "truncate-file")
    assert path.stat().st_size > 0


def test_the_readme_says_in_how_many_ways_a_run_is_damaged_to_ten() -> None:
    readme = (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    (ways,) = re.findall(r"damages copies of it in (\d+) ways", readme)
    assert int(ways) == len(MUTANTS) // 10 * 10
