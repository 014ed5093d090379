"""The same properties decided by DuckDB on the same files: the peer that the bench compares with.

One full join of sends and log on the id, windows over the log, one join of reads and log on the place;
what these find is rare, and is decided on in small tables. It counts the anomalies of each property and
gives no evidence.
"""

from pathlib import Path

import duckdb

from checkers.properties import Property

_SETUP = """
SET preserve_insertion_order = false;
CREATE TEMP TABLE proof AS
    SELECT partition, log_start, high_watermark, log_end
    FROM read_parquet('{history}/proofs.parquet') WHERE complete;
CREATE TEMP TABLE exposed AS
    SELECT partition, leader_epoch, min(at_ns) AS first_ns, max(at_ns) AS last_ns, max(high_watermark)
    AS highest FROM read_parquet('{history}/watermarks.parquet') SEMI JOIN proof USING (partition) GROUP
    BY ALL;
CREATE VIEW send AS
    SELECT partition, producer, sequence, invoked_ns, completed_ns, outcome, "offset" AS acked, checksum
    FROM read_parquet('{history}/sends/*.parquet') SEMI JOIN proof USING (partition);
CREATE VIEW log AS
    SELECT partition, "offset" AS place, producer, sequence, checksum, leader_epoch
    FROM read_parquet('{history}/final_log/*.parquet') SEMI JOIN proof USING (partition);
CREATE VIEW reading AS
    SELECT partition, reader, generation, "offset" AS place, producer, sequence, checksum,
    file_row_number AS nth FROM read_parquet('{history}/reads/*.parquet', file_row_number = true) SEMI
    JOIN proof USING (partition);
"""
"""The bench's histories have one topic, so the number of a partition is enough. "place" is an offset of
the log."""

_BY_ID = """
CREATE TEMP TABLE found AS
    SELECT coalesce(log.partition, send.partition) AS partition, coalesce(log.producer, send.producer)
    AS producer,
        coalesce(log.sequence, send.sequence) AS sequence, place, acked, outcome, invoked_ns, completed_ns,
        log.checksum <> send.checksum AS altered
    FROM log FULL JOIN send
        ON log.producer = send.producer AND log.sequence = send.sequence AND log.partition = send.partition;
CREATE TEMP TABLE elsewhere AS  -- acknowledged at an offset, and not (only) there
    SELECT found.* FROM found JOIN proof USING (partition)
    WHERE outcome = 0 AND acked >= 0 AND acked IS DISTINCT FROM place
        AND NOT (acked >= high_watermark AND acked < log_end);
CREATE TEMP TABLE gone AS  -- acknowledged at an offset, and not there
    SELECT * FROM elsewhere ANTI JOIN log
        ON log.partition = elsewhere.partition AND log.place = acked
        AND log.producer = elsewhere.producer AND log.sequence = elsewhere.sequence;
"""

_BY_PLACE = """
CREATE TEMP TABLE misread AS
    SELECT reading.* FROM reading LEFT JOIN log USING (partition, place)
    WHERE (reading.producer, reading.sequence, reading.checksum)
        IS DISTINCT FROM (log.producer, log.sequence, log.checksum);
CREATE TEMP TABLE leap AS  -- the few reads that are not the next after their predecessor
    SELECT partition, place, before FROM (
        SELECT partition, place, lag(place) OVER (
            PARTITION BY partition, reader, generation ORDER BY nth) AS before FROM reading)
    WHERE place <> before + 1;
CREATE TEMP TABLE contradicted AS
    SELECT DISTINCT partition, place, producer, sequence, checksum FROM misread JOIN proof USING (partition)
    WHERE place >= log_start AND NOT (place >= high_watermark AND place < log_end);
CREATE TEMP TABLE walked AS
    SELECT place, before, partition, late FROM (
        SELECT place, partition, lag(place) OVER along AS before,
            outcome = 0 AND completed_ns < max(invoked_ns) FILTER (outcome = 0) OVER (
                along ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS late
        FROM found WHERE place IS NOT NULL WINDOW along AS (PARTITION BY partition ORDER BY place)
    ) WHERE before <> place - 1 OR late;
CREATE TEMP TABLE hole AS
    WITH top AS (
        SELECT partition, log_start, greatest(high_watermark, coalesce(max(highest), -1)) AS upto
        FROM proof LEFT JOIN exposed USING (partition) GROUP BY partition, log_start, high_watermark
    ), ends AS (SELECT partition, min(place) AS first, max(place) AS last FROM log GROUP BY partition)
    SELECT partition, first, upto FROM (
        SELECT partition, before + 1 AS first, place AS upto FROM walked WHERE before < place - 1
        UNION ALL SELECT partition, log_start, coalesce(first, upto) FROM top LEFT JOIN ends USING (partition)
        UNION ALL SELECT partition, last + 1, upto FROM top JOIN ends USING (partition)
    ) WHERE first < upto;
"""

_LOST_BELOW_WATERMARK = """
WITH named AS (
    SELECT partition, place, producer, sequence FROM contradicted
    UNION SELECT partition, acked, producer, sequence FROM gone JOIN proof USING (partition)
        SEMI JOIN exposed ON exposed.partition = gone.partition AND leader_epoch >= 0
            AND first_ns <= invoked_ns AND completed_ns <= last_ns AND acked < highest
        WHERE acked >= log_start
), highest AS (SELECT partition, max(highest) AS highest FROM exposed GROUP BY partition
), empty AS (
    SELECT partition, unnest(range(first, least(upto, highest))) AS place FROM hole JOIN highest USING
    (partition)
)
SELECT (SELECT count(*) FROM named) + (
    SELECT count(*) FROM empty JOIN proof USING (partition) ANTI JOIN named USING (partition, place)
    WHERE NOT (place >= high_watermark AND place < log_end)) + (
    SELECT count(*) FROM log JOIN proof USING (partition) ANTI JOIN named USING (partition, place)
        SEMI JOIN exposed ON exposed.partition = log.partition AND exposed.leader_epoch >= 0
            AND exposed.leader_epoch < log.leader_epoch AND place < highest
    WHERE place >= log_start AND NOT (place >= high_watermark AND place < log_end))
"""

_COUNTS: dict[Property, str] = {
    Property.ACKED_LOSS: """SELECT count(*) FROM found JOIN proof USING (partition)
        WHERE place IS NULL AND outcome = 0 AND NOT (acked >= high_watermark AND acked < log_end)""",
    Property.HW_LOSS: _LOST_BELOW_WATERMARK,
    Property.ACK_OFFSET: "SELECT count(DISTINCT (producer, sequence)) FROM gone WHERE place IS NOT NULL",
    Property.CONTENT: "SELECT count(*) FROM found WHERE altered",
    Property.UNKNOWN_OFFSET_ACK: """SELECT count(*) FROM found
        WHERE place IS NULL AND outcome = 0 AND acked = -1""",
    Property.DUPLICATE: """SELECT coalesce(sum(copies - 1), 0) FROM (
        SELECT count(*) AS copies FROM log WHERE (producer, sequence) <> (-1, -1)
        GROUP BY producer, sequence HAVING copies > 1)""",
    Property.PRODUCER_ORDER: """SELECT count(*) FROM (
        SELECT sequence, max(sequence) OVER (PARTITION BY partition, producer ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS greatest
        FROM log WHERE (producer, sequence) <> (-1, -1)) WHERE sequence < greatest""",
    Property.REAL_TIME_ORDER: "SELECT count(*) FROM walked WHERE late",
    Property.RESURRECTED: "SELECT count(*) FROM found WHERE place IS NOT NULL AND outcome = 1",
    Property.PHANTOM: "SELECT count(*) FROM found WHERE place IS NOT NULL AND outcome IS NULL",
    Property.OFFSET_GAP: """SELECT coalesce(sum(least(upto, high_watermark) - first), 0)
        FROM hole JOIN proof USING (partition) WHERE first < high_watermark""",
    Property.READ_UNCOMMITTED: "SELECT count(*) FROM contradicted",
    Property.MONOTONE_READ: """SELECT count(*) FROM leap WHERE place <= before OR EXISTS (
        SELECT 1 FROM log WHERE log.partition = leap.partition
            AND log.place > before AND log.place < leap.place)""",
    Property.SAME_FOR_ALL: """SELECT count(*) FROM (
        SELECT 1 FROM reading SEMI JOIN misread USING (partition, place) GROUP BY partition, place
        HAVING count(DISTINCT (producer, sequence, checksum)) > 1)""",
}


def count_anomalies(history_dir: Path, *, threads: int) -> dict[Property, int]:
    """How many anomalies of each property DuckDB finds in a history of one topic; of holes, their offsets."""
    with duckdb.connect(config={"threads": threads}) as connection:
        for script in (_SETUP.format(history=history_dir), _BY_ID, _BY_PLACE):
            connection.execute(script)
        return {wanted: _number(connection, query) for wanted, query in _COUNTS.items()}


def _number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None, "a count always has a row"
    return int(row[0])
