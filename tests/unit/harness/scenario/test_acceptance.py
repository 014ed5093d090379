import pytest

from harness.scenario.acceptance import parse_bound


@pytest.mark.parametrize(
    ("line", "value", "holds"),
    [
        ("unavailable.max <= 20s", 20.0, True),
        ("unavailable.max <= 20s", 20.1, False),
        ("unavailable.max < 500ms", 0.5, False),
        ("indeterminate.ratio < 0.05", 0.04, True),
        ("acked.count >= 1000", 999.0, False),
        ("acked.count > 1000", 1001.0, True),
    ],
)
def test_an_acceptance_line_bounds_one_metric(line: str, value: float, holds: bool) -> None:
    assert parse_bound(line).holds(value) is holds


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("unavailable.max", "not an acceptance line: 'unavailable.max'; write METRIC <= BOUND, as in"),
        ("availability > 3s", "unknown metric 'availability'; allowed: unavailable.max, indeterminate.ratio"),
        ("unavailable.max <= 20", "not a duration: '20'; allowed: a duration with its unit"),
        ("acked.count > many", "not a number: 'many', the bound of acked.count"),
        ("acked.count > nan", "not a number: 'nan', the bound of acked.count"),
        ("acked.count > inf", "not a number: 'inf', the bound of acked.count"),
        ("acked.count == 4", "not an acceptance line: 'acked.count == 4'; write"),
    ],
)
def test_a_line_that_bounds_nothing_is_refused(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"not a|unknown") as refused:
        parse_bound(line)
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("acked.count >= -1", "'acked.count >= -1' always holds: acked.count is from 0; give a bound within"),
        (
            "acked.count > -0.5",
            "'acked.count > -0.5' always holds: acked.count is from 0; give a bound within",
        ),
        ("acked.count >= 0", "'acked.count >= 0' always holds: acked.count is from 0; give a bound within"),
        ("acked.count < 0", "'acked.count < 0' never holds: acked.count is from 0; give a bound within"),
        ("acked.count <= -7", "'acked.count <= -7' never holds: acked.count is from 0; give a bound within"),
        ("unavailable.max >= 0s", "'unavailable.max >= 0s' always holds: unavailable.max is from 0; "),
        ("unavailable.max < 0s", "'unavailable.max < 0s' never holds: unavailable.max is from 0; "),
        ("failed.ratio <= 1", "'failed.ratio <= 1' always holds: failed.ratio is from 0 to 1; "),
        ("failed.ratio < 1.01", "'failed.ratio < 1.01' always holds: failed.ratio is from 0 to 1; "),
        (
            "indeterminate.ratio > 1",
            "'indeterminate.ratio > 1' never holds: indeterminate.ratio is from 0 to ",
        ),
        (
            "indeterminate.ratio >= 0",
            "'indeterminate.ratio >= 0' always holds: indeterminate.ratio is from 0",
        ),
    ],
)
def test_a_bound_that_can_never_or_always_hold_is_refused(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"always holds|never holds") as refused:
        parse_bound(line)
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    "line",
    [
        "acked.count <= 0",
        "acked.count > 0",
        "unavailable.max <= 0s",
        "failed.ratio <= 0",
        "failed.ratio < 1",
        "indeterminate.ratio >= 1",
    ],
)
def test_a_bound_at_the_end_of_the_range_that_can_fail_is_taken(line: str) -> None:
    assert parse_bound(line).text == line
