"""What the client library refuses of a plan's settings; nothing is connected to.

The library itself is asked: a producer is made with the settings, and gets one record. Its list of settings,
which it prints for its own documentation, tells the nearest name and those that are of consumers alone.
"""

import ctypes
import difflib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from confluent_kafka import KafkaException, Producer, cimpl

from workloads.clients.producer import producer_settings
from workloads.clients.transactions import transactional_settings
from workloads.errors import PlanRefused
from workloads.plan import QUIET, Setting, WorkloadPlan

KEY_BYTES = 8
CONSUMERS_ONLY = "C"
UNKNOWN = "No such configuration property"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedSetting:
    """A setting that a producer does not take; `of_name`: there is none of that name, whatever its value."""

    name: str
    why: str
    of_name: bool


def check_settings(plan: WorkloadPlan) -> None:
    """Raise PlanRefused for settings that the client does not take, or with which it refuses the records."""
    settings = producer_settings(plan, "")
    if refusal := _refusal(settings):
        raise PlanRefused(f"client settings {dict(plan.client)}: {refusal}")
    client = Producer(settings)
    try:
        client.produce(next(iter(plan.topics)), bytes(plan.record_bytes), bytes(KEY_BYTES), 0)
    except KafkaException as error:
        raise PlanRefused(f"a record of {plan.record_bytes} bytes: {error.args[0].str()}") from error
    finally:
        client.purge()
    if plan.transactions is not None:
        refusal = _refusal(transactional_settings(plan, "", plan.transactions.ids[0]))
        if refusal:
            raise PlanRefused(f"a transactional client: {refusal}")


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
        elif known.get(name) == CONSUMERS_ONLY:
            why = f"{name!r} is a setting of consumers, which producers ignore; leave it out"
            yield RefusedSetting(name=name, why=why, of_name=True)


def _refusal(settings: Mapping[str, Setting]) -> str:
    """What the client says against `settings`; "" if it takes them."""
    try:
        Producer(dict(settings))
    except KafkaException as error:
        return str(error.args[0].str()).strip()
    except (AttributeError, TypeError) as error:  # Python's own settings are functions and maps
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
