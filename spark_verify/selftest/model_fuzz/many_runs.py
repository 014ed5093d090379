"""Judges many simulated runs, over all cores, and counts what came out.

A run is a function of a seed and the planted bugs alone. Of a run that disagrees its case is kept, made
smaller.
"""

import gc
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import count, islice
from multiprocessing import get_context

from checkers.model import Bug, Case, draw_case, simulate
from checkers.model.draw.crowded import draw_crowded_case
from checkers.verdict.algebra import Verdict
from spark_verify.selftest.model_fuzz.asked_of import asked_of
from spark_verify.selftest.model_fuzz.compare import Disagreement, disagreements
from spark_verify.selftest.model_fuzz.shrink import shrink
from spark_verify.selftest.model_fuzz.verdict_of import Judged, verdict_of

Bugs = frozenset[Bug]
NO_BUGS: Bugs = frozenset()
Draw = Callable[[int, Bugs], Case]
SEEDS_APART = 1_000_000_000
"""Case number n of a fuzz with seed s has the seed s * SEEDS_APART + n."""
MOST_SHRUNK = 3
"""Disagreements of one process that are made smaller: each costs some hundred runs."""
_CHUNK = 50
_COLLECTED_EVERY = 100
"""Runs after which a worker collects its garbage: left to itself that takes a tenth of the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreeing:
    """A case, as small as it was found, and in what it disagrees."""

    case: Case
    drawn: Case
    found: tuple[Disagreement, ...]


@dataclass(slots=True, kw_only=True)
class Tally:
    """What came out of runs with one set of bugs. Counts of runs, where nothing else is said."""

    runs: int = 0
    faulty: int = 0
    """With at least one fault."""
    manifested: int = 0
    traceless: list[int] = field(default_factory=list)
    """Seeds of manifested runs that are PASS, and of which a correct Kafka has the same history."""
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    """Of all runs without bugs; of the manifested ones with bugs."""
    acked: int = 0
    """Records, of all runs."""
    lost: Counter[str] = field(default_factory=Counter)
    """Acknowledged records that were lost, by their true cause."""
    unknown: Counter[str] = field(default_factory=Counter)
    """Reasons for UNKNOWN; a run may have several."""
    failed_for: Counter[str] = field(default_factory=Counter)
    """The first reason of each FAIL."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Runs with a disagreement, by the kind of their first."""
    disagreeing: list[Disagreeing] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Add what another process counted."""
        for name in ("runs", "faulty", "manifested", "acked"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("verdicts", "lost", "unknown", "failed_for", "kinds"):
            getattr(self, name).update(getattr(other, name))
        self.disagreeing += other.disagreeing
        self.traceless += other.traceless


def judge_case(case: Case) -> tuple[Judged, tuple[Disagreement, ...], bool]:
    """The verdict on a case, in what it disagrees with the truth, and whether a bug changed the outcome."""
    simulated = simulate(case)
    judged = verdict_of(simulated.history, asked_of(simulated))
    return judged, disagreements(simulated, judged), bool(simulated.manifested)


def seeds_of(seed: int, numbers: Iterable[int]) -> Iterator[int]:
    """The seeds of the cases with these numbers."""
    return (seed * SEEDS_APART + number for number in numbers)


def judge_seeds(
    seeds: Iterable[int], bugs: Bugs = NO_BUGS, *, until_manifested: int = 0, draw: Draw = draw_case
) -> Tally:
    """Judge the cases of these seeds; with `until_manifested`, only until so many runs have shown a bug."""
    tally = Tally()
    for seed in seeds:
        _judge(draw(seed, bugs), tally)
        if tally.runs % _COLLECTED_EVERY == 0 and not gc.isenabled():
            gc.collect()
        if until_manifested and tally.manifested >= until_manifested:
            break
    return tally


def _judge(case: Case, tally: Tally) -> None:
    simulated = simulate(case)
    judged = verdict_of(simulated.history, asked_of(simulated))
    found = disagreements(simulated, judged)
    tally.runs += 1
    tally.faulty += bool(case.schedule)
    tally.acked += len(simulated.truth.records)
    tally.lost.update(record.cause for record in simulated.truth.lost)
    tally.manifested += bool(simulated.manifested)
    if simulated.manifested or not case.bugs:
        tally.verdicts[judged.decision.verdict] += 1
        reasons = judged.decision.reasons
        if judged.decision.verdict is Verdict.UNKNOWN:
            tally.unknown.update({_without_figures(reason.sentence) for reason in reasons})
        if judged.decision.verdict is Verdict.FAIL:
            tally.failed_for[_property(reasons[0].sentence)] += 1
        if simulated.manifested and judged.decision.verdict is Verdict.PASS and not found:
            tally.traceless.append(case.seed)
    if found:
        tally.kinds[found[0].kind] += 1
        if len(tally.disagreeing) < MOST_SHRUNK:
            tally.disagreeing.append(_smallest(case, found))


def _smallest(case: Case, found: Sequence[Disagreement]) -> Disagreeing:
    wanted = found[0].key
    small = shrink(case, lambda each: any(one.key == wanted for one in judge_case(each)[1]))
    return Disagreeing(case=small, drawn=case, found=judge_case(small)[1])


def processes() -> ProcessPoolExecutor:
    """One process for each core."""
    return ProcessPoolExecutor(os.cpu_count() or 1, get_context("spawn"), initializer=_prepare)


def _prepare() -> None:
    gc.freeze()
    gc.disable()


def judge_correct(pool: Executor, seed: int, runs: int) -> Iterator[Tally]:
    """Runs of a correct Kafka, part by part; all of them are under way when this returns."""
    return pool.map(_chunk, [(seed, chunk, draw_case) for chunk in _chunks(runs)])


def judge_crowded(pool: Executor, seed: int, runs: int) -> Iterator[Tally]:
    """The same, with crowded schedules."""
    return pool.map(_chunk, [(seed, chunk, draw_crowded_case) for chunk in _chunks(runs)])


def _chunks(runs: int) -> list[range]:
    return [range(begin, min(begin + _CHUNK, runs)) for begin in range(0, runs, _CHUNK)]


def summed(parts: Iterable[Tally]) -> Tally:
    """What several processes have counted."""
    whole = Tally()
    for part in parts:
        whole.add(part)
    return whole


def _chunk(asked: tuple[int, range, Draw]) -> Tally:
    seed, numbers, draw = asked
    return judge_seeds(seeds_of(seed, numbers), draw=draw)


def judge_broken(
    pool: Executor, seed: int, sets: Sequence[Bugs], *, manifested: int, most_runs: int
) -> Iterator[tuple[Bugs, Tally]]:
    """For each set of bugs, runs until so many have shown it, or `most_runs` were made; all of them are under
    way when this returns."""
    asked = [(seed, bugs, manifested, most_runs) for bugs in sets]
    return zip(sets, pool.map(_until, asked), strict=True)


def _until(asked: tuple[int, Bugs, int, int]) -> Tally:
    seed, bugs, manifested, most_runs = asked
    seeds = islice(seeds_of(seed, count()), most_runs)
    return judge_seeds(seeds, bugs, until_manifested=manifested)


def _without_figures(sentence: str) -> str:
    """A reason without what differs from run to run, so that equal reasons can be counted."""
    return re.sub(r"[0-9][0-9.,]*", "#", sentence)[:110]


def _property(sentence: str) -> str:
    """ "acked-loss" of "acked-loss is violated 3 times: …"."""
    return sentence.split(" ", 1)[0]
