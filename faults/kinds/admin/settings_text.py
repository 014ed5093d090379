"""Dynamic settings that a fault may change, as a plan writes them: `min.insync.replicas=1`, more by commas.

Only those are in the list whose effect the contract knows from the metadata log, or that promise nothing. A
setting that lets Kafka delete records would make a loss of what no fault has taken.
"""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from faults.errors import BadStep

Values = Literal["number", "switch"]
Settings = tuple[tuple[str, str], ...]
"""Keys and values, by key."""

TOPIC_SETTINGS: Mapping[str, Values] = MappingProxyType(
    {"min.insync.replicas": "number", "unclean.leader.election.enable": "switch", "flush.messages": "number"}
)
BROKER_SETTINGS: Mapping[str, Values] = MappingProxyType(
    {"num.replica.fetchers": "number", "num.io.threads": "number", "num.network.threads": "number"}
)
"""Of one broker. What differs from broker to broker and decides what is promised is in no list: which value
counts would depend on who leads."""
CLUSTER_SETTINGS: Mapping[str, Values] = MappingProxyType(
    {
        "min.insync.replicas": "number",
        "unclean.leader.election.enable": "switch",
        **BROKER_SETTINGS,
    }
)
"""Of all brokers, by default."""

MIN_ISR = "min.insync.replicas"


def parse_settings(value: object) -> Settings:
    """Keys and values, as text or as a mapping; BadStep if it is neither, or has one twice."""
    if isinstance(value, Mapping):
        pairs = [(str(key), _text(each)) for key, each in value.items()]
    elif isinstance(value, str):
        pairs = [(key.strip(), each.strip()) for key, _, each in (x.partition("=") for x in value.split(","))]
    else:
        pairs = []
    if not pairs or any(not key or not each for key, each in pairs):
        raise BadStep("set", value, "settings with their values, as in min.insync.replicas=1")
    if twice := [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]:
        raise BadStep("set", value, f"each setting once; {', '.join(twice)} is set more often")
    return tuple(sorted(pairs))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def write_settings(settings: Settings) -> str:
    """What `parse_settings` reads back to the same."""
    return ", ".join(f"{key}={value}" for key, value in settings)


def check_settings(
    settings: tuple[tuple[str, str], ...], known: Mapping[str, Values], most_copies: int
) -> None:
    """BadStep for a setting that is not `known`, or for a value that is none.

    More replicas in sync than there are Kafka does not wait for: so `most_copies` bounds min.insync.replicas.
    """
    for key, value in settings:
        if key not in known:
            raise BadStep("set", key, known)
        if known[key] == "switch" and value not in ("true", "false"):
            raise BadStep("set", f"{key}={value}", ["true", "false"])
        if known[key] == "number" and (not value.isdecimal() or int(value) < 1):
            raise BadStep("set", f"{key}={value}", "a whole number from 1")
        if key == MIN_ISR and int(value) > most_copies:
            raise BadStep("set", f"{key}={value}", f"at most {most_copies}, the number of replicas")
