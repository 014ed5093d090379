"""librdkafka's mock cluster under the test's control: request errors, late answers, brokers that go down.

A real network protocol on loopback without any Kafka: it tests what our clients do, never what Kafka does.
Source: rdkafka_mock.h; the shared library is the one that confluent_kafka brings.
"""

import ctypes
from pathlib import Path
from types import TracebackType

import confluent_kafka

PRODUCE = 0
_PRODUCER = 0


class MockKafka:
    """Brokers 1..n on loopback; every topic must be created."""

    def __init__(self, brokers: int = 3, **topics: int) -> None:
        (library,) = (Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs").glob(
            "librdkafka*"
        )
        self._lib = ctypes.CDLL(str(library))
        for name in ("conf_new", "new", "mock_cluster_new", "mock_cluster_bootstraps"):
            getattr(self._lib, f"rd_kafka_{name}").restype = ctypes.c_void_p
        conf = ctypes.c_void_p(self._lib.rd_kafka_conf_new())
        self._lib.rd_kafka_conf_set(conf, b"log_level", b"0", None, ctypes.c_size_t(0))
        self._handle = ctypes.c_void_p(self._lib.rd_kafka_new(_PRODUCER, conf, None, ctypes.c_size_t(0)))
        self._cluster = ctypes.c_void_p(self._lib.rd_kafka_mock_cluster_new(self._handle, brokers))
        text = ctypes.c_char_p(self._lib.rd_kafka_mock_cluster_bootstraps(self._cluster)).value
        assert text is not None
        self.bootstrap = text.decode()
        for name, partitions in topics.items():
            self._lib.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, brokers)

    def answer(self, request: int, *errors: int) -> None:
        """Answer the next requests of this kind, whichever broker gets them, with these errors."""
        codes = [ctypes.c_int(error) for error in errors]
        self._lib.rd_kafka_mock_push_request_errors(
            self._cluster, ctypes.c_int16(request), ctypes.c_size_t(len(errors)), *codes
        )

    def answer_late(self, broker: int, request: int, after_ms: int) -> None:
        """Do what the next such request to `broker` asks at once, but answer only `after_ms` later."""
        self._lib.rd_kafka_mock_broker_push_request_error_rtts(
            self._cluster,
            ctypes.c_int32(broker),
            ctypes.c_int16(request),
            ctypes.c_size_t(1),
            ctypes.c_int(0),
            ctypes.c_int(after_ms),
        )

    def lead(self, topic: str, partition: int, broker: int) -> None:
        """Make `broker` the leader of a partition."""
        self._lib.rd_kafka_mock_partition_set_leader(self._cluster, topic.encode(), partition, broker)

    def down(self, broker: int) -> None:
        """Close every connection of `broker` and refuse new ones; what it holds stays."""
        self._lib.rd_kafka_mock_broker_set_down(self._cluster, ctypes.c_int32(broker))

    def up(self, broker: int) -> None:
        """Undo `down`."""
        self._lib.rd_kafka_mock_broker_set_up(self._cluster, ctypes.c_int32(broker))

    def __enter__(self) -> "MockKafka":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lib.rd_kafka_mock_cluster_destroy(self._cluster)
        self._lib.rd_kafka_destroy(self._handle)
