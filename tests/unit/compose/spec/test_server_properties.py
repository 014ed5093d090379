"""server.properties that follow from a topology."""

from compose.spec.server_properties import format_features, render, server_properties
from compose.spec.topology import Topology

ADDRESS = "127.0.0.1:32768"


def test_broker() -> None:
    """A broker advertises the client edge to clients and its mesh name to brokers."""
    got = server_properties(Topology(), 2, client_address=ADDRESS)
    assert got["process.roles"] == "broker"
    assert got["listeners"] == "CLIENT://:9092,BROKER://:10002"
    assert got["advertised.listeners"] == "CLIENT://127.0.0.1:32768,BROKER://kafka-2:10002"
    assert got["controller.quorum.voters"] == "101@kafka-101:20101,102@kafka-102:20102,103@kafka-103:20103"
    assert got["auto.create.topics.enable"] == "false"


def test_controller() -> None:
    """A separate controller has the quorum's listener only and advertises nothing."""
    got = server_properties(Topology(), 102, client_address="")
    assert (got["process.roles"], got["listeners"]) == ("controller", "CONTROLLER://:20102")
    assert "advertised.listeners" not in got
    assert got["broker.session.timeout.ms"] == "4000"


def test_combined() -> None:
    """A combined node has all three listeners."""
    got = server_properties(Topology(combined=True), 1, client_address=ADDRESS)
    assert got["process.roles"] == "broker,controller"
    assert got["listeners"] == "CLIENT://:9092,BROKER://:10001,CONTROLLER://:20001"


def test_topic_defaults_reach_controllers() -> None:
    """Controllers decide by min.insync.replicas and unclean election, so they get the brokers' values."""
    topology = Topology(
        broker_config={"min.insync.replicas": 1, "unclean.leader.election.enable": True, "num.io.threads": 2}
    )
    got = server_properties(topology, 101, client_address="")
    assert (got["min.insync.replicas"], got["unclean.leader.election.enable"]) == ("1", "true")
    assert "num.io.threads" not in got


def test_own_settings_win() -> None:
    """What the topology sets goes over the defaults."""
    topology = Topology(broker_config={"replica.lag.time.max.ms": 9000})
    assert server_properties(topology, 1, client_address=ADDRESS)["replica.lag.time.max.ms"] == "9000"


def test_one_broker() -> None:
    """A single broker gets internal topics that it can hold."""
    got = server_properties(Topology(brokers=1, controllers=1), 1, client_address=ADDRESS)
    assert got["offsets.topic.replication.factor"] == got["min.insync.replicas"] == "1"


def test_log_directories() -> None:
    """A broker with several names the one with its metadata log; a controller has one, and names none."""
    topology = Topology(log_dirs=3)
    got = server_properties(topology, 1, client_address=ADDRESS)
    assert got["log.dirs"] == "/data/kafka,/data-2/kafka,/data-3/kafka"
    assert got["metadata.log.dir"] == "/data/kafka"
    for its in (
        server_properties(topology, 101, client_address=""),
        server_properties(Topology(), 1, client_address=ADDRESS),
    ):
        assert its["log.dirs"] == "/data/kafka"
        assert "metadata.log.dir" not in its


def test_a_combined_node_has_the_log_directories_of_a_broker() -> None:
    got = server_properties(Topology(combined=True, log_dirs=2), 1, client_address=ADDRESS)
    assert got["log.dirs"] == "/data/kafka,/data-2/kafka"


def test_text() -> None:
    """A backslash survives Java's reading of the file."""
    assert render({"a": "b", "c": "d\\e"}) == "a=b\nc=d\\\\e\n"


def test_features() -> None:
    """ELR is named to the formatter only where the release knows it and somebody asked."""
    assert format_features(Topology(elr=True)) == ("--feature", "eligible.leader.replicas.version=1")
    assert format_features(Topology(elr=False)) == ("--feature", "eligible.leader.replicas.version=0")
    both = Topology(elr=True, transaction_version=2)
    assert format_features(both)[2:] == ("--feature", "transaction.version=2")
    assert format_features(Topology(transaction_version=1)) == ("--feature", "transaction.version=1")
    assert format_features(Topology()) == format_features(Topology(kafka="3.9.1", elr=False)) == ()
