"""A scenario on topics of its own names is the same scenario."""

from harness.campaign.suites.fresh_topics import with_topics_of
from harness.scenario.resolve import Resolved, find, resolve, shipped

SCENARIO = """\
name: demo
topics: [{name: orders, partitions: 4}, {name: orders-audit, partitions: 2}]
faults:
  - {name: cut, at: 1s, do: partition, edges: followers(orders-audit-1) -> leader(orders-3), for: 2s}
  - {when: 'follower 2(orders-3) behind by 100', do: kill, target: leader(orders-0), for: 2s}
  - {at: 9s, do: reassign, topic: orders-audit, to: rotated, for: 2s}
  - {at: 19s, do: preferred-election, for: 2s}
  - {at: 29s, do: create-topic, for: 2s}
"""


def renamed(text: str) -> Resolved:
    return with_topics_of(resolve(text, "demo.yaml", seed=7), "r12")


def test_topics_and_the_faults_that_name_them_are_renamed_together() -> None:
    its = renamed(SCENARIO)
    assert [topic.name for topic in its.scenario.topics] == ["orders-r12", "orders-audit-r12"]
    assert its.steps[0].asked == "followers(orders-audit-r12-1) -> leader(orders-r12-3)"
    assert str(its.scenario.faults[1]["when"]) == "follower 2(orders-r12-3) behind by 100"
    assert its.steps[1].asked == "leader(orders-r12-0)"
    assert [step.asked for step in its.steps[2:]] == [
        "topic orders-audit-r12 to rotated",
        "topic orders-r12",
        "topic fault-create-topic-5, 6 partitions",
    ]


def test_a_transactional_id_that_looks_like_a_partition_keeps_its_name() -> None:
    its = renamed(
        "name: demo\ntopics: [{name: orders}]\nworkload: {transactions: {ids: orders}}\n"
        "faults: [{at: 1s, do: kill, target: transaction coordinator(orders-1), for: 3s}]\n"
    )
    assert [step.asked for step in its.steps] == ["transaction coordinator(orders-1)"]


def test_every_shipped_scenario_stays_what_it_was_but_for_the_names() -> None:
    for name in shipped():
        its = resolve(*find(name), seed=7)
        fresh = with_topics_of(its, "r12")
        assert (fresh.seed, fresh.topology, len(fresh.steps)) == (7, its.topology, len(its.steps))
        assert fresh.text.replace("-r12", "") == its.text


def test_running_its_file_again_draws_nothing_and_asks_for_the_same() -> None:
    its = renamed(SCENARIO)
    assert resolve(its.text, "scenario.yaml") == its
