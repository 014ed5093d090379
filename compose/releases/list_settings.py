"""Makes `settings.tsv` from the jars of Kafka's releases.

    python -m compose.releases.list_settings              every release of the table again
    python -m compose.releases.list_settings 4.4.0        adds this one to the table

Each release's broker comes from Maven packages; a JDK lists its settings by Kafka's own definitions
(`ListSettings.java`). Run in a checkout: the table is part of it.
"""

import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from compose.errors import MachineError
from compose.host import shell
from compose.host.progress import print_line
from compose.releases.settings import TABLE, Cells, read_table, table_text
from compose.setup import debian
from compose.setup.kafka_libs import MAVEN_COPY, MAVEN_TIMEOUT_S

HERE = Path(__file__).parent
LISTING_TIMEOUT_S = 120
RELEASE = re.compile(r"\d+\.\d+\.\d+")


def main(arguments: Sequence[str]) -> int:
    """Write the table anew for the named releases, or for all it has; the exit code."""
    if strangers := [each for each in arguments if not RELEASE.fullmatch(each)]:
        print(f"not a release: {', '.join(strangers)}; write it as in 4.3.1", file=sys.stderr)
        return 2
    table = HERE / TABLE
    for release in arguments or read_table(table.read_text(encoding="utf-8"))[0]:
        rows = _from_maven(release)
        table.write_text(with_release(table.read_text(encoding="utf-8"), release, rows), encoding="utf-8")
        print_line(f"Kafka {release}: in {table}")
    return 0


def with_release(table: str, release: str, rows: Iterable[Cells]) -> str:
    """The text of a table with `release` added, or replaced."""
    known, definitions = read_table(table)
    releases_of = {cells: {*within} - {release} for cells, within in definitions.items()}
    for cells in rows:
        releases_of.setdefault(cells, set()).add(release)
    every = tuple(sorted({*known, release}, key=lambda each: tuple(map(int, each.split(".")))))
    return table_text(every, {cells: tuple(within) for cells, within in releases_of.items() if within})


def _from_maven(release: str) -> list[Cells]:
    debian.need("mvn", package="maven", on_line=print_line)
    with tempfile.TemporaryDirectory(prefix="highwater-", dir="/var/tmp") as libs:
        argv = ["mvn", "--batch-mode", "--strict-checksums", "--file", str(HERE / "pom.xml"), MAVEN_COPY]
        options = ["-DincludeScope=runtime", f"-Dkafka.release={release}", f"-DoutputDirectory={libs}"]
        shell.run_logged([*argv, *options], timeout_s=MAVEN_TIMEOUT_S, on_line=print_line)
        return list(listed(Path(libs)))


def listed(libs: Path) -> Iterator[Cells]:
    """What the release in the folder `libs` says of its settings. Raises CommandFailed, MachineError."""
    program = str(HERE / "ListSettings.java")
    done = shell.run(["java", "-cp", f"{libs}/*", program], timeout_s=LISTING_TIMEOUT_S)
    for line in done.stdout.splitlines():
        cells = tuple(line.split("\t"))
        if len(cells) != 7:
            raise MachineError(f"{program}: a line with {len(cells)} columns instead of 7: {line!r}")
        yield cells


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
