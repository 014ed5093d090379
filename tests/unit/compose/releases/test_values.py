"""Values as Kafka reads them, by the type of their setting."""

import pytest

from compose.releases.settings import Setting
from compose.releases.values import refusal


def setting(kind: str, *, least: str = "", greatest: str = "", words: str = "") -> Setting:
    listed = tuple(words.split(",")) if words else ()
    return Setting(name="s", type=kind, least=least, greatest=greatest, words=listed, default="")


@pytest.mark.parametrize(
    ("of", "value", "text"),
    [
        (setting("BOOLEAN"), "yes", "expected true or false, found 'yes'"),
        (setting("BOOLEAN"), "", "expected true or false, found ''"),
        (setting("INT"), "1.0", "expected a whole number, found '1.0'"),
        (setting("INT"), "1_000", "expected a whole number, found '1_000'"),
        (setting("INT"), "٣", "expected a whole number, found '٣'"),
        (setting("INT"), "2147483648", "2147483648 is too large; allowed: at most 2147483647"),
        (setting("INT"), "-2147483649", "-2147483649 is too small; allowed: at least -2147483648"),
        (setting("SHORT", least="1"), "0", "0 is too small; allowed: at least 1"),
        (setting("SHORT"), "32768", "32768 is too large; allowed: at most 32767"),
        (
            setting("LONG", least="0"),
            "9223372036854775808",
            "9223372036854775808 is too large; allowed: at most 9223372036854775807",
        ),
        (setting("INT", least="1", greatest="17"), "18", "18 is too large; allowed: at most 17"),
        (setting("DOUBLE", least="0", greatest="1"), "1.01", "1.01 is too large; allowed: at most 1"),
        (setting("DOUBLE"), "half", "expected a number, found 'half'"),
        (setting("STRING", words="gzip,lz4"), "zip", "unknown 'zip'; allowed: gzip, lz4"),
        (setting("STRING", words="gzip,lz4"), "GZIP", "unknown 'GZIP'; allowed: gzip, lz4"),
        (setting("LIST", words="compact,delete"), "delete,keep", "unknown 'keep'; allowed: compact, delete"),
        (setting("STRING", words="(any case),ON,OFF"), "of", "unknown 'of'; allowed: ON, OFF"),
        (setting("STRING", words="(not empty)"), " ", "expected some text, found none"),
    ],
)
def test_what_kafka_would_not_take_is_refused(of: Setting, value: str, text: str) -> None:
    assert refusal(of, value) == text


@pytest.mark.parametrize(
    ("of", "value"),
    [
        (setting("BOOLEAN"), " TRUE "),
        (setting("INT"), "+5"),
        (setting("INT"), "-2147483648"),
        (setting("LONG"), "9223372036854775807"),
        (setting("DOUBLE", least="0", greatest="1"), ".5"),
        (setting("DOUBLE"), "1e3"),
        (setting("DOUBLE"), "1.7976931348623157E308"),
        (setting("STRING"), ""),
        (setting("CLASS"), "org.example.Missing"),
        (setting("LIST"), ""),
        (setting("LIST", words="compact,delete"), "delete, compact"),
        (setting("STRING", words="(any case),ON,OFF"), "off"),
        (setting("STRING", words="(not empty)"), "any"),
    ],
)
def test_what_kafka_takes_is_not(of: Setting, value: str) -> None:
    assert refusal(of, value) == ""
