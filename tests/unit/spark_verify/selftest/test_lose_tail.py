"""The history of the bench that has lost its tail: every acknowledged record that is gone is permitted."""

from pathlib import Path

from checkers.contract.judge_contract import judge_contract
from checkers.history.load import load
from checkers.reference import check
from spark_verify.selftest.lose_tail import realised, write_cut_history


def test_what_a_power_cut_of_all_took_is_permitted(tmp_path: Path) -> None:
    cuts = write_cut_history(tmp_path, lost=300)
    anomalies = check(load(tmp_path)).anomalies
    lost = [each for each in anomalies if each.property == "acked-loss"]
    assert len(lost) == sum(cut.lost_acks for cut in cuts) >= 300
    labels = judge_contract(anomalies, realised(tmp_path))
    assert {label.kind for label in labels} == {"permitted"}
    assert {label.cause for label in labels} == {"power loss of all in-sync replicas"}
