"""Bounds that nothing can keep."""

import pytest
from fakes.run.refusals import complaints

from harness.scenario.rules import workload


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (
            "acked.count >= 10, acked.count < 5",
            "demo.yaml:5:29: accept[1]: 'acked.count < 5' and 'acked.count >= 10' cannot both hold",
        ),
        (
            "acked.count > 4, acked.count < 5",
            "demo.yaml:5:27: accept[1]: 'acked.count < 5' and 'acked.count > 4' cannot both hold",
        ),
        (
            "unavailable.max < 20s, unavailable.max >= 20s",
            "demo.yaml:5:33: accept[1]: 'unavailable.max >= 20s' and 'unavailable.max < 20s' "
            "cannot both hold",
        ),
        (
            "failed.ratio >= 0.6, indeterminate.ratio > 0.4",
            "demo.yaml:5:31: accept[1]: 'indeterminate.ratio > 0.4' and 'failed.ratio >= 0.6' cannot both "
            "hold",
        ),
    ],
)
def test_lines_that_exclude_each_other_are_refused(lines: str, complaint: str) -> None:
    assert complaints(rest=f"accept: [{lines}]\n") == (complaint,)


@pytest.mark.parametrize(
    "lines",
    [
        "acked.count >= 10, acked.count <= 10",
        "acked.count > 4, acked.count <= 5",
        "unavailable.max < 20s, unavailable.max > 19s",
        "unavailable.max < 20s, unavailable.max < 10s",
        "failed.ratio >= 0.6, indeterminate.ratio >= 0.4",
        "failed.ratio >= 0.6, indeterminate.ratio <= 0.1",
        "acked.count >= 10, failed.ratio > 0.5",
    ],
)
def test_lines_that_can_hold_together_are_not(lines: str) -> None:
    assert complaints(rest=f"accept: [{lines}]\n") == ()


@pytest.mark.parametrize(
    ("workload", "rest", "complaint"),
    [
        (
            "",
            "settle: {full_isr: 0s}",
            "demo.yaml:5:20: settle.full_isr: 0s is refused; allowed: more than 0s, at most 31536000s",
        ),
        (
            "",
            "settle: {final_read: 0s}",
            "demo.yaml:5:22: settle.final_read: 0s is refused; allowed: more than 0s, at most 31536000s",
        ),
        (
            "delivery_timeout: 0s",
            "",
            "demo.yaml:4:30: workload.delivery_timeout: 0s is refused; allowed: more than 0s, "
            "at most 2147483.647s",
        ),
        (
            "delivery_timeout: 600h",
            "",
            "demo.yaml:4:30: workload.delivery_timeout: 2160000s is refused; allowed: more than 0s, "
            "at most 2147483.647s",
        ),
        (
            "lasts: 9000h, rate: max",
            "",
            "demo.yaml:4:19: workload.lasts: 32400000s is refused; allowed: at most 31536000s",
        ),
    ],
)
def test_a_time_in_which_nothing_can_happen_or_without_end_is_refused(
    workload: str, rest: str, complaint: str
) -> None:
    assert complaints(workload=workload, rest=rest) == (complaint,)


def test_a_schedule_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert workload.MOST_STEPS == 10_000
    monkeypatch.setattr(workload, "MOST_STEPS", 20)
    steps = "faults:\n" + "  - {at: 1s, do: kill, target: leader, for: 3s}\n" * 21
    assert complaints(rest=steps) == ("demo.yaml:6:3: faults: 21 steps are too many; allowed: at most 20",)
    assert complaints(rest=steps.removesuffix("  - {at: 1s, do: kill, target: leader, for: 3s}\n")) == ()
    assert complaints(rest="storm: {duration: 13h}") == (
        "demo.yaml:5:19: storm.duration: '46800s' is refused; allowed: at most 28333.3s, or longer holds and "
        "gaps",
    )
