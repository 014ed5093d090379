"""Writes down the transactions of a load, who was fenced, and what readers of committed records were given.

transactions.arrow                a transaction's row, again at each of its stages
fencings.arrow                    a fencing's row, again at each of its stages
transaction_reads-<reader>.arrow  one row for each record delivered, in the columns of that table
"""

import threading
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pyarrow as pa

from checkers.history.rows import Fencing, TopicPartition, Transaction
from checkers.history.tables import TABLES
from workloads.clients.protocol import Delivered
from workloads.record.decode import arrivals
from workloads.record.journal import Journal


class TransactionRecorder:
    """Implements `clients.protocol.TransactionReports`; safe to use from threads."""

    def __init__(self, transactions: Journal, fencings: Journal) -> None:
        self._transactions, self._fencings = transactions, fencings
        self._lock = threading.Lock()

    def transaction(self, row: Transaction) -> None:
        """Write down how far a transaction has come."""
        with self._lock:
            self._transactions.write_rows([asdict(row)])

    def fencing(self, row: Fencing) -> None:
        """Write down how far a fencing has come."""
        with self._lock:
            self._fencings.write_rows([asdict(row)])


class CommittedReadRecorder:
    """The deliveries of one reader of committed records; implements `clients.protocol.ReadReports`."""

    def __init__(self, reader: int, partitions: Sequence[TopicPartition], journal: Journal) -> None:
        """`partitions` are those of the reader's lanes."""
        self._reader, self._journal = reader, journal
        self._topics = np.array([tp.topic for tp in partitions], object)
        self._numbers = np.array([tp.partition for tp in partitions], np.int32)

    def delivered(self, generation: int, records: Delivered, at_ns: int) -> None:
        """Write down delivered records, with their ids and checksums as they arrived."""
        count, rows = len(records), arrivals(records)
        columns = {
            "topic": self._topics[records.lanes],
            "partition": self._numbers[records.lanes],
            "reader": np.full(count, self._reader, np.int32),
            "generation": np.full(count, generation, np.int32),
            "offset": rows.offset,
            "leader_epoch": rows.leader_epoch,
            "producer": rows.producer,
            "sequence": rows.sequence,
            "checksum": rows.checksum,
            "read_ns": np.full(count, at_ns),
        }
        schema = TABLES["transaction_reads"]
        self._journal.write([pa.array(columns[field.name], field.type) for field in schema])
