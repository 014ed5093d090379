"""Columns are as wide as their widest cell; the last one ends where its text does."""

import io

import pytest

from harness.terminal.columns import columns, fitted, width_of, wrapped


def test_cells_stand_below_each_other_and_no_line_ends_in_blanks() -> None:
    rows = [("phase", "run", "outcome"), ("up", "0000_up_7", "nothing is lost"), ("refused", "", "")]
    assert list(columns(rows)) == [
        "phase    run        outcome",
        "up       0000_up_7  nothing is lost",
        "refused",
    ]


ROWS = [
    ("scenario", "expected", "observed"),
    ("leaves-no-broker", "no loss but a permitted one", "lost none of 18,204"),
    ("short", "", "lost 3 of 90"),
]


def test_rows_that_fit_have_one_line_each() -> None:
    wide = [
        "scenario          expected                     observed",
        "leaves-no-broker  no loss but a permitted one  lost none of 18,204",
        "short                                          lost 3 of 90",
    ]
    assert list(fitted(ROWS, 66)) == wide
    assert list(fitted(ROWS, 500)) == wide


def test_the_widest_cells_are_wrapped_and_names_stay_whole() -> None:
    assert list(fitted(ROWS, 50)) == [
        "scenario          expected         observed",
        "leaves-no-broker  no loss but a    lost none of\n                  permitted one    18,204",
        "short                              lost 3 of 90",
    ]


def test_a_name_gives_way_when_nothing_else_can() -> None:
    lines = "\n".join(fitted(ROWS, 42)).splitlines()
    assert lines[1:5] == [
        "leaves-no-brok  no loss but   lost none of",
        "er              a permitted   18,204",
        "                one",
        "short                         lost 3 of 90",
    ]
    assert max(map(len, lines)) == 42


def test_a_terminal_that_is_too_narrow_for_anything_gets_longer_lines() -> None:
    assert max(map(len, "\n".join(fitted(ROWS, 1)).splitlines())) == 40


TEXT = (
    "heading\n\n  a-name  kept: everything that was acknowledged  [id]\n  /a/path/that/is/longer/than/a/line"
)


def test_lines_that_do_not_fit_hang_below_their_beginning_and_words_stay_whole() -> None:
    assert wrapped(TEXT, 26).split("\n") == [
        "heading",
        "",
        "  a-name  kept: everything",
        "      that was",
        "      acknowledged  [id]",
        "  /a/path/that/is/longer/than/a/line",
    ]
    assert wrapped(TEXT, None) == wrapped(TEXT, 500) == TEXT


@pytest.mark.parametrize("width", [1, 5, 13])
def test_on_the_narrowest_terminal_no_line_has_two_words_too_many(width: int) -> None:
    lines = wrapped(TEXT, width).split("\n")
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)
    assert " ".join(" ".join(lines).split()) == " ".join(TEXT.split())


@pytest.mark.parametrize(("asked", "width"), [("60", 60), ("", None), ("0", None), ("wide", None)])
def test_a_file_has_the_width_that_is_asked_for_or_none(
    monkeypatch: pytest.MonkeyPatch, asked: str, width: int | None
) -> None:
    monkeypatch.setenv("COLUMNS", asked)
    assert width_of(io.StringIO()) == width
