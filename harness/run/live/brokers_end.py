"""How a run ends its brokers, and keeps what they leave: their logs, and their replicas' files.

Nothing here costs the run its other evidence. A broker that does not stop in time is killed, and its disk is
read all the same. Why a broker's disk is not there is in `<run>/replicas/not-read.json`.

A run that leaves its cluster to another one does not stop its brokers: their disks are read while they run
(`copy_running`). What that shows, and what it does not:

- A broker appends to a segment by writing to its file, and reads what it serves from there, so the kernel's
  page cache has every byte that was appended. The helper mounts the same device: one file system in one
  kernel, and so the same page cache. What it reads of a segment is what the broker would serve.
- The copy is made when the producers have ended, every partition was read to a proven end and the load's last
  client is gone: nobody appends. A follower that still caught up would be short: a copy that ends below the
  proven high watermark is no evidence, see `spark_verify/audit.py`, and the run is UNKNOWN.
- Not shown is what is on the disk itself. A clean stop, which flushes first, does not show it either; a power
  cut does.
- Recovery points, high watermarks and producer snapshots are written every few seconds, when a segment is
  rolled, or at a clean stop: here they lag behind the log. So each replica counts as one whose broker did not
  stop cleanly, and what only a clean stop decides (checkpoint-sane) is undecided for it. A suite gives a
  scenario `clean_stop` where that is to be decided.
"""

import json
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Literal

from compose.errors import ComposeError
from compose.kafka import broker_log
from compose.protocols import Cluster
from harness.run_directory.layout import RunDir, write_whole
from spark_verify.segments.data_directory import NOT_READ, READ_WHILE_RUNNING

STOP_S = 15.0
"""Three brokers that end together take 1 to 3 s; one that no controller answers would wait for 5 minutes."""


def end_brokers(cluster: Cluster, topics: Collection[str], run: RunDir) -> tuple[str, ...]:
    """Stop every broker, then keep the nodes' logs and the replicas of `topics`; a line for each trouble."""
    slow = stop(cluster)
    unread = _copy(cluster, topics, run, of="exited")
    return tuple(
        f"broker {node}: {trouble}" for troubles in (slow, unread) for node, trouble in troubles.items()
    )


def copy_running(cluster: Cluster, topics: Collection[str], run: RunDir) -> tuple[str, ...]:
    """The same of brokers that go on; nobody writes to `topics` any more."""
    unread = _copy(cluster, topics, run, of="running")
    run.replicas.mkdir(parents=True, exist_ok=True)
    write_whole(run.replicas / READ_WHILE_RUNNING, json.dumps(sorted(cluster.brokers)) + "\n")
    return tuple(f"broker {node}: {trouble}" for node, trouble in unread.items())


def _copy(
    cluster: Cluster, topics: Collection[str], run: RunDir, *, of: Literal["exited", "running"]
) -> dict[int, str]:
    with ThreadPoolExecutor(1) as pool:
        logs = pool.submit(_collect_logs, cluster, run)
        saved = cluster.save_replicas(topics, run.replicas, of=of)
        unread = {node: reason for node, reason in saved.items() if reason}
        logs.result()
    if unread:
        write_whole(run.replicas / NOT_READ, json.dumps(unread, indent=2) + "\n")
    return unread


def stop(cluster: Cluster) -> dict[int, str]:
    """SIGTERM to all at once; one that has not ended after STOP_S is killed. By broker, what went wrong."""
    with ThreadPoolExecutor(max(1, len(cluster.brokers))) as pool:
        ends = dict(zip(cluster.brokers, pool.map(partial(_stop, cluster), cluster.brokers), strict=True))
    return {node: trouble for node, trouble in ends.items() if trouble}


def _stop(cluster: Cluster, node: int) -> str:
    try:
        cluster.stop(node, within_s=STOP_S)
    except ComposeError as error:
        slow = f"it did not stop, and was killed: {error}"
    else:
        return ""
    try:
        cluster.kill(node)
    except ComposeError as error:
        return f"it does not end: {error}"
    return slow


def _collect_logs(cluster: Cluster, run: RunDir) -> None:
    with suppress(ComposeError, OSError):  # the lines of a log that is not there are not known
        cluster.collect(run.nodes)


def broker_lines(run: RunDir, nodes: Collection[int]) -> list[dict[str, object]] | None:
    """The rows of the table, by node and then in the order of its log; None if no log was kept.

    Kafka's internal topics are left out.
    """
    texts = {node: text for node in sorted(nodes) if (text := _log(run, node)) is not None}
    if not texts:
        return None
    return [row for node, text in texts.items() for row in _rows(node, text)]


def _log(run: RunDir, node: int) -> str | None:
    try:
        return (run.nodes / str(node) / "server.log").read_text(errors="replace")
    except OSError:
        return None


def _rows(node: int, text: str) -> list[dict[str, object]]:
    lines = (line for line in broker_log.parse(text) if not line.topic.startswith("__"))
    return [{"node": node, **asdict(line)} for line in lines]
