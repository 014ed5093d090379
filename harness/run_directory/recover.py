"""Makes what a killed or crashed run has left readable: seals its journals, adds the tables it never wrote.

Without proofs nothing is decided, so no empty table can hide a loss. A run whose state is `complete` gets
nothing added: there, a file that is missing is damage.
"""

import errno
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from checkers.contract.realised.settings import Acks
from checkers.history.tables import OPTIONAL, PARTITIONED, TABLES, unit_path, write_table
from harness.errors import HighwaterError, HistoryError, RunDirectoryError
from harness.run_directory.agreement import check_topics, read_scenario
from harness.run_directory.layout import OF_THE_MACHINE, RunDir, why_unusable
from harness.run_directory.links import refuse_links
from harness.run_directory.manifest import Manifest, ManifestProducer, read_manifest
from harness.run_directory.manifest_writer import ManifestWriter
from workloads.errors import JournalUnreadable
from workloads.record.seal import Sealed, remove_sealed, seal_load, seal_observed

NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS)
"""Why nothing can be written where somebody else could."""
STILL_S = 120.0
"""A run on another machine whose files were not written for so long goes on no more."""


def complete_history(run: RunDir, audit: Callable[[str], None] = lambda _: None) -> Manifest:
    """The manifest, after the history has been made whole as far as it can be.

    `audit` reads the replicas of a run that ended before it could; it gets the run's id. RunDirectoryError if
    the run still goes on; HistoryError if there is nothing to read, or what would be written lay elsewhere.
    """
    manifest = read_manifest(run)
    if manifest.state == "running":
        _refuse_running(run, manifest)
    if manifest.state == "complete" or manifest.files is not None:
        return manifest
    refuse_links(run.path)
    with _naming_what_is_in_the_way(run):
        return _completed(run, manifest, audit)


def _completed(run: RunDir, manifest: Manifest, audit: Callable[[str], None]) -> Manifest:
    remove_sealed(run.path)
    if run.journal.is_dir():
        manifest = _seal(run, manifest)
    if not run.history.is_dir():
        reason = manifest.problem or "its harness was killed"
        raise HistoryError(f"{run.path}: the run ended in phase {manifest.phase!r} before any load: {reason}")
    check_topics(run, manifest, read_scenario(run, manifest))  # else it may say that there are any number
    _fill(run, manifest)
    audit(manifest.run or "")
    return _noted(run, manifest)


@contextmanager
def _naming_what_is_in_the_way(run: RunDir) -> Iterator[None]:
    """A file where a folder should be, or a folder where a file should be, is damage like any other.

    Where the user may not write, a copy can be judged.
    """
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        place = error.filename2 or error.filename or run.path
        raise HistoryError(f"{place}: in the way of what is to be written: {error.strerror}") from None
    except OSError as error:
        if error.errno in OF_THE_MACHINE:
            raise HighwaterError(f"{run.path}: cannot be sealed: {why_unusable(error)}") from None
        if error.errno not in NOT_OURS:
            raise
        raise HistoryError(
            f"{run.path}: cannot be written, and its harness was killed before it had sealed it: "
            "permission denied; copy the run to a place of yours, and check the copy"
        ) from None


def _refuse_running(run: RunDir, manifest: Manifest) -> None:
    """Sealing takes the journals away from under a run that goes on. Of a process elsewhere only its files
    tell: those of a load are written all the time."""
    owner = manifest.owner.of(run.path.name)
    life = owner.life()
    if life == "alive":
        raise RunDirectoryError(f"{run.path}: the run still goes on, in process {owner.pid}; check it later")
    if life == "foreign" and owner.pid and time.time() - _changed_s(run) < STILL_S:
        raise RunDirectoryError(
            f"{run.path}: the run may still go on, in process {owner.pid} of {owner.host}: its files changed "
            f"less than {STILL_S:g} s ago; check it when they have not"
        )


def _changed_s(run: RunDir) -> float:
    """When its manifest or a journal was written last, in seconds since 1970."""
    files = [run.manifest, *(path for path in run.journal.rglob("*") if path.is_file())]
    return max(path.stat().st_mtime for path in files)


def _seal(run: RunDir, manifest: Manifest) -> Manifest:
    """Seal the journals; they go last, when the manifest has what they say of the producers."""
    run_id = manifest.run or ""
    try:
        manifest = _with_producers(run, manifest, seal_load(run.path, run_id))
        seal_observed(run.path, run_id)
        remove_sealed(run.path)
    except JournalUnreadable as error:
        raise HistoryError(str(error)) from None
    return manifest


def _with_producers(run: RunDir, manifest: Manifest, sealed: Sealed) -> Manifest:
    """What was sent is known only if each producer had ended its journals."""
    writer = ManifestWriter(run, manifest)
    writer.sealed(producers_of(sealed))
    counts = {each.producer: each.recorded for each in sealed.producers if each.recorded is not None}
    if len(counts) == len(sealed.producers) and manifest.recorded is None:
        writer.recorded(counts)
    return writer.manifest


def _noted(run: RunDir, manifest: Manifest) -> Manifest:
    """The manifest, with the files as they are now: from here on, nothing changes."""
    if manifest.run is None:
        return manifest
    writer = ManifestWriter(run, manifest)
    writer.files_recovered()
    return writer.manifest


def producers_of(sealed: Sealed) -> tuple[ManifestProducer, ...]:
    """Every producer instance that sent anything, as the manifest lists it."""
    return tuple(
        ManifestProducer(producer=one.producer, acks=_acks(one.acks), idempotence=one.idempotence)
        for one in sealed.producers
    )


def _acks(text: str) -> Acks:
    match text:
        case "0" | "1" | "all":
            return text
    raise HistoryError(f"a journal has acks={text!r}; allowed: 0, 1, all")


def _fill(run: RunDir, manifest: Manifest) -> None:
    for table in TABLES:
        if table in OPTIONAL:
            continue  # an empty one would claim that it was collected
        if table not in PARTITIONED:
            _write_if_absent(run, manifest, table)
            continue
        for topic in manifest.topics:
            for number in range(topic.partitions):
                _write_if_absent(run, manifest, table, topic.name, number)


def _write_if_absent(
    run: RunDir,
    manifest: Manifest,
    table: str,
    *place: Any,  # noqa: ANN401 - (topic, partition) or nothing
) -> None:
    path = unit_path(run.history, table, *place)
    if not path.exists():
        rows = TABLES[table].empty_table()
        write_table(path, table, rows, *place, run=manifest.run or "")
