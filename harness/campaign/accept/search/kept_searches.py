"""The searches of a matrix that have ended, in a file, until the matrix is planned: an interruption costs no
more than the search that is under way.

Equal configurations give equal answers, as long as the model and the search are the same: the file has a
digest of their source. What a limit has cut short is not kept.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

import checkers
from checkers.promises.search import SearchResult
from harness.run_directory.layout import making, write_whole

FILE = "matrix-searches.json"
RESULT: TypeAdapter[SearchResult] = TypeAdapter(SearchResult)


class KeptSearches:
    """The file in one directory. Searches are told by words for what the model makes of a configuration."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / FILE
        self._source = _digest()
        self._results = self._read()

    def get(self, alike: str) -> SearchResult | None:
        """The search of such a configuration, if it is kept."""
        return self._results.get(alike)

    def keep(self, alike: str, result: SearchResult) -> None:
        """Write it down, unless more time may find more."""
        if result.why_ended:
            return
        self._results[alike] = result
        document = {
            "source": self._source,
            "searches": {key: RESULT.dump_python(its, mode="json") for key, its in self._results.items()},
        }
        with making(self._file):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, json.dumps(document, indent=2) + "\n")

    def forget(self) -> None:
        """They are kept elsewhere now."""
        self._file.unlink(missing_ok=True)

    def _read(self) -> dict[str, SearchResult]:
        """None of a file that is not there, is damaged, or is of another model."""
        try:
            document: Any = json.loads(self._file.read_text())
            if document["source"] != self._source:
                return {}
            return {key: RESULT.validate_python(its) for key, its in document["searches"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, ValidationError):
            return {}


def _digest() -> str:
    """Of the source of the model, the promise and the search."""
    found = hashlib.sha256()
    root = Path(checkers.__file__).parent
    for file in sorted(root.rglob("*.py")):
        found.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return found.hexdigest()
