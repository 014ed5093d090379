import pytest

from harness.scenario.text.units import (
    duration_s,
    interval_s,
    interval_text,
    rate_per_s,
    rate_text,
    size_bytes,
    size_text,
)


@pytest.mark.parametrize(
    ("text", "seconds"), [("250ms", 0.25), ("5s", 5.0), ("1.5m", 90.0), ("1h", 3600.0), ("0s", 0.0)]
)
def test_a_duration_carries_its_unit(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("value", ["-5s", "5", 5, "5 days", None])
def test_a_duration_without_a_unit_or_below_zero_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="duration") as refused:
        duration_s(value)
    assert str(refused.value) == (
        f"not a duration: {value!r}; allowed: a duration with its unit, not negative: 500ms, 2.5s, 10m, 1h"
    )


def test_an_interval_is_a_duration_or_never() -> None:
    assert [interval_s("20s"), interval_s("never")] == [20.0, None]
    assert [interval_text(20.0), interval_text(None)] == ["20s", "never"]
    with pytest.raises(ValueError, match=r"not an interval: 'often'; allowed: a duration .*, or never"):
        interval_s("often")


def test_a_rate_is_per_second_or_as_fast_as_it_goes() -> None:
    assert rate_per_s("2000/s") == 2000.0
    assert rate_per_s("120000/m") == 2000.0
    assert rate_per_s("max") is None
    assert rate_text(2000.0) == "2000/s"
    assert rate_text(None) == "max"


@pytest.mark.parametrize("value", ["2000", 2000, "0/s", "-1/s", "2000/h"])
def test_a_rate_without_a_unit_or_above_zero_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="write records per second, as in 2000/s, or max"):
        rate_per_s(value)


@pytest.mark.parametrize("value", ["0.0000001/m", "0.0009/s", "1000000001/s", f"{'9' * 400}/s"])
def test_a_rate_that_nobody_waits_for_or_reaches_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"is refused; allowed: 0\.001/s to 1000000000/s, or max"):
        rate_per_s(value)
    assert [rate_per_s(each) for each in ("0.001/s", "1000000000/s")] == [0.001, 1e9]


def test_a_size_is_written_with_the_largest_unit_that_divides_it() -> None:
    assert size_bytes("1GiB") == 1_073_741_824
    assert size_text(1_073_741_824) == "1GiB"
    assert size_text(200) == "200B"
    with pytest.raises(ValueError, match="not a size: 200"):
        size_bytes(200)
