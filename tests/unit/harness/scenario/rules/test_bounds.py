"""Bounds that nothing can keep."""

import pytest
from fakes.run.refusals import complaints

from harness.scenario.rules import workload


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (
            "acked.count >= 10, acked.count < 5",
            "demo.yaml:5:29: accept[1]: 'acked.count < 5' and 'acked.count >= 10' cannot both hold",
        ),
        (
            "acked.count > 4, acked.count < 5",
            "demo.yaml:5:27: accept[1]: 'acked.count < 5' and 'acked.count > 4' cannot both hold",
        ),
        (
            "unavailable.max < 20s, unavailable.max >= 20s",
            "demo.yaml:5:33: accept[1]: 'unavailable.max >= 20s' and 'unavailable.max < 20s' "
            "cannot both hold",
        ),
        (
            "failed.ratio >= 0.6, indeterminate.ratio > 0.4",
            "demo.yaml:5:31: accept[1]: 'indeterminate.ratio > 0.4' and 'failed.ratio >= 0.6' cannot both "
            "hold",
        ),
    ],
)
def test_lines_that_exclude_each_other_are_refused(lines: str, complaint: str) -> None:
    assert complaints(rest=f"accept: [{lines}]\n") == (complaint,)


@pytest.mark.parametrize(
    "lines",
    [
        "acked.count >= 10, acked.count <= 10",
        "acked.count > 4, acked.count <= 5",
        "unavailable.max < 20s, unavailable.max > 19s",
        "unavailable.max < 20s, unavailable.max < 10s",
        "failed.ratio >= 0.6, indeterminate.ratio >= 0.4",
        "failed.ratio >= 0.6, indeterminate.ratio <= 0.1",
        "acked.count >= 10, failed.ratio > 0.5",
    ],
)
def test_lines_that_can_hold_together_are_not(lines: str) -> None:
    assert complaints(rest=f"accept: [{lines}]\n") == ()


def test_accepted_and_required_lines_exclude_each_other_too() -> None:
    rest = "accept: [unavailable.max <= 5s]\nrequire: [isr.min <= 1, unavailable.max >= 8s]\n"
    assert complaints(rest=rest) == (
        "demo.yaml:6:25: require[1]: 'unavailable.max >= 8s' and 'unavailable.max <= 5s' cannot both hold",
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("isr.min <= 3", "'isr.min <= 3' always holds: isr.min is from 0 to 3; give a bound within"),
        (
            "brokers.restarted >= 4",
            "'brokers.restarted >= 4' never holds: brokers.restarted is from 0 to 3; give a bound within",
        ),
        (
            "data-lost.brokers > 3",
            "'data-lost.brokers > 3' never holds: data-lost.brokers is from 0 to 3; give a bound within",
        ),
        (
            "log-dirs.offline >= 1",
            "'log-dirs.offline >= 1' never holds: log-dirs.offline is from 0 to 0; give a bound within",
        ),
        (
            "fencings >= 1",
            "fencings is about transactions, and the load has none; give it workload.transactions",
        ),
        (
            "errors.NOT_ENOUGH > 0",
            "no client reports an error 'NOT_ENOUGH'; write errors.NOT_ENOUGH_REPLICAS, for example",
        ),
    ],
)
def test_evidence_that_this_cluster_cannot_show_or_always_shows_is_refused(line: str, complaint: str) -> None:
    assert complaints(rest=f"require: [{line}]\n") == (f"demo.yaml:5:11: require[0]: {complaint}",)


KILL = "faults: [{at: 2s, do: kill, target: leader, for: 8s}]\n"
WIPE = "faults: [{at: 2s, do: disk-wipe, target: leader, for: 8s}]\n"
NO_ELR = "the cluster has no eligible leader replicas; set cluster.elr: true, with Kafka 4.0 or newer"
ALONE = "{name: orders, replication: 1}"


@pytest.mark.parametrize(
    ("cluster", "topics", "line", "why"),
    [
        ("elr: false", "{name: orders}", "elections.elr >= 1", NO_ELR),
        ("kafka: 3.9.1", "{name: orders}", "elections.last-known > 0", NO_ELR),
        (
            "",
            "{name: orders}",
            "elections.unclean >= 1",
            "no topic has unclean.leader.election.enable=true, and no fault asks for an unclean election; "
            "give it one of them",
        ),
        ("", "{name: orders}", "nodes.new-release >= 1", "no fault does that; give it rolling-upgrade"),
        ("", "{name: orders}", "replicas.changes >= 1", "no fault does that; give it reassign"),
        ("", "{name: orders}", "clocks.apart >= 5s", "no fault does that; give it clock-skew"),
        (
            "",
            "{name: orders}",
            "data-lost.brokers >= 1",
            "no fault does that; give it disk-wipe or log-dir-failure or power-loss",
        ),
        ("", ALONE, "leaders.moved >= 1", "no topic has more than one replica"),
        ("elr: false", ALONE, "isr.shrinks >= 1", "no topic has more than one replica"),
    ],
)
def test_evidence_of_what_nothing_can_bring_about_is_refused(
    cluster: str, topics: str, line: str, why: str
) -> None:
    assert complaints(cluster=cluster, topics=topics, rest=f"{KILL}require: [{line}]\n") == (
        f"demo.yaml:6:11: require[0]: '{line}' never holds: {why}",
    )


@pytest.mark.parametrize(
    ("cluster", "topics", "rest"),
    [
        ("elr: false", "{name: orders}", "require: [elections.elr <= 0, data-lost.brokers < 1]\n"),
        ("", "{name: orders}", "require: [elections.elr >= 1, elections.last-known >= 1]\n"),
        (
            "broker_config: {unclean.leader.election.enable: true}",
            "{name: orders}",
            "require: [elections.unclean >= 1]\n",
        ),
        (
            "",
            "{name: a}, {name: b, config: {unclean.leader.election.enable: true}}",
            "require: [elections.unclean >= 1]\n",
        ),
        ("", "{name: orders}", f"{WIPE}require: [data-lost.brokers >= 1]\n"),
        ("", "{name: orders}", "storm: {duration: 60s}\nrequire: [data-lost.brokers >= 1]\n"),
        ("", ALONE, "require: [isr.shrinks >= 1]\n"),
    ],
)
def test_evidence_that_something_can_bring_about_is_taken(cluster: str, topics: str, rest: str) -> None:
    assert complaints(cluster=cluster, topics=topics, rest=rest) == ()


def test_a_loss_needs_a_fault() -> None:
    line = "expect: {acked_loss: permitted}\n"
    assert complaints(rest=line) == (
        "demo.yaml:5:22: expect.acked_loss: nothing is lost without a fault, and the scenario has none; give "
        "it faults",
    )
    assert complaints(rest=f"{line}{KILL}") == ()
    assert complaints(rest=f"{line}storm: {{duration: 60s}}\n") == ()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "accept: [unavailable.max >= 100h]",
            "'unavailable.max >= 100h' never holds: the run lasts 624s at most",
        ),
        ("require: [offline.max >= 100h]", "'offline.max >= 100h' never holds: the run lasts 1344s at most"),
        ("require: [zombie.max > 1h]", "'zombie.max > 1h' never holds: the run lasts 1344s at most"),
        (
            "accept: [unavailable.max <= 0s]",
            "'unavailable.max <= 0s' never holds: there is some time between two acknowledgements",
        ),
        ("require: [unavailable.max >= 10m]", None),
        ("require: [offline.max >= 15m]", None),
        ("accept: [unavailable.max <= 100h]", None),
    ],
)
def test_no_time_is_longer_than_the_run_or_as_short_as_nothing(line: str, complaint: str | None) -> None:
    """The load of 12 s, with its tail, lasts at most twice as long and ten minutes; the run as much longer as
    it may take to settle, and ten minutes."""
    key, _, _ = line.partition(":")
    found = complaints(rest=f"{KILL}{line}\n")
    assert found == (() if complaint is None else (f"demo.yaml:6:{len(key) + 4}: {key}[0]: {complaint}",))


@pytest.mark.parametrize(
    ("settle", "complaint"),
    [
        ("{full_isr: 1ms}", "demo.yaml:5:20: settle.full_isr: 0.001s is refused; allowed: 1s to 31536000s"),
        (
            "{final_read: 999ms}",
            "demo.yaml:5:22: settle.final_read: 0.999s is refused; allowed: 1s to 31536000s",
        ),
        ("{final_read: 1s, full_isr: 1s}", None),
    ],
)
def test_no_cluster_settles_in_no_time(settle: str, complaint: str | None) -> None:
    assert complaints(rest=f"settle: {settle}\n") == (() if complaint is None else (complaint,))


def test_nobody_waits_for_years() -> None:
    text = "faults: [{at: 9000h, do: kill, target: leader, for: 8s}]\n"
    assert complaints(
        topics="{name: orders, config: {retention.ms: -1}}", workload="rate: max", rest=text
    ) == ("demo.yaml:5:9: faults: the load would last 32400010s; allowed: at most 31536000s",)


def test_what_readers_have_lost_needs_a_reader() -> None:
    line = "require: [reads.lost >= 1]\n"
    assert complaints(workload="readers: 0", rest=line) == (
        "demo.yaml:5:11: require[0]: reads.lost is about readers, and the load has none; give it "
        "workload.readers",
    )
    assert complaints(workload="readers: 1", rest=line) == ()


@pytest.mark.parametrize("key", ["accept", "require"])
@pytest.mark.parametrize(
    ("workload", "faults", "bound", "complaint"),
    [
        (
            "tail: 20s",
            "",
            "<= 8s",
            "resumed.max is about the time after the last fault, and the scenario has none; give it faults",
        ),
        (
            "",
            KILL,
            "<= 8s",
            "'resumed.max <= 8s' may hold whatever happens: the load may end 2s after the last fault; "
            "give it a workload.tail of more than 8s",
        ),
        (
            "tail: 8s",
            KILL,
            "< 8s",
            "'resumed.max < 8s' may hold whatever happens: the load may end 8s after the last fault; "
            "give it a workload.tail of more than 8s",
        ),
        ("tail: 9s", KILL, "<= 8s", None),
        ("", KILL, "> 8s", None),
        ("tail: 9s", "storm: {duration: 60s}\n", "<= 8s", None),
    ],
)
def test_a_wait_after_the_last_fault_needs_a_fault_and_a_load_that_goes_on_for_longer(
    key: str, workload: str, faults: str, bound: str, complaint: str | None
) -> None:
    found = complaints(workload=workload, rest=f"{key}: [resumed.max {bound}]\n{faults}")
    place = f"demo.yaml:5:{len(key) + 4}: {key}[0]"
    assert found == (() if complaint is None else (f"{place}: {complaint}",))


@pytest.mark.parametrize(
    "line",
    ["isr.min <= 2", "brokers.restarted >= 3", "errors.NOT_ENOUGH_REPLICAS > 0", "errors._TRANSPORT < 9"],
)
def test_evidence_that_a_run_can_lack_is_taken(line: str) -> None:
    assert complaints(rest=f"require: [{line}]\n") == ()


def test_only_a_broker_with_several_log_directories_goes_on_without_one() -> None:
    """It may lose one more than once."""
    assert complaints(cluster="log_dirs: 2", rest="require: [log-dirs.offline >= 4]\n") == ()


@pytest.mark.parametrize("lines", ["accept", "require"])
def test_more_acknowledgements_than_the_rate_can_ever_give_are_refused(lines: str) -> None:
    """2,000/s for 10 s, which may take twice as long and ten minutes more."""
    bound = "acked.count > 1000000000"
    assert complaints(rest=f"{lines}: [{bound}]\n") == (
        f"demo.yaml:5:{len(lines) + 4}: {lines}[0]: '{bound}' never holds: acked.count is from 0 to "
        "1.24e+06; give a bound within",
    )
    late = "faults: [{at: 200h, do: kill, target: leader, for: 8s}]"
    kept = "{name: orders, config: {retention.ms: -1}}"
    assert complaints(topics=kept, cluster="volume: 1024GiB", rest=f"{lines}: [{bound}]\n{late}\n") == ()
    assert complaints(workload="rate: max", rest=f"{lines}: [{bound}]\n") == ()
    assert complaints(rest=f"{lines}: [acked.count > 20000]\n") == ()


@pytest.mark.parametrize(
    ("workload", "rest", "complaint"),
    [
        (
            "",
            "settle: {full_isr: 0s}",
            "demo.yaml:5:20: settle.full_isr: 0s is refused; allowed: 1s to 31536000s",
        ),
        (
            "",
            "settle: {final_read: 0s}",
            "demo.yaml:5:22: settle.final_read: 0s is refused; allowed: 1s to 31536000s",
        ),
        (
            "delivery_timeout: 0s",
            "",
            "demo.yaml:4:30: workload.delivery_timeout: 0s is refused; allowed: more than 0s, "
            "at most 2147483.647s",
        ),
        (
            "delivery_timeout: 600h",
            "",
            "demo.yaml:4:30: workload.delivery_timeout: 2160000s is refused; allowed: more than 0s, "
            "at most 2147483.647s",
        ),
        (
            "lasts: 9000h, rate: max",
            "",
            "demo.yaml:4:19: workload.lasts: 32400000s is refused; allowed: at most 31536000s",
        ),
    ],
)
def test_a_time_in_which_nothing_can_happen_or_without_end_is_refused(
    workload: str, rest: str, complaint: str
) -> None:
    assert complaints(workload=workload, rest=rest) == (complaint,)


def test_a_schedule_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert workload.MOST_STEPS == 10_000
    monkeypatch.setattr(workload, "MOST_STEPS", 20)
    steps = "faults:\n" + "  - {at: 1s, do: kill, target: leader, for: 3s}\n" * 21
    assert complaints(rest=steps) == ("demo.yaml:6:3: faults: 21 steps are too many; allowed: at most 20",)
    assert complaints(rest=steps.removesuffix("  - {at: 1s, do: kill, target: leader, for: 3s}\n")) == ()
    assert complaints(rest="storm: {duration: 13h}") == (
        "demo.yaml:5:19: storm.duration: '46800s' is refused; allowed: at most 28333.333s, or longer holds "
        "and gaps",
    )
