"""Files that Kafka 4.3.1 wrote, and what its own tool printed of them: tests/cluster/test_segments.py
made both.

Of each codec there are the batches of librdkafka, and those that the broker compressed anew.
"""

from pathlib import Path

import pytest
from fakes.history.compare_with_dump import assert_same, assert_same_snapshot
from fakes.history.dumped_segments import parse

from spark_verify.segments import checkpoints

FOLDER = Path(__file__).parents[3] / "fixtures/segments"
PRINTED = parse((FOLDER / "dumped.txt").read_text())
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PACKED = [f"{writer}-{codec}" for writer in ("librdkafka", "broker") for codec in CODECS]
TOPICS = dict.fromkeys(PACKED, 30) | {"appended": 30, "transactions": 6}
"""How many offsets each has."""
LOG = "00000000000000000000.log"


@pytest.mark.parametrize("topic", TOPICS)
def test_every_batch_and_record_is_read_as_kafka_reads_it(topic: str) -> None:
    name = f"{topic}-0/{LOG}"
    assert assert_same((FOLDER / name).read_bytes(), PRINTED[name]) == TOPICS[topic]


def test_a_segment_that_was_cut_off_ends_where_kafka_says() -> None:
    whole = (FOLDER / f"librdkafka-none-0/{LOG}").read_bytes()
    printed = PRINTED[f"partial-0/{LOG}"]
    last = PRINTED[f"librdkafka-none-0/{LOG}"].batches[-1].number("position")
    assert printed.torn_bytes == 30
    assert assert_same(whole[: last + 30], printed) == 28


@pytest.mark.parametrize("topic", TOPICS)
def test_every_producer_snapshot_is_read_as_kafka_reads_it(topic: str) -> None:
    (file,) = (FOLDER / f"{topic}-0").glob("*.snapshot")
    producers = assert_same_snapshot(file, PRINTED[f"{topic}-0/{file.name}"])
    assert producers == (topic in ("librdkafka-zstd", "transactions"))


def test_every_checkpoint_is_read() -> None:
    for name in (checkpoints.HIGH_WATERMARKS, checkpoints.RECOVERY_POINTS):
        offsets = checkpoints.offsets(FOLDER / name)
        assert {topic: offsets[topic, 0] for topic in TOPICS} == TOPICS
    assert checkpoints.offsets(FOLDER / checkpoints.LOG_STARTS) == {}
    assert checkpoints.leader_epochs(FOLDER / "transactions-0/leader-epoch-checkpoint").starts == (0,)
    assert checkpoints.meta_properties(FOLDER / checkpoints.META_PROPERTIES).node_id == 1
    assert checkpoints.clean_shutdown_epoch(FOLDER / checkpoints.CLEAN_SHUTDOWN) == 15
