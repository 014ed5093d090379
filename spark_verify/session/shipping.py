"""Packs the code that runs on executors, so that a Spark cluster needs nothing of this project installed.

Executors need Python, numpy, pyarrow and google-crc32c. The archive holds `checkers` and `spark_verify` as
source, and is named after its content, so that a worker that lives on never runs older code than the
driver's.
"""

import hashlib
import zipfile
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("checkers", "spark_verify")


def pack(folder: Path) -> Path:
    """Write `highwater-<digest>.zip` into `folder` and return its path."""
    members = sorted(_members())
    digest = hashlib.sha256()
    for name, source in members:
        digest.update(name.encode() + b"\0" + source.read_bytes())
    archive = folder / f"highwater-{digest.hexdigest()[:12]}.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name, source in members:
            packed.write(source, name)
    return archive


def _members() -> list[tuple[str, Path]]:
    found = []
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None, f"the package {package} is not importable"
        assert spec.submodule_search_locations, f"{package} is not a package"
        root = Path(spec.submodule_search_locations[0])
        found += [(f"{package}/{file.relative_to(root).as_posix()}", file) for file in root.rglob("*.py")]
    return found
