"""The client library itself says which settings and records it takes."""

import pytest

from workloads.clients.check_settings import check_settings, known_settings, refused_settings
from workloads.errors import PlanRefused
from workloads.plan import WorkloadPlan


def test_the_library_names_its_own_settings_and_whose_they_are() -> None:
    known = known_settings()
    assert len(known) > 150
    names = ("linger.ms", "queue.buffering.max.ms", "fetch.min.bytes", "client.id")
    assert [known[name] for name in names] == ["P", "P", "C", "*"]


def test_each_setting_is_judged_by_itself() -> None:
    plan = WorkloadPlan(topics={"orders": 1}, client={"linger.ms": "5", "lingerms": "5", "acks": "many"})
    assert [(each.name, each.of_name) for each in refused_settings(plan)] == [
        ("lingerms", True),
        ("acks", False),
    ]


def test_a_record_larger_than_the_clients_own_limit_is_refused() -> None:
    check_settings(WorkloadPlan(topics={"orders": 1}, record_bytes=900, client={"message.max.bytes": "1000"}))
    with pytest.raises(PlanRefused, match=r"a record of 1001 bytes: .*Message size too large"):
        check_settings(
            WorkloadPlan(topics={"orders": 1}, record_bytes=1001, client={"message.max.bytes": "1000"})
        )
