"""Values that are neither shown nor kept: passwords, and other settings of connections."""

import re
from collections.abc import Iterable, Iterator

OF_CONNECTIONS = ("sasl.", "security.", "ssl.")
"""How every setting of TLS and SASL begins, of clients and of brokers."""
HIDDEN = "…"
PUBLIC = "security.protocol"
"""A setting of connections that is one of four words."""
_NAMED = re.compile(
    r"(?:^|[^a-z0-9_-])(?:sasl|security|ssl)\.|auth\.|credential|jaas|passw|secret|token", re.IGNORECASE
)


def may_be_secret(text: str) -> bool:
    """Whether a setting may hold a secret that has this name, or that is named in the text."""
    return _NAMED.search(text) is not None


def without_secret(word: str) -> str:
    """A word of a command line as it may be shown: of an assignment that may hold a secret only the name."""
    name, sign, _ = word.partition("=")
    return f"{name}={HIDDEN}" if sign and may_be_secret(word) else word


def secrets_in(data: object, name: str = "") -> Iterator[str]:
    """Each value in a tree of plain data that may be a secret, by its name there or as an assignment.

    `name` is the dotted path of the tree itself.
    """
    if isinstance(data, dict):
        for key, value in data.items():
            yield from secrets_in(value, f"{name}.{key}")
    elif isinstance(data, list):
        for value in data:
            yield from secrets_in(value, name)
    elif not name.endswith(PUBLIC) and (may_be_secret(name) or without_secret(str(data)) != str(data)):
        yield str(data)


def without(text: str, secrets: Iterable[str]) -> str:
    """`text` as it may be shown: without these values, where they stand by themselves."""
    found = "|".join(re.escape(each) for each in sorted(secrets, key=len, reverse=True) if each)
    return re.sub(rf"(?<!\w)(?:{found})(?!\w)", HIDDEN, text) if found else text
