"""Dynamic settings that a fault may change, as a plan writes them: `min.insync.replicas=1`, more by commas.

Only those are in the list whose effect the contract knows from the metadata log, or that promise nothing. A
setting that lets Kafka delete records would make a loss of what no fault has taken.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from compose.releases.settings import Setting
from compose.releases.values import refusal
from faults.errors import BadStep

Settings = tuple[tuple[str, str], ...]
"""Keys and values, by key."""

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
TOPIC_SETTINGS = (MIN_ISR, UNCLEAN, "flush.messages")
BROKER_SETTINGS = ("num.replica.fetchers", "num.io.threads", "num.network.threads")
"""Of one broker: numbers of threads. What differs from broker to broker and decides what is promised is in no
list: which value counts would depend on who leads."""
CLUSTER_SETTINGS = (MIN_ISR, UNCLEAN, *BROKER_SETTINGS)
"""Of all brokers, by default."""

_NUMBER = re.compile(r"[1-9][0-9]{0,19}")
"""As Kafka itself writes it, else no broker would be seen to have it; and some that are too large for it."""


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
    settings: Settings, known: Sequence[str], of_kafka: Mapping[str, Setting], most_copies: int
) -> None:
    """BadStep for a setting that is not `known`, or for a value that Kafka does not take.

    More replicas in sync than there are Kafka does not wait for: so `most_copies` bounds min.insync.replicas.
    """
    for key, value in settings:
        if key not in known:
            raise BadStep("set", key, known)
        if allowed := _instead(of_kafka[key], value):
            raise BadStep("set", f"{key}={value}", allowed)
        if key == MIN_ISR and int(value) > most_copies:
            raise BadStep("set", f"{key}={value}", f"at most {most_copies}, the number of replicas")


def _instead(of_kafka: Setting, value: str) -> str | list[str]:
    """What may stand in place of a value; "" if it may stand itself."""
    if of_kafka.type == "BOOLEAN":
        return "" if value in ("true", "false") else ["true", "false"]
    if not _NUMBER.fullmatch(value):
        return "a whole number from 1"
    return refusal(of_kafka, value).partition("; allowed: ")[2]


def check_changes(settings: Settings, begins: Mapping[str, str], whose: str) -> BadStep | None:
    """The refusal of settings that are in force as the cluster begins, or that Kafka does not change so far.

    A number of threads changes by half, or to the double, at a time (`DynamicThreadPool`).
    """
    for key, value in settings:
        if key in BROKER_SETTINGS and key in begins:
            least, most = max(1, int(begins[key]) // 2), 2 * int(begins[key])
            if not least <= int(value) <= most:
                allowed = f"from {least} to {most}: at once Kafka halves a number of threads, or doubles it"
                return BadStep("set", f"{key}={value}", allowed)
    if any(begins.get(key) != value for key, value in settings):
        return None
    return BadStep("set", write_settings(settings), f"other values: with these {whose} begins")
