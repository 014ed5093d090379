"""Kafka settings that the release does not know, cannot take, or by which records go without being lost."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compose.releases.settings import Scope, Setting, releases_with, settings_of
from compose.releases.values import refusal
from compose.spec.server_properties import server_properties
from harness.scenario.cluster.deletion import deleting
from harness.scenario.cluster.kafka_settings import FETCH_WAIT, LAG, lag_below_wait
from harness.scenario.cluster.releases import releases_of
from harness.scenario.load.load_size import LoadLength
from harness.scenario.model import Scenario, topology_of
from harness.scenario.rules.contradiction import Contradiction
from harness.scenario.text.positions import Path

LISTENERS = ("listener.name.client.", "listener.name.broker.", "listener.name.controller.")
"""A setting of brokers may be given for one listener, by its name."""
MOST_SHOWN = 40
"""Names in a message; those of topics are fewer."""
ALIKE = 0.8
"""As `difflib` counts: a letter or two of a name are wrong, not a word."""
TOO_OLD = "every record would be too old when it arrives"
ABOVE_ZERO: Mapping[str, str] = {
    "message.timestamp.before.max.ms": TOO_OLD,
    "message.timestamp.difference.max.ms": TOO_OLD,
    "log.message.timestamp.before.max.ms": TOO_OLD,
    "log.message.timestamp.difference.max.ms": TOO_OLD,
    "replica.lag.time.max.ms": "no follower would stay in sync",
}
"""Settings of which Kafka takes what is no time at all, or less; and why nothing works then."""
OTHER: Mapping[Scope, Scope] = {"topic": "broker", "broker": "topic"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """A map of Kafka settings in a scenario; `whose` is what the settings are of."""

    path: Path
    whose: str
    scope: Scope
    config: Mapping[str, str]


def deletion(scenario: Scenario) -> Iterator[Contradiction]:
    """Settings by which records go without being lost, or change their timestamps."""
    yield from _deletion(scenario, scenario.workload.lasts_s)


def retention(scenario: Scenario, length: LoadLength) -> Iterator[Contradiction]:
    """Times to keep records that a long schedule outlasts."""
    yield from _deletion(scenario, length.planned_s)


def _deletion(scenario: Scenario, load_s: float) -> Iterator[Contradiction]:
    for each in _configured(scenario):
        for key, text in deleting(each.config, load_s):
            yield Contradiction(path=(*each.path, key), text=text)


def settings(scenario: Scenario) -> Iterator[Contradiction]:
    """Settings that a release of the nodes does not know, and values that it does not take.

    Kafka ignores a setting that it does not know: after an upgrade it would not be in force any more.
    """
    for release in releases_of(scenario):
        for each in _configured(scenario):
            yield from _of_release(release, each)


def start(scenario: Scenario) -> Iterator[Contradiction]:
    """Settings of nodes, each of them well formed, with which no node starts together."""
    topology, known = topology_of(scenario.cluster), settings_of(scenario.cluster.kafka, "broker")
    first = {"broker_config": topology.broker_ids[0], "controller_config": topology.controller_ids[0]}
    for key, node in first.items():
        written: Mapping[str, str] = getattr(scenario.cluster, key)
        its = server_properties(topology, node, client_address="")
        name = next((each for each in (LAG, FETCH_WAIT) if each in written), None)
        text = lag_below_wait({FETCH_WAIT: known[FETCH_WAIT].default, **its})
        if name is not None and text:
            yield Contradiction(path=("cluster", key, name), text=text)


def _of_release(release: str, each: Configured) -> Iterator[Contradiction]:
    known = settings_of(release, each.scope)
    for key, value in each.config.items():
        path, name = (*each.path, key), _without_listener(key, each.scope)
        if name not in known:
            yield Contradiction(path=path, text=_unknown(name, each, release), of_key=True)
        elif text := refusal(known[name], value) or _in_vain(name, value):
            yield Contradiction(path=path, text=text)


def _in_vain(name: str, value: str) -> str:
    """Why Kafka takes a value and no run shows anything with it; "" for any other."""
    if name not in ABOVE_ZERO or int(value) > 0:
        return ""
    return f"{value} is refused: {ABOVE_ZERO[name]}; allowed: above 0"


def _configured(scenario: Scenario) -> Iterator[Configured]:
    for index, topic in enumerate(scenario.topics):
        path = ("topics", index, "config")
        yield Configured(path=path, whose="topics", scope="topic", config=topic.config)
    of_cluster = scenario.cluster
    for key, whose, config in (
        ("broker_config", "brokers", of_cluster.broker_config),
        ("controller_config", "controllers", of_cluster.controller_config),
    ):
        yield Configured(path=("cluster", key), whose=whose, scope="broker", config=config)


def _without_listener(name: str, scope: Scope) -> str:
    prefix = next((each for each in LISTENERS if scope == "broker" and name.startswith(each)), "")
    return name.removeprefix(prefix)


def _unknown(name: str, each: Configured, release: str) -> str:
    """That the release has no such setting; and the nearest one, or where there is one of that name."""
    known = settings_of(release, each.scope)
    text = f"Kafka {release} has no setting {name!r} of {each.whose}"
    if elsewhere := releases_with(name, each.scope):
        return f"{text}; only {elsewhere} have it"
    if near := difflib.get_close_matches(name, known, n=1, cutoff=ALIKE):
        return f"{text}; did you mean {near[0]}?"
    if name in settings_of(release, OTHER[each.scope]):
        return f"{text}; {OTHER[each.scope]}s have it"
    return f"{text}; allowed: {_names(known)}"


def _names(known: Mapping[str, Setting]) -> str:
    names = sorted(known)
    more = f" and {len(names) - MOST_SHOWN} more of its documentation" if len(names) > MOST_SHOWN else ""
    return f"{', '.join(names[:MOST_SHOWN])}{more}"
