"""Scenario files: what is refused, with which words at which place, and what a resolved one looks like."""

import re
from pathlib import Path

import pytest

from faults.kinds.registry import KINDS
from harness.errors import ScenarioError, UsageError
from harness.scenario.resolve import SHIPPED, derived_seeds, find, resolve, resolve_made, scenario_text

ROOT = Path(__file__).parents[4]

GOOD = """\
name: demo
cluster: {brokers: 3, controllers: 3}
topics:
  - {name: orders, partitions: 2, replication: 3, config: {min.insync.replicas: 2}}
workload: {acks: all, rate: 2000/s}
faults:
  - {at: 5s, do: kill, target: leader, for: 3s}
"""


def refusal(old: str, new: str) -> str:
    """The complaints about GOOD with `old` replaced."""
    assert old in GOOD
    with pytest.raises(ScenarioError) as refused:
        resolve(GOOD.replace(old, new), "demo.yaml", seed=1)
    return str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "brokers: 3",
            "broker: 3",
            "demo.yaml:2:11: cluster.broker: unknown key 'broker'; did you mean brokers? allowed: "
            "broker_config, brokers, combined, controller_config, controllers, elr, formatted, kafka, "
            "log_dirs, transaction_version, volume",
        ),
        ("name: demo", "nome: demo", "demo.yaml:1:1: name: is missing\n"),
        (
            "topics:",
            "topicz:",
            "demo.yaml:1:1: topics: is missing; write it as in [{name: orders}]\n",
        ),
        (
            "name: demo",
            "name: demo\nsettle: ~",
            "demo.yaml:2:9: settle: input should be a map of keys, found nothing",
        ),
        (
            "name: demo",
            f"name: {'x' * 62}",
            "demo.yaml:1:7: name: string should have at most 61 characters, found",
        ),
        (
            "brokers: 3",
            "brokers: three",
            "demo.yaml:2:20: cluster.brokers: input should be a valid integer, found",
        ),
        (
            "brokers: 3",
            "brokers: 0",
            "demo.yaml:2:20: cluster.brokers: input should be greater than or equal to 1",
        ),
        (
            "replication: 3",
            "replication: 4",
            "demo.yaml:4:48: topics[0].replication: 4 replicas do not fit on 3 brokers",
        ),
        (
            "replicas: 2",
            "replicas: two",
            "demo.yaml:4:81: topics[0].config.min.insync.replicas: expected a number of replicas from 1",
        ),
        ("acks: all", "acks: 2", "demo.yaml:5:18: workload.acks: unknown '2'; allowed: 0, 1, all"),
        (
            "acks: all",
            "acks: 1, idempotence: true",
            "demo.yaml:5:34: workload.idempotence: an idempotent producer needs acks: all, found acks: 1",
        ),
        (
            "rate: 2000/s",
            "rate: 2000",
            "demo.yaml:5:29: workload.rate: not a rate: 2000; write records per second, as in 2000/s, or max",
        ),
        (
            "rate: 2000/s",
            "lasts: 5",
            "demo.yaml:5:30: workload.lasts: not a duration: 5; allowed: a duration with its unit",
        ),
        (
            "do: kill",
            "do: explode",
            "demo.yaml:7:18: faults[0].do: 'explode' is refused; allowed: one of partition, ",
        ),
        ("do: kill, ", "", "demo.yaml:7:5: faults[0].do: is missing; allowed: one of partition, "),
        (
            "for: 3s",
            "for: -3s",
            "demo.yaml:7:45: faults[0].for: '-3s' is refused; allowed: a duration with its unit",
        ),
        (
            "for: 3s",
            "four: 3s",
            "demo.yaml:7:40: faults[0].four: unknown key 'four'; did you mean for? allowed: after",
        ),
        (
            "target: leader",
            "target: lieder",
            "demo.yaml:7:32: faults[0].target: 'lieder' is refused; allowed:",
        ),
        (
            "target: leader",
            "target: node 9",
            "demo.yaml:7:32: faults[0].target: 'node 9' is refused; allowed: one of",
        ),
        (
            "controllers: 3",
            "controllers: 5, combined: true",
            "demo.yaml:2:36: cluster.controllers: 5 with 3 brokers; with combined roles each controller",
        ),
        ("controllers: 3", "kafka: 2.8.0", "demo.yaml:2:30: cluster.kafka: 2.8.0 is too old; the oldest"),
        (
            "controllers: 3",
            "kafka: 4.3",
            "demo.yaml:2:30: cluster.kafka: unknown release '4.3'; did you mean 4.3.1? allowed: 3.6.0, ",
        ),
        (
            "rate: 2000/s",
            "client: {acks: 1}",
            "demo.yaml:5:38: workload.client.acks: is set by the harness; use the key workload.acks",
        ),
        (
            "rate: 2000/s",
            "client: {linger.millis: 5}",
            "demo.yaml:5:32: workload.client.linger.millis: the client has no setting 'linger.millis'; "
            "did you mean linger.ms?",
        ),
        (
            "rate: 2000/s",
            "client: {linger.ms: soon}",
            "demo.yaml:5:43: workload.client.linger.ms: 'soon' is refused: "
            "Invalid value for configuration property",
        ),
        (
            "rate: 2000/s",
            "delivery_timeout: 1ms",
            "demo.yaml:5:41: workload.delivery_timeout: Failed to create producer: `message.timeout.ms` "
            "must be greater than `linger.ms`",
        ),
        (
            "rate: 2000/s",
            "record: 5B",
            "demo.yaml:5:31: workload.record: 5 bytes cannot carry a record's id; at least 20B",
        ),
        (
            "replicas: 2}",
            "replicas: 2, unclean.leader.election.enable: maybe}",
            "demo.yaml:4:116: topics[0].config.unclean.leader.election.enable: expected true or false, "
            "found 'maybe'",
        ),
        (
            "controllers: 3",
            "broker_config: {log.flush.interval.messages: often}",
            "demo.yaml:2:68: cluster.broker_config.log.flush.interval.messages: expected a whole number, "
            "found 'often'",
        ),
        (
            "acks: all",
            "acks: all, lasts: -1s",
            "demo.yaml:5:30: workload.lasts: not a duration: '-1s'",
        ),
        (
            "faults:",
            "accept: [acked.count >= nan]\nfaults:",
            "demo.yaml:6:10: accept[0]: not a number: 'nan', the bound of acked.count",
        ),
        (
            "faults:",
            "accept: [acked.count >= 3, acked.count >= -1]\nfaults:",
            "demo.yaml:6:28: accept[1]: 'acked.count >= -1' always holds: acked.count is from 0; ",
        ),
        (
            "workload:",
            "storm: {}\nworkload:",
            "demo.yaml:5:8: storm: a scenario has faults or a storm, not both",
        ),
    ],
)
def test_the_impossible_is_refused_at_its_place(old: str, new: str, complaint: str) -> None:
    assert refusal(old, new).startswith(complaint)


def test_a_storm_is_drawn_from_the_seed_alone_and_written_out() -> None:
    text = GOOD[: GOOD.index("faults:")] + "storm: {duration: 60s}\n"
    first, again, other = (resolve(text, "demo.yaml", seed=seed) for seed in (5, 5, 6))
    assert first.steps == again.steps != other.steps
    assert {step.kind for step in first.steps} <= set(KINDS) - {"power-loss"}
    assert resolve(first.text, "scenario.yaml", seed=99).steps == first.steps


@pytest.mark.parametrize(
    ("storm", "complaint"),
    [
        (
            "{duration: 2s}",
            "demo.yaml:6:19: storm.duration: '2s' is refused; allowed: at least ",
        ),
        ("{}", "demo.yaml:6:8: storm.duration: is missing; allowed: a duration with its unit"),
        (
            "{duration: 60s, kinds: [flood]}",
            "demo.yaml:6:31: storm.kinds: ['flood'] is refused; allowed: a list of partition, pause",
        ),
        (
            "{duration: 60s, kind: [pause]}",
            "demo.yaml:6:24: storm.kind: unknown key 'kind'; did you mean kinds? allowed: duration",
        ),
    ],
)
def test_a_storm_that_cannot_be_is_refused(storm: str, complaint: str) -> None:
    text = GOOD[: GOOD.index("faults:")] + f"storm: {storm}\n"
    with pytest.raises(ScenarioError) as refused:
        resolve(text, "demo.yaml")
    assert str(refused.value).startswith(complaint)


def test_a_storm_beyond_the_promise_expects_that_what_is_lost_is_permitted() -> None:
    """Whoever expects no loss of it expects too much; a positive control stays one."""
    text = GOOD[: GOOD.index("faults:")] + "storm: {duration: 60s, limit: beyond-promise}\n"
    assert resolve(text, "demo.yaml", seed=1).scenario.expect.acked_loss == "any"
    control = text + "expect: {acked_loss: permitted}\n"
    assert resolve(control, "demo.yaml", seed=1).scenario.expect.acked_loss == "permitted"
    within = text.replace("beyond-promise", "within-promise")
    assert resolve(within, "demo.yaml", seed=1).scenario.expect.acked_loss == "none"


def test_the_volumes_hold_what_is_written_in_a_long_storm() -> None:
    """2000 records a second of 200 bytes, 100 more on disk each, for an hour are 2 GiB, and a quarter."""
    sets = ["storm.duration=60m", "storm.intensity=normal"]
    assert resolve(*find("storm"), seed=7).topology.volume_mib == 1024
    assert resolve(*find("storm"), seed=7, sets=sets).topology.volume_mib == 3 * 1024
    with pytest.raises(
        ScenarioError, match=r"for 3602s is 4\.03 GiB with its replicas, and the 3 volumes hold 3 GiB"
    ):
        resolve(*find("storm"), seed=7, sets=[*sets, "cluster.volume=1GiB"])


def test_all_complaints_about_the_keys_are_listed_at_once() -> None:
    text = GOOD.replace("brokers: 3", "broker: 3").replace("rate: 2000/s", "rate: 7")
    with pytest.raises(ScenarioError) as refused:
        resolve(text, "demo.yaml")
    assert [line.split(": ")[1] for line in refused.value.complaints] == ["cluster.broker", "workload.rate"]


def test_a_value_from_the_command_line_is_checked_like_one_from_the_file() -> None:
    with pytest.raises(ScenarioError) as refused:
        resolve(GOOD, "demo.yaml", sets=["topics.0.replication=4"])
    assert refused.value.complaints == (
        "--set topics.0.replication=4: topics[0].replication: 4 replicas do not fit on 3 brokers",
    )


def test_a_resolved_scenario_reads_back_to_itself_and_draws_nothing() -> None:
    first = resolve(GOOD, "demo.yaml", sets=["workload.rate=max", "settle.full_isr=90s"])
    again = resolve(first.text, "scenario.yaml")
    assert again == first
    assert again.text == first.text


def test_the_seed_of_the_command_line_outranks_that_of_the_file_which_outranks_chance() -> None:
    assert resolve(GOOD + "seed: 7\n", "demo.yaml", seed=8).seed == 8
    assert resolve(GOOD + "seed: 7\n", "demo.yaml").seed == 7
    assert resolve(GOOD, "demo.yaml").seed != resolve(GOOD, "demo.yaml").seed


def test_idempotence_follows_acks_unless_it_is_asked_for() -> None:
    assert resolve(GOOD, "demo.yaml").scenario.workload.idempotence is True
    assert resolve(GOOD, "demo.yaml", sets=["workload.acks=1"]).scenario.workload.idempotence is False


def test_the_positive_and_the_negative_control_have_the_same_schedule() -> None:
    one, every = (resolve(*find(name), seed=1) for name in ("acks1-leader-kill", "acks-all-leader-kill"))
    assert one.steps == every.steps
    assert (one.scenario.workload.acks, every.scenario.workload.acks) == ("1", "all")


def test_a_cluster_gets_the_clocks_that_its_schedule_may_set() -> None:
    """A kill needs none, and what a suite keeps of one run fits no other with other clocks."""
    skew = "{at: 5s, do: clock-skew, target: leader, offset: +5m, for: 3s}"
    its = resolve(GOOD.replace("{at: 5s, do: kill, target: leader, for: 3s}", skew), "demo.yaml", seed=1)
    without = resolve(GOOD, "demo.yaml", seed=1)
    assert (its.topology.clocks, without.topology.clocks) == ((1, 2, 3), ())
    assert its.scenario.faults[0]["offset"] == "+5m"
    again = resolve(its.text, "scenario.yaml")
    assert (again.steps, again.topology) == (its.steps, its.topology)


def test_a_wrong_clock_of_a_controller_is_refused_where_nobody_could_place_its_records() -> None:
    skew = "do: clock-skew, offset: +5m, target: controllers"
    text = GOOD.replace("controllers: 3}", "controllers: 3, kafka: 4.1.1}").replace(
        "do: kill, target: leader", skew
    )
    with pytest.raises(ScenarioError) as refused:
        resolve(text, "demo.yaml", seed=1)
    assert str(refused.value).startswith("demo.yaml:7:51: faults[0].target: 'controllers' is refused")
    assert "before 4.2 nothing shows whose clock dated a record of the metadata log" in str(refused.value)


def test_an_unknown_scenario_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        find("acks1-leader-kil")
    assert str(refused.value).startswith(
        "scenario: unknown 'acks1-leader-kil'; did you mean acks1-leader-kill?"
    )


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsageError, match=r"absent\.yaml: cannot be read: No such file or directory"):
        find("absent.yaml")


def test_derived_seeds_begin_with_the_first_differ_and_repeat() -> None:
    assert derived_seeds(7, 3) == derived_seeds(7, 5)[:3]
    assert derived_seeds(7, 5)[0] == 7
    assert len(set(derived_seeds(7, 50))) == 50


def test_the_page_about_scenarios_has_the_defaults_of_the_model() -> None:
    """Each row of the table, as far as it names one key and a default."""
    page = (ROOT / "docs/scenarios.md").read_text()
    rows = re.findall(r"^\| `(cluster|workload|settle|expect)\.([a-z_]+)` \| (\S+) \|", page, re.MULTILINE)
    bare = resolve("name: bare\ntopics: [{name: t}]\n", "bare.yaml", seed=0).scenario.as_plain()
    written = {f"{part}.{key}": default for part, key, default in rows}
    defaults = {name: bare[name.partition(".")[0]][name.partition(".")[2]] for name in written}
    assert len(written) >= 14
    as_yaml = {True: "true", False: "false"}
    assert written == {
        name: as_yaml[value] if isinstance(value, bool) else str(value) for name, value in defaults.items()
    }


def test_a_scenario_made_in_python_is_resolved_as_its_text_is() -> None:
    for path in sorted(SHIPPED.rglob("*.yaml"))[::8]:
        resolved = resolve(*find(path.stem), seed=7)
        made = resolved.scenario.model_copy(update={"storm": None, "seed": None})
        assert resolve_made(made, "demo", seed=7) == resolve(scenario_text(made), "demo", seed=7)


def test_a_complaint_about_a_scenario_made_in_python_has_no_line() -> None:
    its = resolve(GOOD, "demo.yaml", seed=1).scenario
    (topic,) = its.topics
    made = its.model_copy(update={"topics": [topic.model_copy(update={"name": "o" * 250})]})
    with pytest.raises(ScenarioError, match=r"^demo\.yaml:1:1: topics\[0\]\.name: "):
        resolve_made(made, "demo.yaml")


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("workload: {rate: 9/s}", "3:18"),
        ("workload: {record: 9B}", "3:20"),
        ("cluster: {volume: 9GiB}", "3:19"),
        ("cluster: {kafka: 9.0.0}", "3:18"),
        ("cluster: {broker_config: {num.io.threads: '9'}}", "3:43"),
        ("faults: [{at: 9s, do: kill, target: leader, for: 1s}]", "3:15"),
        ("faults: [{at: 1s, do: kill, target: node 9, for: 1s}]", "3:37"),
    ],
)
def test_a_number_of_any_length_is_refused_at_its_place(text: str, place: str, digits: int) -> None:
    with pytest.raises(ScenarioError) as refused:
        resolve(f"name: demo\ntopics: [{{name: orders}}]\n{text.replace('9', '9' * digits)}\n", "demo.yaml")
    assert str(refused.value) == f"demo.yaml:{place}: a number of {digits} digits; allowed: at most 100"


def test_a_wrong_value_of_a_fault_is_not_repeated_at_any_length() -> None:
    with pytest.raises(ScenarioError) as refused:
        resolve(GOOD.replace("target: leader", f"target: {'x' * 5000}"), "demo.yaml")
    assert f"target: 'x{'x' * 198}… is refused; allowed: leader, " in str(refused.value)
