"""Values that are neither shown nor kept: passwords, and other settings of connections."""

import re

OF_CONNECTIONS = ("sasl.", "security.", "ssl.")
"""How every setting of TLS and SASL begins, of clients and of brokers."""
HIDDEN = "…"
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
