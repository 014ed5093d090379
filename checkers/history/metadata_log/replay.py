"""One replay of the decoded metadata log into the tables of a history that come from it.

Order is log order, in each table and between them (`log_offset`). The records of one append of the controller
share their CreateTime, for they are one record batch.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from checkers.history.metadata_log.appends import Appends
from checkers.history.metadata_log.brokers import Brokers
from checkers.history.metadata_log.configs import Configs
from checkers.history.metadata_log.partitions import Partitions
from checkers.history.metadata_log.records import Record, committed, with_controllers
from checkers.history.rows import BrokerState, ConfigChange, MetadataAppend, MetadataChange


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTables:
    """The rows of each table, in the order of the log."""

    metadata: tuple[MetadataChange, ...]
    brokers: tuple[BrokerState, ...]
    configs: tuple[ConfigChange, ...]
    appends: tuple[MetadataAppend, ...]


def replay(records: Iterable[Record]) -> MetadataTables:
    """One row for each change of each partition, registration and setting, and one for each append.

    Raises ValueError if a record changes what no earlier record creates: the log is not whole.
    """
    partitions, brokers, configs, appends = Partitions(), Brokers(), Configs(), Appends()
    metadata_rows: list[MetadataChange] = []
    broker_rows: list[BrokerState] = []
    config_rows: list[ConfigChange] = []
    for record in committed(appends.noted(with_controllers(records))):
        metadata_rows.extend(partitions.apply(record))
        broker_rows.extend(brokers.apply(record))
        config_rows.extend(configs.apply(record))
        if record["type"] == "REMOVE_TOPIC_RECORD":
            config_rows.extend(configs.remove_topic(record, partitions.topic(record["data"]["topicId"])))
    return MetadataTables(
        metadata=tuple(metadata_rows),
        brokers=tuple(broker_rows),
        configs=tuple(config_rows),
        appends=tuple(appends.rows),
    )
