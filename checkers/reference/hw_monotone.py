"""The high watermark as clients get it: it never falls.

Invariant: the samples of a partition do not fall, neither under one leader epoch nor from one to a later one.
A new leader may have a lower one, but hides it until it has passed the start of its epoch (KIP-207).
Evidence: the samples, by the time they were answered. Each is a leader's own, at an epoch that it named.
Counterexample:
    under epoch 0 the high watermark is 100; broker 2 is elected, and answers 40 under epoch 1
    offsets 40 to 99 were below the high watermark, and are no more: hw-monotone, from offset 40 to 99

A deposed leader may answer less than its successor, for it does not know of it: a sample is compared with
those of its own epoch and of older ones. A loss that is permitted lowers it, too: then both are one event.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from types import MappingProxyType

from checkers.anomalies import Anomaly
from checkers.history.rows import TopicPartition, Watermark
from checkers.history.tables import NONE
from checkers.properties import Property
from checkers.reference.facts import Facts, Rule


def hw_monotone(facts: Facts) -> Iterator[Anomaly]:
    """Each sample that falls below an older one, once for each fall. Subset: whole."""
    for tp, samples in sorted(facts.watermarks.items()):
        yield from _falls(tp, samples)


def is_comparable(sample: Watermark) -> bool:
    """Whether a sample names its epoch and a high watermark."""
    return sample.leader_epoch != NONE and sample.high_watermark != NONE


def _falls(tp: TopicPartition, samples: Iterable[Watermark]) -> Iterator[Anomaly]:
    highest: dict[int, tuple[int, int, Watermark]] = {}  # by epoch: value, place (the first counts), sample
    last: dict[int, tuple[int, bool]] = defaultdict(lambda: (NONE, False))
    for place, sample in enumerate(sorted(filter(is_comparable, samples), key=attrgetter("at_ns"))):
        epoch, value = sample.leader_epoch, sample.high_watermark
        top = max(key for of, key in [*highest.items(), (epoch, (NONE, NONE, sample))] if of <= epoch)
        below, (before, was_below) = value < top[0], last[epoch]
        if below and (not was_below or value < before):
            yield _fall(tp, top[2], sample)
        last[epoch] = (value, below)
        if epoch not in highest or value > highest[epoch][0]:
            highest[epoch] = (value, -place, sample)


def _fall(tp: TopicPartition, top: Watermark, sample: Watermark) -> Anomaly:
    return Anomaly(
        property=Property.HW_MONOTONE,
        topic=tp.topic,
        partition=tp.partition,
        offset=sample.high_watermark,
        last_offset=top.high_watermark - 1,
        producer=NONE,
        sequence=NONE,
        completed_ns=sample.at_ns,
        seen_ns=top.at_ns,
        under_epoch=top.leader_epoch,
        note=(
            f"it was {top.high_watermark} under leader epoch {top.leader_epoch}, "
            f"then {sample.high_watermark} under {sample.leader_epoch}"
        ),
    )


RULES: Mapping[Property, Rule] = MappingProxyType({Property.HW_MONOTONE: hw_monotone})
