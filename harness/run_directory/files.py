"""Does every file of the history belong to this run, and is it what was sealed?

Each file carries the run's id; the manifest has the rows and the SHA-256 of each, and the times between which
the run went on. A file of another run is named, as is one that was changed, added or taken away. A killed run
has no digests: its files are told by the id and by the times.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from checkers.errors import MalformedHistory
from checkers.history.load import run_of
from harness.run_directory.digests import files_of, sha256_of, side_by_side
from harness.run_directory.layout import RunDir
from harness.run_directory.manifest import Manifest, ManifestFile


def check_files(run: RunDir, manifest: Manifest) -> None:
    """Raises MalformedHistory with the first file that does not belong to the run of the manifest."""
    found = files_of(run.history)
    for path, its in zip(found.values(), side_by_side(run_of, found.values()), strict=True):
        if its != (manifest.run or ""):
            raise MalformedHistory(
                path, f"of {_named(its)}, and {run.manifest.name} of {_named(manifest.run)}"
            )
    if manifest.files is not None:
        _compare(run.history, found, manifest.files)


def _named(run: str | None) -> str:
    return f"run {run}" if run else "no named run"


def _compare(history: Path, found: Mapping[str, Path], sealed: Mapping[str, ManifestFile]) -> None:
    for name in sealed:
        if name not in found:
            raise MalformedHistory(history / name, "missing, though it was sealed with the run")
    for name, path in found.items():
        if name not in sealed:
            raise MalformedHistory(path, "was not sealed with the run: the manifest does not list it")
    for path, wrong in _changed(found, sealed):
        raise MalformedHistory(path, wrong)


def _changed(found: Mapping[str, Path], sealed: Mapping[str, ManifestFile]) -> Iterator[tuple[Path, str]]:
    for (name, path), digest in zip(found.items(), side_by_side(sha256_of, found.values()), strict=True):
        if digest != sealed[name].sha256:
            yield path, f"changed since it was sealed with {sealed[name].rows} rows: its SHA-256 is {digest}"
