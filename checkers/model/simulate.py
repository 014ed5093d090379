"""Runs a case as the harness runs a scenario, on virtual time: load, faults, final read, disks."""

from dataclasses import dataclass
from functools import partial

from checkers.history.rows import History, TopicPartition
from checkers.model.case import BROKERS, TOPIC, Case
from checkers.model.clients.producer import Producer
from checkers.model.clients.reader import Reader
from checkers.model.fate import truth_of
from checkers.model.kafka.cluster import BOOT_AT_S, Cluster
from checkers.model.observe import tables
from checkers.model.observe.clock import ORIGIN_MS
from checkers.model.observe.disks import batches_of, producers_of, replicas_of
from checkers.model.observe.faults import Faults
from checkers.model.observe.final_read import FinalRead
from checkers.model.observe.load import Load
from checkers.model.observe.sampler import Sampler
from checkers.model.truth import Simulated

LONGEST_S = 400.0
"""No run takes longer; one that would is a defect of the model."""
STOP_WITHIN_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that has ended, with all that was seen in it."""

    cluster: Cluster
    producers: list[Producer]
    readers: list[Reader]
    sampler: Sampler
    faults: Faults
    final: FinalRead
    load_ended_s: float
    metadata_records: int
    """How many records of the metadata log the history has: it is read before the brokers are stopped."""
    metadata_appends: int
    """How many appends these were."""
    ends: tuple[tuple[float, int, bool], ...]


def simulate(case: Case) -> Simulated:
    """The history that an observer of the case has, and the truth."""
    run = run_case(case)
    sent = [record for producer in run.producers for record in producer.sent]
    truth, manifested = truth_of(run.cluster, sent, run.final.present(), run.readers)
    return Simulated(
        case=case,
        history=_history(run),
        truth=truth,
        manifested=manifested,
        acted=frozenset(run.cluster.acted),
    )


def run_case(case: Case) -> Run:
    """Run a case to its end, and keep all that was seen."""
    cluster = Cluster(case)
    loop, settings = cluster.loop, case.settings
    loop.run(0.0)
    sampler = Sampler(cluster)
    producers = [
        Producer(cluster, number, one, ORIGIN_MS) for number, one in enumerate(settings.producers, start=1)
    ]
    readers = [Reader(cluster, number) for number in range(1, settings.readers + 1)]
    load, faults = Load(cluster, producers), Faults(cluster, sampler, case.schedule)
    loop.run(settings.load_s)
    loop.run_until(lambda: faults.finished, LONGEST_S)
    loop.run(loop.now_s + settings.tail_s)
    load.stopped = True
    loop.run_until(lambda: not any(one.outstanding for one in producers), LONGEST_S)
    load_ended_s = loop.now_s
    loop.run(loop.now_s + 0.6)
    final = FinalRead(cluster, sampler)
    loop.run_until(lambda: final.finished, LONGEST_S)
    loop.run(loop.now_s + 0.8)
    sampler.stopped = True
    for reader in readers:
        reader.stopped = True
    records, appends = len(cluster.controller.records), len(cluster.controller.appends)
    cluster.known.closed_s = loop.now_s
    ends = _stop_brokers(cluster)
    return Run(
        cluster=cluster,
        producers=producers,
        readers=readers,
        sampler=sampler,
        faults=faults,
        final=final,
        load_ended_s=load_ended_s,
        metadata_records=records,
        metadata_appends=appends,
        ends=ends,
    )


def _stop_brokers(cluster: Cluster) -> tuple[tuple[float, int, bool], ...]:
    """Stop all brokers at once, and kill what has not ended in time."""
    loop = cluster.loop
    ends: list[tuple[float, int, bool]] = []

    def ended(number: int, *, clean: bool) -> None:
        cluster.brokers[number].end(clean=clean)
        ends.append((loop.now_s, number, clean))

    for number in BROKERS:
        loop.after(
            cluster.between(0.0, 0.2), cluster.brokers[number].stop, partial(ended, number, clean=True)
        )
    loop.run_until(lambda: len(ends) == len(BROKERS), loop.now_s + STOP_WITHIN_S)
    for number in {*BROKERS} - {one for _, one, _ in ends}:
        ended(number, clean=False)
    return tuple(ends)


def _history(run: Run) -> History:
    cluster, settings = run.cluster, run.cluster.case.settings
    records = cluster.controller.records[: run.metadata_records]
    sent = [record for producer in run.producers for record in producer.sent]
    end_s = cluster.loop.now_s
    metadata = tables.metadata(records)
    clean = {number: clean for _, number, clean in run.ends}
    brokers = cluster.brokers.values()
    return History(
        partitions=tuple(TopicPartition(TOPIC, number) for number in range(settings.partitions)),
        sends=tables.sends(sent),
        final_log=[
            row for number, found in run.final.found.items() for row in tables.final_log(number, found)
        ],
        reads=tables.reads(run.readers),
        watermarks=run.sampler.watermarks,
        proofs=[proof for _, proof in sorted(run.final.proofs.items())],
        faults=[one.row() for one in run.faults.injected],
        metadata=metadata,
        brokers=tables.brokers(records),
        configs=[*tables.configs(settings, metadata[0]), *tables.config_changes(settings, records)],
        metadata_appends=tables.metadata_appends(cluster.controller.appends[: run.metadata_appends]),
        producers=tables.producers(run.producers),
        node_events=[*tables.first_starts(), *run.faults.events, *tables.last_ends(run.ends)],
        clocks=tables.clocks(BOOT_AT_S - 2.0, end_s),
        pressure=tables.pressure(-0.5, end_s),
        client_events=[
            row for one in run.producers for row in tables.client_events(one, 0.3, run.load_ended_s)
        ],
        replica_offsets=run.sampler.replica_offsets,
        broker_lines=tables.broker_lines(cluster.known.lines),
        replicas=[row for one in brokers for row in replicas_of(one, clean=clean[one.number])],
        producer_states=[row for one in brokers for row in producers_of(one)],
        replica_batches=batches_of(brokers),
    )
