"""Settings by which Kafka itself deletes, moves or restamps records: with them, what is gone proves nothing.

A record that compaction, or retention inside the run, has deleted is gone as one that was lost is; what
tiered storage has moved is on no broker's disk; and a record under LogAppendTime has another timestamp than
the one that was sent. The metadata log, from which elections are known, has a retention of its own. So a
scenario may not ask for any of them. Then a log start that moves has no legal reason but a broker's clock
that a fault has set (checkers/contract/fates/retention.py), and what was below it is lost.
"""

import re
from collections.abc import Iterator, Mapping

SHORTEST_RETENTION_S = 86_400.0
"""A day: longer than runs are."""
_UNLIMITED = -1
_NUMBER = re.compile(r"-?[0-9]{1,19}")

_TIMES_S: Mapping[str, float] = {
    "retention.ms": 0.001,
    "log.retention.ms": 0.001,
    "log.retention.minutes": 60.0,
    "log.retention.hours": 3600.0,
    "metadata.max.retention.ms": 0.001,
}
"""How long records are kept, by a topic's or the brokers' name; and its unit in seconds."""
_SIZES = ("retention.bytes", "log.retention.bytes", "metadata.max.retention.bytes")
_REMOTE = ("remote.storage.enable", "remote.log.storage.system.enable")
_POLICIES = ("cleanup.policy", "log.cleanup.policy")
_STAMPS = ("message.timestamp.type", "log.message.timestamp.type")


_DEFAULT_MS = 7 * 86_400_000
"""Kafka's own log.retention.hours, 168."""
KEPT_BY_BROKERS = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
"""The first that is set outranks the others."""


def retention_ms(of_topic: Mapping[str, str], of_brokers: Mapping[str, str]) -> int:
    """After how long records of a topic are deleted; -1: never."""
    if "retention.ms" in of_topic:
        return int(of_topic["retention.ms"])
    for key in KEPT_BY_BROKERS:
        if key in of_brokers:
            return max(_UNLIMITED, round(int(of_brokers[key]) * _TIMES_S[key] * 1000))
    return _DEFAULT_MS


def deleting(config: Mapping[str, str], load_s: float = 0.0) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with its value) of each such setting of a topic or of the brokers.

    Retention must be longer than a load of `load_s` seconds by a day.
    """
    for key, value in config.items():
        if key in _TIMES_S:
            yield from ((key, text) for text in _time(key, value, SHORTEST_RETENTION_S + load_s))
        elif key in _SIZES:
            yield from ((key, text) for text in _size(value))
        elif key in _POLICIES and value.strip().lower() != "delete":
            yield key, f"{value!r} removes records that were not lost; allowed: delete"
        elif key in _REMOTE and value.strip().lower() != "false":
            yield key, f"{value!r} moves records off the brokers' disks; allowed: false"
        elif key in _STAMPS and value.strip() != "CreateTime":
            yield key, f"{value!r} replaces the timestamps that were sent; allowed: CreateTime"


def _time(key: str, value: str, least_s: float) -> Iterator[str]:
    least = round(least_s / _TIMES_S[key])
    if not _NUMBER.fullmatch(value):
        yield f"expected a whole number, found {value!r}"
    elif int(value) != _UNLIMITED and int(value) < least:
        yield f"{value} may delete records during the run; allowed: -1, or at least {least}"


def _size(value: str) -> Iterator[str]:
    if not _NUMBER.fullmatch(value):
        yield f"expected a whole number, found {value!r}"
    elif int(value) != _UNLIMITED:
        yield f"{value} may delete records during the run; allowed: -1"
