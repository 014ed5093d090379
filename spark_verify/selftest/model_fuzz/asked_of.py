"""What a simulated run was set up with, as the manifest of a real one says it."""

from checkers.contract.realised.settings import ProducerPromise
from checkers.contract.realised.terms import TopicPromise
from checkers.history.tables import NONE
from checkers.model import Simulated
from checkers.model.case import CONTROLLERS, TOPIC
from spark_verify.selftest.model_fuzz.verdict_of import Asked


def asked_of(simulated: Simulated) -> Asked:
    """The settings of a case, and when its load ended. Any loss is expected: only the contract decides."""
    history, settings = simulated.history, simulated.case.settings
    clocks = sorted(history.clocks, key=lambda pair: pair.at_ns)
    promises = {
        each.producer: ProducerPromise(acks=each.acks, idempotence=each.idempotence)
        for each in history.producers
    }
    topic = TopicPromise(
        min_isr=settings.min_isr,
        unclean=settings.unclean_election,
        flush_messages=settings.flush_messages,
        retention_ms=round(settings.retention_s * 1000),
    )
    return Asked(
        producers=promises,
        topics={TOPIC: topic},
        elr=settings.elr,
        monotonic_ns=clocks[0].at_ns if clocks else 0,
        wall_ns=clocks[0].wall_ns if clocks else 0,
        load_ended_ns=max((send.invoked_ns for send in history.sends), default=NONE),
        readers=settings.readers,
        controllers=CONTROLLERS,
    )
