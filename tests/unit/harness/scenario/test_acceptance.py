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
