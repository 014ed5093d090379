"""A broker's replicas lie in any of its log directories; what each says of itself holds for those in it."""

from pathlib import Path

from checkers.history.rows import TopicPartition
from spark_verify.passes.replicas.list_replicas import ListedReplica, list_replicas
from spark_verify.segments.data_directory import copies

LOG = "00000000000000000000.log"
ORDERS = [TopicPartition("orders", number) for number in range(3)]


def put(replicas: Path, label: str, folder: str) -> Path:
    """A replica of one empty segment in a copied log directory, which is returned."""
    (replicas / label / folder).mkdir(parents=True)
    (replicas / label / folder / LOG).touch()
    return replicas / label


def by_partition(replicas: Path) -> dict[int, ListedReplica]:
    listed = list_replicas(replicas, ORDERS, [])
    return {one.tp.partition: one for one in listed}


def test_the_copies_of_a_broker_are_its_own_in_the_order_of_its_log_directories(tmp_path: Path) -> None:
    for name in ("1-2", "12", "1", "2", "1-3", "x", "1-", "not-read.json"):
        (tmp_path / name).mkdir()
    assert copies(tmp_path) == {
        1: [tmp_path / "1", tmp_path / "1-2", tmp_path / "1-3"],
        2: [tmp_path / "2"],
        12: [tmp_path / "12"],
    }


def test_a_replica_is_found_in_any_log_directory_with_what_that_one_says_of_it(tmp_path: Path) -> None:
    first, second = put(tmp_path, "1", "orders-0"), put(tmp_path, "1-2", "orders-1")
    (first / ".kafka_cleanshutdown").touch()
    (first / "replication-offset-checkpoint").write_text("0\n1\norders 0 70\n")
    (second / "replication-offset-checkpoint").write_text("0\n1\norders 1 60\n")
    its = by_partition(tmp_path)
    assert sorted(its) == [0, 1]
    assert [its[number].disk.clean for number in (0, 1)] == [True, False]
    assert [its[number].disk.high_watermarks for number in (0, 1)] == [
        {("orders", 0): 70},
        {("orders", 1): 60},
    ]
    assert [its[number].segments[0].path for number in (0, 1)] == [
        first / "orders-0" / LOG,
        second / "orders-1" / LOG,
    ]
    assert [its[number].reasons for number in (0, 1)] == [[], []]


def test_a_damaged_checkpoint_is_a_reason_of_the_replicas_in_its_log_directory_alone(tmp_path: Path) -> None:
    put(tmp_path, "1", "orders-0")
    (put(tmp_path, "1-2", "orders-1") / "recovery-point-offset-checkpoint").write_text("9\n")
    its = by_partition(tmp_path)
    assert its[0].reasons == []
    assert len(its[1].reasons) == 1


def test_a_replica_in_two_log_directories_is_not_read(tmp_path: Path) -> None:
    """Nobody knows which of them the broker takes."""
    put(tmp_path, "1", "orders-0")
    put(tmp_path, "1-2", "orders-0")
    (listed,) = list_replicas(tmp_path, ORDERS, [])
    assert listed.reasons == ["broker 1 has a folder of it in 2 log directories"]
    assert listed.segments == ()


def test_what_was_moved_deleted_or_found_without_an_owner_is_no_replica(tmp_path: Path) -> None:
    put(tmp_path, "1", "orders-0")
    for suffix in ("future", "delete", "stray"):
        put(tmp_path, "1-2", f"orders-0.5f3a1c-{suffix}")
    (listed,) = list_replicas(tmp_path, ORDERS, [])
    assert listed.reasons == []
    assert listed.segments[0].path == tmp_path / "1" / "orders-0" / LOG


def test_a_replica_that_is_in_no_log_directory_is_missed(tmp_path: Path) -> None:
    put(tmp_path, "1", "orders-0")
    put(tmp_path, "1-2", "orders-1")
    (missed,) = [one for one in list_replicas(tmp_path, [], [(ORDERS[2], 1)]) if one.tp == ORDERS[2]]
    assert missed.reasons == ["broker 1 has no folder of it"]
