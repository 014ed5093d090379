"""What the client library refuses of a plan's settings; nothing is connected to.

The library itself is asked: a producer is made with the settings, and gets one record. Its list of settings,
which it prints for its own documentation, tells the nearest name and those that are of consumers alone.
"""

import ctypes
import difflib
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from confluent_kafka import KafkaError, KafkaException, Producer, cimpl

from workloads.clients.producer import producer_settings
from workloads.clients.transactions import transactional_settings
from workloads.errors import PlanRefused
from workloads.plan import QUIET, Setting, WorkloadPlan

KEY_BYTES = 8
CONSUMERS_ONLY = "C"
UNKNOWN = "No such configuration property"
OF_TOPICS = "topic."
"""Taken away by the library before the name of a setting of topics: `topic.acks` is `acks`, a second time."""
NAMED = re.compile(r"`([a-z0-9._]+)`")
"""A setting in the library's own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedSetting:
    """A setting that a producer does not take; `of_name`: there is none of that name, whatever its value.

    `why` may repeat the value, if it is about that.
    """

    name: str
    why: str
    of_name: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedTogether:
    """What the client refuses of a whole plan; `names` are the settings that are in contradiction, as far as
    the client says so, and `of_record`: it is the size of a record."""

    why: str
    names: tuple[str, ...] = ()
    of_record: bool = False


def check_settings(plan: WorkloadPlan) -> None:
    """Raise PlanRefused for settings that the client does not take, or with which it refuses the records.

    Their values are not in the message, as some may be secrets.
    """
    if refused := refused_together(plan):
        whose = "" if refused.of_record else f"client settings {', '.join(plan.client)}: "
        raise PlanRefused(f"{whose}{refused.why}")


def refused_together(plan: WorkloadPlan) -> RefusedTogether | None:
    """Why the client does not take all settings of a plan, or its records; None if it does."""
    settings = producer_settings(plan, "")
    if refusal := _refusal(settings):
        return RefusedTogether(why=refusal, names=tuple(NAMED.findall(refusal)))
    if refusal := _refused_record(plan, settings):
        return RefusedTogether(why=refusal, of_record=True)
    if plan.transactions is not None:
        refusal = _refusal(transactional_settings(plan, "", plan.transactions.ids[0]))
        if refusal:
            return RefusedTogether(
                why=f"a transactional client: {refusal}", names=tuple(NAMED.findall(refusal))
            )
    return None


def _refused_record(plan: WorkloadPlan, settings: Mapping[str, Setting]) -> str:
    client = Producer(dict(settings))
    try:
        client.produce(next(iter(plan.topics)), bytes(plan.record_bytes), bytes(KEY_BYTES), 0)
    except KafkaException as error:
        too_large = error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
        whose = ", by message.max.bytes of the client" if too_large else ""
        return f"a record of {plan.record_bytes} bytes: {error.args[0].str()}{whose}"
    finally:
        client.purge()
    return ""


def refused_settings(plan: WorkloadPlan) -> Iterator[RefusedSetting]:
    """Each setting that a producer does not take by itself, or that it would ignore."""
    known = known_settings()
    for name, value in plan.client.items():
        refusal = _refusal({"bootstrap.servers": "", **QUIET, name: value})
        if refusal.startswith(UNKNOWN):
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield RefusedSetting(name=name, why=f"the client has no setting {name!r}{hint}", of_name=True)
        elif refusal:
            yield RefusedSetting(name=name, why=f"{value!r} is refused: {refusal}", of_name=False)
        elif known and name not in known and (bare := name.removeprefix(OF_TOPICS)) in known:
            yield RefusedSetting(name=name, why=f"{name!r} is {bare!r}; write it so", of_name=True)
        elif known.get(name) == CONSUMERS_ONLY:
            why = f"{name!r} is a setting of consumers, which producers ignore; leave it out"
            yield RefusedSetting(name=name, why=why, of_name=True)


def _refusal(settings: Mapping[str, Setting]) -> str:
    """What the client says against `settings`; "" if it takes them."""
    try:
        Producer(dict(settings))
    except KafkaException as error:
        return str(error.args[0].str()).strip()
    except (AttributeError, TypeError, ValueError) as error:  # Python's own settings are functions and maps
        return str(error)
    return ""


@cache
def known_settings() -> Mapping[str, str]:
    """Each setting of the library: "C" of consumers, "P" of producers, "*" of both.

    Empty where the library cannot be reached below its Python module: then only the nearest name is missing,
    and a consumer's setting is not noticed.
    """
    try:
        library, standard = ctypes.CDLL(cimpl.__file__), ctypes.CDLL(None)
        show, fopen, fclose = library.rd_kafka_conf_properties_show, standard.fopen, standard.fclose
    except (OSError, AttributeError):
        return {}
    fopen.restype, fclose.argtypes, show.argtypes = ctypes.c_void_p, [ctypes.c_void_p], [ctypes.c_void_p]
    with tempfile.NamedTemporaryFile() as page:
        stream = fopen(page.name.encode(), b"w")
        show(stream)
        fclose(stream)
        return dict(_rows(page.read().decode()))


def _rows(page: str) -> Iterator[tuple[str, str]]:
    """(name, whose) of each row of the library's page: "linger.ms | P | 0 .. 900000 | 5 | high | …"."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 2 and cells[1] in ("C", "P", "*"):
            yield cells[0], cells[1]
