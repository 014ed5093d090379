"""The load of a scenario as the clients' plan, checked by the client library before anything starts."""

from typing import TYPE_CHECKING

from harness.scenario.model import Scenario, WorkloadPart

if TYPE_CHECKING:
    from workloads.clients.check_settings import RefusedSetting, RefusedTogether
    from workloads.plan import TransactionPlan, WorkloadPlan

WARM_S = 30.0
"""Within which every producer must have an acknowledgement on every partition, if the load is to be warm."""

# The Kafka client is imported where it is used: `highwater --help` does not wait for it.


def load_plan(scenario: Scenario, seed: int) -> "WorkloadPlan":
    """The load of a scenario; PlanRefused if no client can make it."""
    from workloads.plan import WorkloadPlan

    workload = scenario.workload
    return WorkloadPlan(
        topics={topic.name: topic.partitions for topic in scenario.topics},
        producers=workload.producers,
        acks=workload.acks,
        idempotence=workload.idempotent,
        rate_per_s=workload.rate,
        record_bytes=workload.record,
        readers=workload.readers,
        slow_start=workload.warm,
        seed=seed,
        delivery_timeout_s=workload.delivery_timeout_s,
        client=workload.client,
        transactions=_transactions(workload),
    )


def _transactions(workload: WorkloadPart) -> "TransactionPlan | None":
    from workloads.plan import TransactionPlan

    asked = workload.transactions
    if asked is None:
        return None
    return TransactionPlan(
        ids=workload.transactional_ids,
        records=asked.records,
        aborts=asked.aborts,
        takeover_s=asked.takeover_s,
        timeout_s=asked.timeout_s,
        readers=asked.readers,
    )


def refused_settings(scenario: Scenario) -> "list[RefusedSetting]":
    """Each setting in `workload.client` that the client library does not take by itself."""
    from workloads.clients import check_settings

    return list(check_settings.refused_settings(load_plan(scenario, seed=0)))


def refused_by_client(scenario: Scenario) -> "RefusedTogether | None":
    """Why the client library does not take all settings together, or the records; None if it does."""
    from workloads.clients import check_settings

    return check_settings.refused_together(load_plan(scenario, seed=0))
