"""A scenario with more than one Kafka release: which there are, and what each must know."""

from fakes.run.refusals import complaints

from harness.campaign.suite import first_manifest
from harness.scenario.cluster.releases import releases_of
from harness.scenario.resolve import resolve

UPGRADED = """\
name: demo
cluster: {kafka: 4.1.0, formatted: 4.0.0}
topics: [{name: orders}]
faults:
  - at: 1s
    sequence:
      - {do: rolling-upgrade, target: controllers, release: 4.3.1, for: 0s}
      - {do: rolling-upgrade, target: brokers, release: 4.3.1, for: 0s}
"""
EVERY = ("4.0.0", "4.1.0", "4.3.1")
ROLL = "faults: [{at: 1s, do: rolling-upgrade, target: nodes, release: 4.3.1, for: 0s}]\n"


def test_a_run_has_the_releases_that_format_that_nodes_begin_with_and_are_brought_to() -> None:
    resolved = resolve(UPGRADED, "demo.yaml", seed=1)
    assert resolved.topology.later == ("4.3.1",)
    assert resolved.topology.every_release == EVERY
    assert releases_of(resolved.scenario) == EVERY
    manifest = first_manifest(resolved)
    assert (manifest.release, manifest.releases) == ("4.1.0", EVERY)


def test_what_is_written_out_reads_back_to_the_same_releases() -> None:
    resolved = resolve(UPGRADED, "demo.yaml", seed=1)
    again = resolve(resolved.text, "scenario.yaml")
    assert again.topology == resolved.topology
    assert again.scenario == resolved.scenario


def test_a_run_of_one_release_names_it_once() -> None:
    resolved = resolve("name: demo\ntopics: [{name: orders}]\n", "demo.yaml", seed=1)
    assert resolved.scenario.cluster.formatted == "4.3.1"
    assert first_manifest(resolved).releases is None


def test_settings_are_known_to_every_release_that_a_node_runs() -> None:
    """Kafka ignores one that it does not know: after the roll it would not be in force any more."""
    topics = "{name: orders, config: {message.format.version: '2.8'}}"
    assert complaints(cluster="kafka: 3.9.1", topics=topics) == ()
    assert complaints(cluster="kafka: 3.9.1", topics=topics, rest=ROLL) == (
        "demo.yaml:3:34: topics[0].config.message.format.version: Kafka 4.3.1 has no setting "
        "'message.format.version' of topics; only 3.6.0-3.9.2 have it",
    )


def test_a_node_is_not_brought_below_what_formatted() -> None:
    (refused,) = complaints(cluster="kafka: 4.0.0", rest=ROLL.replace("4.3.1", "3.9.1"))
    assert "faults[0].release: '3.9.1' is refused; allowed: 4.0 or newer" in refused
