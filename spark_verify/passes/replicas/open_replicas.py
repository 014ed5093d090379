"""What the driver knows of the replicas before any batch is read: their rows, and their files, with every
footer checked."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from checkers.history.columnar import Rows
from checkers.history.load import collected_tables, open_unit, read_unit, replica_files
from checkers.history.rows import ROW_OF, ConfigChange, Proof, TopicPartition, by_partition
from checkers.history.tables import REPLICA_BATCHES, unit_path
from checkers.places import Place, as_text
from spark_verify.partition_task import PartitionTask
from spark_verify.passes.replicas.scan_replicas import ReplicaTask

_POLICIES = ("cleanup.policy", "log.cleanup.policy")


def open_replicas(
    history_dir: Place, tasks: Sequence[PartitionTask], proofs: Sequence[Proof]
) -> tuple[ReplicaTask, ...]:
    """The replicas of each task's partition, in order; nothing if they were not audited.

    Raises MalformedHistory.
    """
    collected = collected_tables(history_dir)
    if not {"replicas", REPLICA_BATCHES} <= collected:
        return ()
    replicas, states, configs = (
        Rows(read_unit(unit_path(history_dir, table), table), ROW_OF[table]) if table in collected else ()
        for table in ("replicas", "producer_states", "configs")
    )
    replicas_of, states_of = by_partition(replicas), by_partition(states)
    named = {proof.tp: frozenset(proof.replicas) for proof in proofs}
    found = []
    for task in tasks:
        files, rows = _files(history_dir, task.tp)
        found.append(
            ReplicaTask(
                partition=task,
                replicas=replicas_of[task.tp],
                states=states_of[task.tp],
                files=files,
                named=named.get(task.tp, frozenset()),
                compacted=_compacted(configs, task.topic),
                rows=rows + task.rows // 3,
            )
        )
    return tuple(found)


def _files(history_dir: Place, tp: TopicPartition) -> tuple[dict[int, list[str]], int]:
    """The files of each broker, in the order of the log, and how many batches they have in all."""
    files: dict[int, list[str]] = defaultdict(list)
    rows = 0
    for path in replica_files(history_dir, tp):
        with open_unit(path, REPLICA_BATCHES, *tp) as file:
            rows += int(file.metadata.num_rows)
        files[int(path.stem.partition("-")[0])].append(as_text(path))
    return dict(files), rows


def _compacted(configs: Iterable[ConfigChange], topic: str) -> bool:
    """Whether the topic was compacted at any time, by its own setting or by a default of the brokers."""
    return any(
        "compact" in change.value and (change.kind != "topic" or change.name == topic)
        for change in configs
        if change.key in _POLICIES
    )
