"""Whether one more run fits."""

import pytest

from harness.campaign.suites.budget import Budget, expected_s


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
