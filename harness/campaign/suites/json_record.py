"""Reading what a suite keeps of itself as JSON: suite.json, and what is beside it, by their schemas."""

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.errors import HistoryError, RunDirectoryError
from harness.run_directory.manifest import ManifestPart

MOST_SHOWN = 200
"""Characters of what is wrong with a value."""

Record = TypeVar("Record", bound=ManifestPart)


def read_json_record(file: Path, kind: type[Record], schema_version: int, what: str) -> Record:
    """The record in `file`. `what`: what its directory is of, as in "a suite".

    RunDirectoryError if there is no such file; HistoryError with the key if it is damaged, or of another
    schema.
    """
    if not file.is_file():
        raise RunDirectoryError(f"{file.parent}: not the directory of {what}: it has no {file.name}")
    try:
        text = file.read_text()
        found: Any = json.loads(text)
        its = found.get("schema_version") if isinstance(found, dict) else None
        if its != schema_version:
            raise HistoryError(f"{file}: unknown schema_version {its!r}, this version reads {schema_version}")
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise HistoryError(f"{file}: {where}: {first['msg'][:MOST_SHOWN]}") from None
    except (OSError, ValueError) as error:
        raise HistoryError(f"{file}: not readable as {what}: {error}") from None
