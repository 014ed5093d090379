"""Whether a value is one that a release takes for a setting: Kafka's own reading of the text, by its type.

Source: `ConfigDef.parseType`, and the validators `Range`, `ValidString`, `ValidList` and `NonEmptyString`.
"""

import re
from collections.abc import Mapping
from decimal import Decimal

from compose.releases.settings import ANY_CASE, NOT_EMPTY, Setting

WHOLE = re.compile(r"[+-]?[0-9]{1,100}")
REAL = re.compile(r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?")
BITS: Mapping[str, int] = {"SHORT": 16, "INT": 32, "LONG": 64}


def refusal(setting: Setting, value: str) -> str:
    """What is wrong with `value`; "" if nothing is. Kafka ignores blanks around a value."""
    text = value.strip()
    match setting.type:
        case "BOOLEAN":
            return "" if text.lower() in ("true", "false") else f"expected true or false, found {value!r}"
        case "SHORT" | "INT" | "LONG":
            if not WHOLE.fullmatch(text):
                return f"expected a whole number, found {value!r}"
            return _out_of_range(setting, text)
        case "DOUBLE":
            if not REAL.fullmatch(text):
                return f"expected a number, found {value!r}"
            return _out_of_range(setting, text)
        case "LIST":
            return _stranger(setting, [word.strip() for word in text.split(",")] if text else [])
        case _:
            if NOT_EMPTY in setting.words:
                return "" if text else "expected some text, found none"
            return _stranger(setting, [text])


def _out_of_range(setting: Setting, text: str) -> str:
    reach = Decimal(2) ** (BITS[setting.type] - 1) if setting.type in BITS else Decimal("Infinity")
    least = Decimal(setting.least) if setting.least else -reach
    greatest = Decimal(setting.greatest) if setting.greatest else reach - 1
    if Decimal(text) < least:
        return f"{text} is too small; allowed: at least {least}"
    return f"{text} is too large; allowed: at most {greatest}" if Decimal(text) > greatest else ""


def _stranger(setting: Setting, found: list[str]) -> str:
    any_case, words = ANY_CASE in setting.words, [word for word in setting.words if word != ANY_CASE]
    known = {word.lower() for word in words} if any_case else set(words)
    for word in found:
        if known and (word.lower() if any_case else word) not in known:
            return f"unknown {word!r}; allowed: {', '.join(words)}"
    return ""
