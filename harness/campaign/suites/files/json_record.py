"""Reading what a suite keeps of itself as JSON: suite.json, and what is beside it, by their schemas."""

import json
import os
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.errors import HistoryError, RunDirectoryError
from harness.run_directory.layout import read_whole
from harness.run_directory.manifest import ManifestPart

MOST_SHOWN = 200
"""Characters of what is wrong with a value."""

MOST_NAMED = 5
"""Directories that may have been meant: the newest ones."""

Record = TypeVar("Record", bound=ManifestPart)


def read_json_record(file: Path, kind: type[Record], schema_version: int, what: str) -> Record:
    """The record in `file`. `what`: what its directory is of, as in "a suite".

    RunDirectoryError if there is no such file; HistoryError with the key if it is damaged, or of another
    schema.
    """
    if not os.path.lexists(file):
        below = sorted(found.parent.name for found in file.parent.glob(f"*/{file.name}"))
        instead = f"; these below it have: {', '.join(below[-MOST_NAMED:])}" if below else ""
        raise RunDirectoryError(f"{file.parent}: not the directory of {what}: it has no {file.name}{instead}")
    text = read_whole(file)
    try:
        found: Any = json.loads(text)
        its = found.get("schema_version") if isinstance(found, dict) else None
        if its != schema_version:
            raise HistoryError(f"{file}: unknown schema_version {its!r}, this version reads {schema_version}")
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        wrong = first["msg"].removeprefix("Value error, ")[:MOST_SHOWN]
        raise HistoryError(f"{file}: {where}: {wrong}" if where else f"{file}: {wrong}") from None
    except (ValueError, RecursionError) as error:
        raise HistoryError(f"{file}: not readable as {what}: {error}") from None
