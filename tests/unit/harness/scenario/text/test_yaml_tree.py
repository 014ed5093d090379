"""YAML that no scenario needs is refused at its place, quickly, and never with an internal error."""

import pytest

from harness.errors import ScenarioError
from harness.scenario.text.positions import Document, load, override
from harness.scenario.text.yaml_tree import MOST_CHARACTERS


def complaint(text: str) -> str:
    with pytest.raises(ScenarioError) as refused:
        load(text, "x.yaml")
    (line,) = refused.value.complaints
    return line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: " + "[" * 3000, "x.yaml:1:16: nested too deep; allowed: at most 12 levels"),
        ("a: " + "[" * 3000 + "]" * 3000, "x.yaml:1:16: nested too deep; allowed: at most 12 levels"),
        ("- " * 3000 + "a", "x.yaml:1:25: nested too deep; allowed: at most 12 levels"),
        (
            "\n".join(" " * level + "a:" for level in range(1000)),
            "x.yaml:12:12: nested too deep; allowed: at most 12 levels",
        ),
        ("a: &x [1]\nb: 2", "x.yaml:1:4: the anchor &x is refused; allowed: the value itself, written out"),
        ("a: 1\nb: *x", "x.yaml:2:4: the alias *x is refused; allowed: the value itself, written out"),
        (
            "a: !!binary aGk=",
            "x.yaml:1:4: the tag !!binary is refused; allowed: the value itself, written out",
        ),
        ("a: !mine b", "x.yaml:1:4: the tag !mine is refused; allowed: the value itself, written out"),
        ("a: 2026-13-45", "x.yaml:1:4: not YAML: month must be in 1..12"),
        ("a: 0x" + "f" * 3000, "x.yaml:1:4: a number of 12000 bits; allowed: at most 64"),
        ('a: "\\ud800"', "x.yaml:1:4: half of a character, as in \\ud800"),
        ('a: "\\UFFFFFFFF"', "x.yaml:1:1: not YAML: Python int too large to convert to C int"),
    ],
)
def test_what_no_scenario_needs_is_refused(text: str, expected: str) -> None:
    assert complaint(text) == expected


@pytest.mark.parametrize("digit", ["9", "٩"])
@pytest.mark.parametrize(
    ("text", "count", "column"),
    [
        ("a: {}", 5000, 4),
        ("a: b{}/s", 5000, 4),
        ("a: '-{} GiB'", 5000, 4),
        ("a: 0.{}", 5000, 4),
        ("a: |\n  leader({})", 5000, 4),
        ("{}: a", 101, 1),
    ],
)
def test_a_number_of_thousands_of_digits_is_refused_at_its_place_in_any_text(
    text: str, count: int, column: int, digit: str
) -> None:
    assert complaint(text.format(digit * count)) == (
        f"x.yaml:1:{column}: a number of {count} digits; allowed: at most 100"
    )


def test_a_set_of_thousands_of_digits_is_refused_too() -> None:
    document = Document(filename="x.yaml", data={})
    text = "cluster.kafka=" + "9" * 5000
    with pytest.raises(ScenarioError) as refused:
        override(document, [text])
    assert refused.value.complaints == (f"--set {text}: a number of 5000 digits; allowed: at most 100",)


def test_a_hundred_digits_are_allowed() -> None:
    assert load("about: a" + "9" * 100, "x.yaml").data == {"about": "a" + "9" * 100}


def test_a_file_is_at_most_two_million_characters() -> None:
    assert complaint("#" * (MOST_CHARACTERS + 1)) == (
        "x.yaml:1:1: the text is too large; allowed: at most 2097152 characters"
    )


def test_twelve_levels_are_allowed() -> None:
    """The root, a list in it, and so on: the twelfth holds the number."""
    assert load("a: " + "[" * 10 + "1" + "]" * 10, "x.yaml").data == {"a": [[[[[[[[[[1]]]]]]]]]]}
    assert complaint("a: " + "[" * 11 + "1" + "]" * 11) == (
        "x.yaml:1:15: nested too deep; allowed: at most 12 levels"
    )


def test_a_value_from_the_command_line_has_the_same_bounds() -> None:
    document = Document(filename="x.yaml", data={"name": "demo"})
    with pytest.raises(ScenarioError) as refused:
        override(document, ["name=*x"])
    assert refused.value.complaints == (
        "--set name=*x: the alias *x is refused; allowed: the value itself, written out",
    )
