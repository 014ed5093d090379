"""What runs have left on the engine and on its disks, grouped by run and by what became of their owners."""

import json
import re
from dataclasses import dataclass, field

from compose.docker.labels import RUN, Life, Owner
from compose.docker.networks import Labelled, our_containers, our_networks, our_volumes

DISK_FILE = re.compile(
    r"/(?P<run>[^/]+)/(?P<name>highwater_(?P=run)_\d+(?:-\d+)?\.img)(?P<deleted>\\x20\(deleted\))?$"
)


@dataclass(slots=True, kw_only=True)
class Leftovers:
    """Everything of one run. `owners` is empty if only disks are left and nothing shows whose they were.
    `devices` are loop devices, each with the name of its file."""

    run_id: str
    owners: set[Owner] = field(default_factory=set)
    containers: list[Labelled] = field(default_factory=list)
    networks: list[Labelled] = field(default_factory=list)
    volumes: list[Labelled] = field(default_factory=list)
    devices: dict[str, str] = field(default_factory=dict)
    directories: list[str] = field(default_factory=list)

    def life(self) -> Life:
        """Alive if any owner is; foreign if one lives, or lived, elsewhere; else dead."""
        lives = {owner.life() for owner in self.owners}
        return "alive" if "alive" in lives else "foreign" if "foreign" in lives else "dead"

    def in_words(self) -> str:
        """ "run 3f2a: 8 containers, 7 networks"."""
        counts = ((len(getattr(self, kind)), kind) for kind in ("containers", "networks", "volumes"))
        return f"run {self.run_id}: {', '.join(f'{count} {kind}' for count, kind in counts if count)}"


def of_dead_runs() -> tuple[Leftovers, ...]:
    """What dead runs have left on the engine. Raises EngineUnreachable."""
    return tuple(run for run in on_engine().values() if run.life() == "dead")


def of_dead_process(owner: Owner) -> tuple[Leftovers, ...]:
    """Those of them that this process has left. Raises EngineUnreachable."""
    return tuple(run for run in of_dead_runs() if any(each.is_process_of(owner) for each in run.owners))


def on_engine() -> dict[str, Leftovers]:
    """What carries our labels, by run."""
    found: dict[str, Leftovers] = {}
    for kind, things in (
        ("containers", our_containers()),
        ("networks", our_networks()),
        ("volumes", our_volumes()),
    ):
        for thing in things:
            run = _of(found, thing.labels[RUN])
            run.owners.add(Owner.from_labels(thing.labels))
            getattr(run, kind).append(thing)
    return found


def add_disks(found: dict[str, Leftovers], listing: str) -> None:
    """Add to `found` what `disk.sh list` has printed: directories of runs, and loop devices on our files."""
    for line in listing.splitlines():
        kind, _, rest = line.partition(" ")
        first, _, last = rest.partition(" ")
        if kind == "directory":
            run = _of(found, first)
            run.directories.append(first)
            if owner := _owner(last):
                run.owners.add(owner)
        elif kind == "device" and (match := DISK_FILE.search(last)) and _accounted_for(match, found):
            _of(found, match["run"]).devices[first] = match["name"]


def _accounted_for(file: re.Match[str], found: dict[str, Leftovers]) -> bool:
    """Whether a loop device on `file` is this engine's to judge.

    Loop devices are the kernel's: one whose run has nothing else here may belong to a living run of
    another engine on the same kernel, unless its file is deleted.
    """
    return bool(file["deleted"]) or file["run"] in found


def _of(found: dict[str, Leftovers], run_id: str) -> Leftovers:
    return found.setdefault(run_id, Leftovers(run_id=run_id))


def _owner(text: str) -> Owner | None:
    try:
        labels = json.loads(text)
        return Owner.from_labels({str(key): str(value) for key, value in labels.items()})
    except (ValueError, AttributeError):
        return None
