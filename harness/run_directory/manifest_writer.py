"""Keeps the manifest of a run on disk up to date: at each change the whole file is replaced.

A reader sees the old file or the new one, also after a crash, and so the directory of a killed run shows how
far the run came.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from harness.run_directory.digests import digests
from harness.run_directory.layout import RunDir, write_whole
from harness.run_directory.manifest import (
    ClusterReady,
    DisksOf,
    Manifest,
    ManifestFile,
    ManifestProducer,
    ManifestSends,
    ManifestTopic,
    Phase,
    State,
)
from workloads.record.recorder import RecordedSends


class ManifestWriter:
    """Holds the present manifest, which is immutable; each method puts another in its place, on disk too.

    From any thread: phases may overlap.
    """

    def __init__(self, run_dir: RunDir, manifest: Manifest) -> None:
        """Write the file for the first time."""
        self._run_dir, self._manifest = run_dir, manifest
        self._failed: Phase | None = None
        self._lock = threading.RLock()
        self._write()

    @property
    def manifest(self) -> Manifest:
        """The manifest as it is on disk."""
        return self._manifest

    def cluster_started(
        self,
        *,
        run_id: str,
        images: tuple[str, ...],
        ready: ClusterReady | None,
        served: int = 0,
        why_new: str = "",
        ahead_s: float | None = None,
    ) -> None:
        """Note which containers and images belong to the run, how long they took to start, how many runs they
        had served before, why they are new if they are, and how long before the run their start began."""
        self._replace(run_id=run_id, images=images, cluster_ready=ready)
        self._replace(cluster_served=served, cluster_why_new=why_new, cluster_ahead_s=ahead_s)

    def reads_disks(self, of: DisksOf) -> None:
        """Note of which brokers the disks are about to be read."""
        self._replace(disks_of=of)

    def topics_created(self, topics: tuple[ManifestTopic, ...]) -> None:
        """Note the topics with the settings that they really have."""
        self._replace(topics=topics)

    def load_ended(self, at_ns: int) -> None:
        """Note when the producers had stopped."""
        self._replace(load_ended_ns=at_ns)

    def cut_short(self) -> None:
        """Note that the user asked to stop before the schedule had ended."""
        self._replace(cut_short=True)

    def sealed(self, producers: tuple[ManifestProducer, ...]) -> None:
        """Note every producer instance that sent anything."""
        self._replace(producers=producers)

    def recorded(self, recorded: Mapping[int, RecordedSends]) -> None:
        """Note what each producer instance has sent, as counted in memory."""
        counts = {
            producer: ManifestSends(attempts=its.attempts, ok=its.ok, fail=its.fail, info=its.info)
            for producer, its in recorded.items()
        }
        self._replace(recorded=counts)

    def files_written(self) -> None:
        """Note each file of the history that is not noted yet: call it when all of them are whole.

        A file that was noted before keeps its digest, so that a later change of it is found.
        """
        self._replace(files=self._files(), sealed_ns=time.monotonic_ns())

    def files_recovered(self) -> None:
        """The same of a run that was killed: when its files were whole is not known on its clock."""
        self._replace(files=self._files())

    def _files(self) -> dict[str, ManifestFile]:
        known = self._manifest.files or {}
        return {**digests(self._run_dir.history, but=known), **known}

    @property
    def failed(self) -> Phase | None:
        """The phase that was the first to fail."""
        return self._failed

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """Note that the phase begins, and how long it took, also if it fails; a second part is added."""
        self._replace(phase=name)
        begin = time.monotonic()
        try:
            yield
        except BaseException:
            self._failed = self._failed or name
            raise
        finally:
            self._took(f"{name}_s", time.monotonic() - begin)

    def _took(self, timing: str, seconds: float) -> None:
        with self._lock:
            timings = self._manifest.timings
            in_all = round((getattr(timings, timing) or 0.0) + seconds, 3)
            self._replace(timings=timings.model_copy(update={timing: in_all}))

    def finish(self, state: State, problem: str = "") -> None:
        """Note how the run ended; the first end counts, later ones only if the run had been complete."""
        with self._lock:
            if self._manifest.state in ("running", "complete"):
                self._replace(state=state, problem=problem)

    def _replace(self, **changes: Any) -> None:  # noqa: ANN401 - the typed methods above are the only callers
        with self._lock:
            self._manifest = self._manifest.model_copy(update=changes)
            self._write()

    def _write(self) -> None:
        write_whole(self._run_dir.manifest, self._manifest.as_text())
