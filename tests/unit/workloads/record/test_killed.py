"""A harness that is killed at any moment leaves a journal that explains every record in Kafka."""

from pathlib import Path

from fakes.run.killed_load import assert_every_record_is_explained, kill_a_load
from fakes.world.mock_kafka import MockKafka


def test_every_record_in_the_log_of_a_killed_run_has_its_send(tmp_path: Path) -> None:
    with MockKafka(3, t=2) as kafka:
        kill_a_load(kafka.bootstrap, "t", tmp_path, after_s=0.8)
        assert_every_record_is_explained(kafka.bootstrap, "t", tmp_path)
