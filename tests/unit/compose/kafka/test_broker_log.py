"""Lines of real nodes' logs, and what they show."""

import pytest

from compose.kafka.broker_log import BrokerLogLine, broker_epoch, naming_release, parse, release

LOADED = (
    "[2026-11-21 22:34:40,849] INFO Completed load of Log(dir=/data/kafka/orders-0, "
    "topicId=qdzd6suYR9iYowO0vqRiEQ, topic=orders, partition=0, highWatermark=4968, lastStableOffset=4968, "
    "logStartOffset=0, logEndOffset=9838) with 1 segments, local-log-start-offset 0 and log-end-offset 9838 "
    "in 41ms (2/7 completed in /data/kafka) (kafka.log.LogManager)"
)
LEADER = (
    "[2026-11-21 22:33:55,314] INFO [Broker id=1] Leader orders-2 with topic id Some(qdzd6suYR9iYowO0vqRiEQ) "
    "starts at leader epoch 3 from offset 71 with partition epoch 0, high watermark 68, ISR [1,2,3], adding "
    "replicas [] and removing replicas [] . Previous leader None and previous leader epoch was -1. "
    "(state.change.logger)"
)
FOLLOWER = (
    "[2026-11-21 22:34:40,772] INFO [Broker id=1] Follower orders-4 starts at leader epoch 1 from "
    "offset 10099 "
    "with partition epoch 1 and high watermark 10097. Current leader is 3. Previous leader Some(1) and "
    "previous leader epoch was 0. (state.change.logger)"
)
ANNOUNCED = (
    "[2026-11-21 22:34:40,849] INFO [ReplicaFetcher replicaId=1, leaderId=3, fetcherId=0] Truncating "
    "partition "
    "orders-4 with TruncationState(offset=10097, completed=true) due to leader epoch and offset "
    "EpochEndOffset(errorCode=0, partition=4, leaderEpoch=0, endOffset=10097) "
    "(kafka.server.ReplicaFetcherThread)"
)
CUT = (
    "[2026-11-21 22:34:40,852] INFO [UnifiedLog partition=orders-4, dir=/data/kafka] Truncating to "
    "offset 10097 "
    "(org.apache.kafka.storage.internals.log.UnifiedLog)"
)
ANNOUNCED_NEW = (
    "[2026-11-21 22:33:55,517] INFO [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Truncating "
    "partition "
    "orders-0 with TruncationState(offset=0, completed=true) due to local high watermark 0 "
    "(kafka.server.ReplicaFetcherThread)"
)
NO_EFFECT = (
    "[2026-11-21 22:33:55,524] INFO [UnifiedLog partition=orders-0, dir=/data/kafka] Truncating to 0 has no "
    "effect as the largest offset in the log is -1 (org.apache.kafka.storage.internals.log.UnifiedLog)"
)
BELOW = (
    "[2026-11-21 22:34:40,861] WARN [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Truncating "
    "orders-0 "
    "to offset 0 below high watermark 4968 (kafka.server.ReplicaFetcherThread)"
)
UNCLEAN = (
    "[2026-11-21 22:34:31,004] INFO [QuorumController id=101] UNCLEAN partition change for orders-0 "
    "with topic "
    "ID qdzd6suYR9iYowO0vqRiEQ: isr: [] -> [2], leader: -1 -> 2, leaderRecoveryState: RECOVERED -> "
    "RECOVERING, "
    "leaderEpoch: 1 -> 2, lastKnownElr: [2] -> [], partitionEpoch: 5 -> 6 "
    "(org.apache.kafka.controller.ReplicationControlManager)"
)
RECOVERED = (
    "[2026-11-21 22:34:40,102] INFO [LogLoader partition=orders-0, dir=/data/kafka] Recovering unflushed "
    "segment 0. 0 recovered for orders-0. (org.apache.kafka.storage.internals.log.LogLoader)"
)
END_POINTS = (
    "BrokerEndPoint(2,kafka-2,10002)",
    "BrokerEndPoint(id=2, host=kafka-2:10002)",
    "BrokerEndPoint[id=2, host=kafka-2, port=10002]",
)
"""As a case class of Scala, a class of Java, and a record of Java print themselves."""
FETCHERS = (
    "[2026-11-21 22:34:40,780] INFO [ReplicaFetcherManager on broker 1] Added fetcher to broker 2 for "
    "partitions "
)
FETCHED_4 = "orders-4 -> InitialFetchState(Some(qdzd6suYR9iYowO0vqRiEQ),{0},1,10099)"
FETCHED_0 = "my-topic.v1_x-0 -> InitialFetchState(None,{0},12,0)"
HALTED = (
    "[2026-11-21 22:34:40,102] ERROR Shutdown broker because all log dirs in /data/kafka have failed "
    "(kafka.log.LogManager)"
)


def only(*lines: str) -> BrokerLogLine:
    (found,) = parse("\n".join(lines) + "\n")
    return found


def test_a_loaded_log_has_its_log_end_and_high_watermark() -> None:
    assert only(LOADED) == BrokerLogLine(
        at_ms=1795300480849,
        kind="loaded",
        topic="orders",
        partition=0,
        offset=9838,
        high_watermark=4968,
        line=LOADED,
    )


def test_a_role_begins_with_an_epoch_and_the_log_end() -> None:
    assert only(LEADER) == BrokerLogLine(
        at_ms=1795300435314,
        kind="leader-start",
        topic="orders",
        partition=2,
        leader_epoch=3,
        offset=71,
        high_watermark=68,
        line=LEADER,
    )
    assert only(FOLLOWER) == BrokerLogLine(
        at_ms=1795300480772,
        kind="follower-start",
        topic="orders",
        partition=4,
        leader_epoch=1,
        offset=10099,
        high_watermark=10097,
        line=FOLLOWER,
    )


@pytest.mark.parametrize(
    "lines", [(ANNOUNCED, CUT), (ANNOUNCED,), (ANNOUNCED, FOLLOWER.replace("-4", "-5"), CUT)]
)
def test_a_cut_that_is_announced_and_done_is_one_line(lines: tuple[str, ...]) -> None:
    """It has the epoch of the announcement, which also stands alone: a release may word the rest anew."""
    (found,) = (each for each in parse("\n".join(lines)) if each.kind == "truncated")
    assert found == BrokerLogLine(
        at_ms=1795300480849,
        kind="truncated",
        topic="orders",
        partition=4,
        leader_epoch=0,
        offset=10097,
        line=ANNOUNCED,
    )


def test_a_cut_without_an_announcement_counts() -> None:
    found = only(CUT)
    assert (found.kind, found.topic, found.partition, found.offset) == ("truncated", "orders", 4, 10097)
    assert (found.leader_epoch, found.high_watermark) == (-1, -1)


def test_an_announced_cut_with_no_effect_is_no_cut() -> None:
    assert list(parse(f"{ANNOUNCED_NEW}\n{NO_EFFECT}\n")) == []
    assert only(ANNOUNCED_NEW).offset == 0


def test_no_effect_on_one_partition_leaves_the_cut_of_another() -> None:
    assert only(ANNOUNCED, ANNOUNCED_NEW, NO_EFFECT, CUT).partition == 4


def test_two_cuts_of_one_partition_are_two_lines() -> None:
    again = ANNOUNCED.replace("offset=10097, completed=true", "offset=90, completed=true")
    done = CUT.replace("10097", "90")
    assert [found.offset for found in parse("\n".join([ANNOUNCED, CUT, again, done]))] == [10097, 90]
    assert [found.offset for found in parse("\n".join([ANNOUNCED, again, done]))] == [10097, 90]
    assert [found.offset for found in parse("\n".join([ANNOUNCED, done]))] == [10097, 90]


def test_a_broker_reports_itself_that_it_drops_what_was_below_its_high_watermark() -> None:
    found = only(BELOW)
    assert (found.kind, found.topic, found.partition) == ("truncated-below-hw", "orders", 0)
    assert (found.offset, found.high_watermark) == (0, 4968)


@pytest.mark.parametrize("end_point", END_POINTS)
def test_a_fetcher_begins_with_an_epoch_and_an_offset_for_each_partition(end_point: str) -> None:
    entries = [entry.format(end_point) for entry in (FETCHED_4, FETCHED_0)]
    found = list(parse(f"{FETCHERS}HashMap({', '.join(entries)}) (kafka.server.ReplicaFetcherManager)"))
    assert found == [
        BrokerLogLine(
            at_ms=1795300480780,
            kind="fetcher-start",
            topic="orders",
            partition=4,
            leader_epoch=1,
            offset=10099,
            line=FETCHERS + entries[0],
        ),
        BrokerLogLine(
            at_ms=1795300480780,
            kind="fetcher-start",
            topic="my-topic.v1_x",
            partition=0,
            leader_epoch=12,
            offset=0,
            line=FETCHERS + entries[1],
        ),
    ]


def test_a_fetcher_of_another_wording_lends_no_offset_to_the_partition_before() -> None:
    entries = "orders-4 -> InitialFetchState(later, another), " + FETCHED_0.format(END_POINTS[0])
    (found,) = parse(f"{FETCHERS}Map({entries})")
    assert (found.topic, found.partition, found.offset) == ("my-topic.v1_x", 0, 0)


def test_a_fetcher_between_two_log_directories_of_one_broker_shows_nothing() -> None:
    entry = FETCHED_4.format(END_POINTS[1])
    moving = FETCHERS.replace("ReplicaFetcherManager", "ReplicaAlterLogDirsManager")
    assert list(parse(f"{moving}Map({entry})")) == []


def test_an_unclean_election_has_the_epoch_that_it_begins() -> None:
    found = only(UNCLEAN)
    assert (found.kind, found.topic, found.partition) == ("unclean-election", "orders", 0)
    assert (found.leader_epoch, found.offset) == (2, -1)
    without_id = UNCLEAN.replace(" with topic ID qdzd6suYR9iYowO0vqRiEQ", "")
    assert (only(without_id).kind, only(without_id).leader_epoch) == ("unclean-election", 2)


def test_a_segment_that_had_not_been_flushed_is_recovered() -> None:
    found = only(RECOVERED)
    assert (found.kind, found.topic, found.partition, found.offset) == ("recovered", "orders", 0, 0)


@pytest.mark.parametrize(
    "message",
    [
        "ERROR Encountered fatal fault: Unexpected error in raft IO thread "
        "(org.apache.kafka.server.fault.ProcessTerminatingFaultHandler)",
        "ERROR Shutdown broker because all log dirs in /data/kafka have failed (kafka.log.LogManager)",
        "FATAL Halting broker because dir /data/kafka is offline (kafka.server.ReplicaManager)",
        "ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)",
        "ERROR [BrokerServer id=1] Fatal error during broker startup. Prepare to shutdown "
        "(kafka.server.BrokerServer)",
    ],
)
def test_a_process_that_ends_itself_gives_a_reason(message: str) -> None:
    found = only(f"[2026-11-21 22:34:40,102] {message}")
    assert (found.kind, found.topic, found.partition, found.at_ms) == ("halted", "", -1, 1795300480102)


VERSION = "[2026-11-21 22:34:40,102] INFO Kafka version: {} (org.apache.kafka.common.utils.AppInfoParser)"


def test_a_node_names_its_release() -> None:
    found = only(VERSION.format("4.3.1"))
    assert (found.kind, found.topic, found.partition, found.at_ms) == ("version", "", -1, 1795300480102)
    assert found.line.endswith("Kafka version: 4.3.1 (org.apache.kafka.common.utils.AppInfoParser)")


def test_the_release_is_the_one_that_was_named_last() -> None:
    assert release("\n".join([VERSION.format("3.9.1"), LOADED, VERSION.format("4.3.1"), CUT])) == "4.3.1"
    assert release(LOADED) == ""


def test_the_line_that_names_the_release_last_is_given_whole() -> None:
    lines = [f"{line}\n" for line in (VERSION.format("3.9.1"), LOADED, VERSION.format("4.3.1"), CUT)]
    assert naming_release("".join(lines)) == lines[2]
    assert naming_release(LOADED) == ""


def test_topics_with_dots_and_dashes_are_read_whole() -> None:
    lines = [line.replace("orders", "my-topic.v1_x-0") for line in (LEADER, FOLLOWER, CUT, BELOW, UNCLEAN)]
    assert {found.topic for found in parse("\n".join(lines))} == {"my-topic.v1_x-0"}
    assert only(LOADED.replace("orders", "my-topic.v1_x-0")).topic == "my-topic.v1_x-0"


def test_whatever_else_a_log_holds_is_left_out() -> None:
    """Also lines that look like ours without their time, as in a stack trace."""
    others = (
        "",
        "java.io.IOException: fatal",
        "\tat kafka.log.LogManager.loadLogs(LogManager.scala:507)",
        "[no log of node 1: it is gone]",
        CUT.partition("] ")[2],
        "[2026-11-21 22:34:40,102] INFO Loading logs from log dirs ArrayBuffer(/data/kafka) "
        "(kafka.log.LogManager)",
        "[2026-11-21 22:33:52,910] INFO [QuorumController id=101] Registering periodic task "
        "electUnclean to run "
        "every 300000 ms (org.apache.kafka.controller.PeriodicTaskControlManager)",
        "[2026-11-21 22:33:54,460] INFO Error while loading logs in /data/kafka/x (kafka.log.LogManager)",
    )
    assert list(parse("\n".join(others))) == []


def test_the_last_registration_has_the_broker_epoch() -> None:
    line = (
        "[2026-11-21 22:33:{second},517] INFO [BrokerLifecycleManager id=1] Successfully registered broker 1 "
        "with broker epoch {epoch} (kafka.server.BrokerLifecycleManager)"
    )
    lines = [line.format(second=second, epoch=epoch) for second, epoch in ((50, 12), (58, 1047))]
    assert broker_epoch("\n".join([LOADED, *lines, FOLLOWER])) == 1047
    assert broker_epoch(LOADED) == -1


def test_a_long_line_is_kept_in_front() -> None:
    long = UNCLEAN + "x" * 5000
    assert only(long).line == long[:1000]
