"""DuckDB SQL that decides the same properties on the same files: the verifier's peer in the bench.

Every query returns one number, how many anomalies of a property there are, with one table scan for each
table and one join for each question. It assumes what the bench's histories have: one topic, and every
partition proven from log start to high watermark.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import duckdb

from checkers.judgement import Property

_VIEWS = """
CREATE OR REPLACE VIEW sends AS SELECT * FROM read_parquet('{history}/sends/*.parquet');
CREATE OR REPLACE VIEW log AS SELECT * FROM read_parquet('{history}/final_log/*.parquet');
CREATE OR REPLACE VIEW reads AS
    SELECT * FROM read_parquet('{history}/reads/*.parquet', file_row_number = true);
CREATE OR REPLACE VIEW proofs AS SELECT * FROM read_parquet('{history}/proofs.parquet');
CREATE OR REPLACE VIEW watermarks AS SELECT * FROM read_parquet('{history}/watermarks.parquet');
"""

_SENT_AND_FOUND = """
CREATE OR REPLACE TEMP TABLE suspects AS
SELECT partition, s.producer, s.sequence, s.outcome, s.offset AS acked, l.offset AS found,
       s.invoked_ns, s.completed_ns, l.checksum <> s.checksum AS damaged
FROM sends s LEFT JOIN log l USING (partition, producer, sequence)
WHERE (s.outcome = 0 AND (l.offset IS NULL OR l.offset <> s.offset))
   OR (s.outcome = 1 AND l.offset IS NOT NULL)
   OR l.checksum <> s.checksum
"""

_READ_AND_FOUND = """
CREATE OR REPLACE TEMP TABLE misread AS
SELECT partition, r.offset, r.producer, r.sequence, r.checksum
FROM reads r LEFT JOIN log l USING (partition, "offset")
WHERE l.offset IS NULL
   OR (l.producer, l.sequence, l.checksum) IS DISTINCT FROM (r.producer, r.sequence, r.checksum)
"""

_STEPS = """
CREATE OR REPLACE TEMP TABLE steps AS
SELECT partition, "offset", earlier FROM (
    SELECT partition, "offset", lag("offset") OVER (
        PARTITION BY partition, reader, generation ORDER BY file_row_number) AS earlier
    FROM reads)
WHERE "offset" <> earlier + 1
"""

_LOST = "SELECT * FROM suspects WHERE outcome = 0 AND found IS NULL"
_DISPLACED = """
SELECT DISTINCT partition, acked, producer, sequence, invoked_ns, completed_ns FROM suspects s
WHERE outcome = 0 AND acked >= 0 AND NOT EXISTS (
    SELECT 1 FROM log l WHERE l.partition = s.partition AND l.offset = s.acked
    AND l.producer = s.producer AND l.sequence = s.sequence)
"""
_COVERED = f"""
SELECT d.* FROM ({_DISPLACED}) d WHERE EXISTS (
    SELECT 1 FROM watermarks w WHERE w.partition = d.partition AND w.leader_epoch >= 0
    GROUP BY w.leader_epoch
    HAVING min(w.at_ns) <= d.invoked_ns AND max(w.at_ns) >= d.completed_ns
       AND max(w.high_watermark) > d.acked)
"""

QUERIES: Mapping[Property, str] = MappingProxyType(
    {
        Property.ACKED_LOSS: f"SELECT count(*) FROM ({_LOST})",
        Property.UNKNOWN_OFFSET_ACK: f"SELECT count(*) FROM ({_LOST}) WHERE acked = -1",
        Property.ACK_OFFSET: f"""
            SELECT count(*) FROM ({_DISPLACED}) d WHERE EXISTS (
                SELECT 1 FROM suspects s WHERE s.found IS NOT NULL
                AND s.producer = d.producer AND s.sequence = d.sequence)""",
        Property.CONTENT: "SELECT count(*) FROM suspects WHERE damaged",
        Property.RESURRECTED: "SELECT count(*) FROM suspects WHERE outcome = 1",
        Property.HW_LOSS: f"""
            SELECT count(*) FROM (
                SELECT partition, "offset", producer, sequence FROM misread
                UNION SELECT partition, acked, producer, sequence FROM ({_COVERED}))""",
        Property.DUPLICATE: """
            SELECT coalesce(sum(copies - 1), 0) FROM (
                SELECT count(*) AS copies FROM log WHERE producer >= 0
                GROUP BY producer, sequence HAVING count(*) > 1)""",
        Property.PHANTOM: """
            SELECT count(*) FROM log ANTI JOIN sends USING (partition, producer, sequence)""",
        Property.PRODUCER_ORDER: """
            SELECT count(*) FROM (
                SELECT sequence, max(sequence) OVER (
                    PARTITION BY partition, producer ORDER BY "offset"
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS greatest
                FROM log WHERE producer >= 0)
            WHERE sequence < greatest""",
        Property.REAL_TIME_ORDER: """
            SELECT count(*) FROM (
                SELECT completed_ns, max(invoked_ns) OVER (
                    PARTITION BY l.partition ORDER BY l.offset
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
                FROM log l JOIN sends s USING (partition, producer, sequence) WHERE s.outcome = 0)
            WHERE latest > completed_ns""",
        Property.OFFSET_GAP: """
            SELECT count(*) FROM (
                SELECT "offset" - lag("offset") OVER (PARTITION BY partition ORDER BY "offset") AS step
                FROM log UNION ALL SELECT p.log_start - min(l.offset) + 2 FROM proofs p JOIN log l USING
                (partition) GROUP BY partition, p.log_start HAVING min(l.offset) > p.log_start UNION ALL
                SELECT 2 FROM proofs p JOIN log l USING (partition) GROUP BY partition, p.high_watermark
                HAVING max(l.offset) < p.high_watermark - 1)
            WHERE step > 1""",
        Property.READ_UNCOMMITTED: """
            SELECT count(*) FROM (SELECT DISTINCT partition, "offset", producer, sequence, checksum FROM
            misread)""",
        Property.SAME_FOR_ALL: """
            SELECT count(*) FROM (
                SELECT 1 FROM reads GROUP BY partition, "offset"
                HAVING min(producer) <> max(producer) OR min(sequence) <> max(sequence)
                    OR min(checksum) <> max(checksum))""",
        Property.MONOTONE_READ: """
            SELECT count(*) FROM steps WHERE "offset" <= earlier OR EXISTS (
                SELECT 1 FROM log l WHERE l.partition = steps.partition
                AND l.offset > steps.earlier AND l.offset < steps.offset)""",
    }
)


def connect(threads: int) -> duckdb.DuckDBPyConnection:
    """A connection in memory with `threads` threads."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    return connection


def count_anomalies(connection: duckdb.DuckDBPyConnection, history: Path) -> dict[Property, int]:
    """How many anomalies of each property the history has."""
    connection.execute(_VIEWS.format(history=history))
    connection.execute(_SENT_AND_FOUND)
    connection.execute(_READ_AND_FOUND)
    connection.execute(_STEPS)
    counts = {}
    for each, query in QUERIES.items():
        row = connection.execute(query).fetchone()
        assert row is not None
        counts[each] = int(row[0])
    return counts
