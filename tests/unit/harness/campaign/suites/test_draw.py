"""Which run comes when: the same for the same seed, whoever asks, and divided between shards."""

from collections import Counter
from itertools import islice, takewhile

import pytest

from harness.campaign.suites.draw import Drawn, Shard, by_cluster, draw, of_shard
from harness.campaign.suites.plan import Entry


def entry(**more) -> Entry:
    return Entry(scenario="storm", **more)


def first(count: int, entries: list[Entry], seed: int = 7) -> list[Drawn]:
    return list(islice(draw(entries, seed), count))


def test_the_same_seed_draws_the_same_runs_and_another_one_others() -> None:
    entries = [entry(weight=2), entry(), entry(repeat=2)]
    assert first(40, entries) == first(40, entries)
    assert first(40, entries, seed=7) != first(40, entries, seed=8)


def test_the_seed_of_a_run_is_the_same_on_every_machine() -> None:
    """The first eight digits of `printf 7:0 | sha256sum`, and so on: shards agree, whatever they run on."""
    drawn = first(3, [entry(), entry(weight=2), entry()])
    assert [(one.index, one.seed) for one in drawn] == [(0, 0xF5FF61D7), (1, 0xD7A0CEE7), (2, 0x8D8EA375)]


def test_in_each_round_a_scenario_comes_as_often_as_it_weighs() -> None:
    drawn = first(3 * 8, [entry(weight=3), entry(weight=1), entry(weight=4)])
    for number in (1, 2, 3):
        counts = Counter(one.entry for one in drawn if one.round == number)
        assert counts == {0: 3, 1: 1, 2: 4}


def test_repeats_come_in_succession_with_seeds_of_their_own() -> None:
    drawn = first(4, [entry(repeat=3), entry()])
    places = [one.index for one in drawn if one.entry == 0]
    assert places == [places[0], places[0] + 1, places[0] + 2]
    assert len({one.seed for one in drawn}) == 4


def test_what_there_must_be_comes_before_all_else() -> None:
    drawn = first(5, [entry(weight=100), entry(at_least=2), entry(at_least=1)])
    assert [one.entry for one in drawn[:3]] == [1, 1, 2]
    assert [one.required for one in drawn] == [True, True, True, False, False]


def test_a_scenario_comes_no_more_often_than_it_may() -> None:
    drawn = first(50, [entry(weight=5, at_least=1, at_most=2), entry()])
    assert Counter(one.entry for one in drawn)[0] == 2


def test_a_draw_ends_when_every_scenario_has_come_as_often_as_it_may() -> None:
    assert Counter(one.entry for one in draw([entry(at_most=3), entry(at_most=1)], 7)) == {0: 3, 1: 1}


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_each_run_is_made_by_exactly_one_shard(of: int) -> None:
    every = first(60, [entry(weight=2), entry(at_least=3)])
    parts = [list(of_shard(every, Shard(number=number, of=of))) for number in range(1, of + 1)]
    assert sorted((one for part in parts for one in part), key=lambda one: one.index) == every


def test_runs_that_can_share_a_cluster_come_together_and_rounds_meet_on_one() -> None:
    """Four clusters are started for the 16 runs of four rounds on two clusters, and not about eight."""
    drawn = first(16, [entry(weight=2), entry(weight=2)])
    ordered = list(by_cluster(drawn, lambda number: "ab"[number]))
    clusters = ["ab"[one.entry] for one in ordered]
    starts = sum(before != after for before, after in zip(["", *clusters], clusters, strict=False))
    assert Counter(ordered) == Counter(drawn)
    assert [one.round for one in ordered] == [one.round for one in drawn]
    assert starts == 5


def test_grouping_waits_for_no_more_than_one_round_of_an_endless_draw() -> None:
    ordered = by_cluster(draw([entry(), entry()], 7), lambda number: number)
    assert len(list(takewhile(lambda one: one.round < 4, ordered))) == 6


@pytest.mark.parametrize(
    "text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "", "1/1001", "\u0661/2", "1/" + "9" * 5000]
)
def test_a_shard_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a shard"):
        Shard.parse(text)
    assert str(Shard.parse("2/3")) == "2/3"
    assert str(Shard.parse("1000/1000")) == "1000/1000"


def test_a_draw_that_ends_has_no_run_for_the_last_of_many_machines() -> None:
    twice, endless = [entry(at_most=1), entry(at_most=1)], [entry(at_most=1), entry()]
    assert Shard(number=2, of=3).has_run(twice)
    assert not Shard(number=3, of=3).has_run(twice)
    assert Shard(number=1000, of=1000).has_run(endless)
