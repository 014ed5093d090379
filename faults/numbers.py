"""Whole numbers as a scenario writes them: in ASCII digits, and no more of them than anything here counts.

Without a bound Python reads no number of thousands of digits, and a float of hundreds of them is infinite.
"""

import re

from faults.errors import BadStep

NUMBER = "[0-9]{1,9}"
"""In a pattern: a number from 0."""

COUNT = "[1-9][0-9]{0,8}"
"""In a pattern: a number from 1."""

MOST = 999_999_999
"""What both end at."""


def parse_number(value: object, field: str, allowed: str, *, least: int, most: int = MOST) -> int:
    """A whole number within its bounds, also as text; BadStep names `field` and what is `allowed`."""
    is_one = isinstance(value, str | int) and not isinstance(value, bool)
    number = int(str(value)) if is_one and re.fullmatch(NUMBER, str(value)) else least - 1
    if not least <= number <= most:
        raise BadStep(field, value, allowed)
    return number
