import pytest

from harness.scenario.acceptance import parse_accepted, parse_required


@pytest.mark.parametrize(
    ("line", "value", "holds"),
    [
        ("unavailable.max <= 20s", 20.0, True),
        ("unavailable.max <= 20s", 20.1, False),
        ("unavailable.max < 500ms", 0.5, False),
        ("resumed.max <= 8s", 8.1, False),
        ("indeterminate.ratio < 0.05", 0.04, True),
        ("acked.count >= 1000", 999.0, False),
        ("acked.count > 1000", 1001.0, True),
    ],
)
def test_an_acceptance_line_bounds_one_metric(line: str, value: float, holds: bool) -> None:
    assert parse_accepted(line).holds(value) is holds


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("unavailable.max", "not an acceptance line: 'unavailable.max'; write METRIC <= BOUND, as in"),
        ("availability > 3s", "unknown metric 'availability'; allowed: unavailable.max, resumed.max, "),
        ("unavailable.max <= 20", "not a duration: '20'; allowed: a duration with its unit"),
        ("acked.count > many", "not a number: 'many', the bound of acked.count"),
        ("acked.count > ٢", "not a number: '٢', the bound of acked.count"),
        ("acked.count > nan", "not a number: 'nan', the bound of acked.count"),
        ("acked.count > inf", "not a number: 'inf', the bound of acked.count"),
        ("acked.count == 4", "not an acceptance line: 'acked.count == 4'; write"),
    ],
)
def test_a_line_that_bounds_nothing_is_refused(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"not a|unknown") as refused:
        parse_accepted(line)
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
        parse_accepted(line)
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
    assert parse_accepted(line).text == line


@pytest.mark.parametrize(
    ("line", "value", "holds"),
    [
        ("isr.min <= 1", 1.0, True),
        ("isr.min <= 1", 2.0, False),
        ("zombie.max >= 5s", 4.9, False),
        ("elections.last-known > 0", 6.0, True),
        ("errors._MSG_TIMED_OUT > 0", 0.0, False),
        ("unavailable.max >= 500ms", 0.5, True),
    ],
)
def test_a_required_line_bounds_what_clients_got_and_what_happened(
    line: str, value: float, holds: bool
) -> None:
    assert parse_required(line).holds(value) is holds


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("isr.min", "not a required line: 'isr.min'; write METRIC <= BOUND, as in isr.min <= 1"),
        ("isr.max <= 1", "unknown metric 'isr.max'; allowed: unavailable.max, "),
        ("errors. > 1", "unknown metric 'errors.'; allowed: unavailable.max, "),
        ("zombie.max >= 5", "not a duration: '5'; allowed: a duration with its unit"),
        ("isr.min >= 0", "'isr.min >= 0' always holds: isr.min is from 0; give a bound within"),
        (
            "elections.max < 0",
            "'elections.max < 0' never holds: elections.max is from 0; give a bound within",
        ),
        ("errors.REQUEST_TIMED_OUT >= 0", "'errors.REQUEST_TIMED_OUT >= 0' always holds: "),
    ],
)
def test_a_required_line_that_shows_nothing_is_refused(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"not a|unknown|holds") as refused:
        parse_required(line)
    assert str(refused.value).startswith(reason)


def test_evidence_accepts_nothing() -> None:
    """A machine without a processor to give may shrink an ISR: that must fail no run."""
    with pytest.raises(ValueError, match="evidence") as refused:
        parse_accepted("isr.shrinks <= 2")
    assert str(refused.value) == (
        "isr.shrinks is evidence, and no service to clients: write the line under require; allowed: "
        "unavailable.max, resumed.max, indeterminate.ratio, failed.ratio, acked.count"
    )
