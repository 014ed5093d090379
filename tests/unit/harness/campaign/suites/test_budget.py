"""Whether one more run fits, and how long a schedule is expected to take."""

import pytest

from harness.campaign.suites.budget import Budget, expected_s, schedule_s
from harness.scenario.resolve import resolve


@pytest.mark.parametrize(
    ("spent_s", "takes_s", "is_first", "fits"),
    [(0, 500, True, True), (0, 500, False, False), (30, 30, False, True), (31, 30, False, False)],
)
def test_a_run_begins_if_it_will_end_in_time_and_the_first_one_always(
    spent_s: float, takes_s: float, is_first: bool, fits: bool
) -> None:
    assert Budget(total_s=60, spent_s=spent_s).has_room(takes_s, is_first=is_first) == fits


def test_a_run_takes_what_the_longest_of_its_scenario_took_or_its_schedule_and_a_start() -> None:
    assert expected_s([41.0, 44.5, 43.0], 10.0) == 44.5
    assert expected_s([], 10.0) == 35.0


@pytest.mark.parametrize(
    ("faults", "lasts_s"),
    [
        ("", 4.0),
        ("faults: [{name: k, at: 6s, do: kill, target: leader, for: 5s}]", 13.0),
        (
            "faults: [{name: c, at: 6s, do: partition, edges: followers -> leader, mode: refuse, for: 5s},"
            " {after: c.begin + 2s, do: kill, target: leader, for: 6s}]",
            16.0,
        ),
        (
            "faults: [{name: k, at: 1s, do: kill, target: leader, for: 3s},"
            " {after: k.end + 2s, do: kill, target: leader, for: 4s}]",
            12.0,
        ),
        (
            "faults: [{at: 1s, do: kill, target: leader, for: 3s, repeat: {every: 10s, times: 3}}]",
            26.0,
        ),
        (
            "faults: [{at: 1s, then: end + 2s, sequence: [{do: kill, target: leader, for: 3s},"
            " {do: kill, target: leader, for: 4s}]}]",
            12.0,
        ),
        (
            "faults: [{name: k, at: 1s, do: kill, target: leader, for: 3s},"
            " {name: l, at: 1s, do: kill, target: leader, for: 5s},"
            " {after: 'any(k.end, l.end)', do: kill, target: leader, for: 3s},"
            " {when: leader.changed, since: l.end, do: kill, target: leader, for: 2s}]",
            10.0,
        ),
    ],
)
def test_a_schedule_lasts_until_its_last_hold_and_the_load_after_it(faults: str, lasts_s: float) -> None:
    text = f"name: demo\ntopics: [{{name: orders}}]\nworkload: {{lasts: 4s, tail: 2s}}\n{faults}\n"
    its = resolve(text, "demo.yaml", seed=1)
    assert schedule_s(its.steps, its.scenario.workload) == lasts_s
