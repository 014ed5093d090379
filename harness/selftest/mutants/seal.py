"""Damage that is not sealed again: what the digests and the counts of the manifest must find."""

import json

from checkers.history.tables import NONE, Outcome, unit_path
from harness.selftest.choose import a_place, busiest, lost_sends, send_of
from harness.selftest.damaged_copy import DamagedCopy, NotApplicable
from harness.selftest.mutant import family


def rewrite_file(copy: DamagedCopy) -> None:
    """A file was written once more, with the same rows."""
    _named(copy)
    tp = busiest(copy)
    path = unit_path(copy.run.history, "reads", *tp)
    before = path.read_bytes()
    copy.put("reads", copy.rows("reads", tp)[:-1], tp)
    if path.read_bytes() == before:
        raise NotApplicable("a partition without reads")


def flip_byte_of_file(copy: DamagedCopy) -> None:
    """A byte in the middle of a file is another one."""
    _named(copy)
    path = unit_path(copy.run.history, "final_log", *busiest(copy))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    copy.put_bytes(path, bytes(content))


def add_file(copy: DamagedCopy) -> None:
    """A file is there that was not sealed."""
    _named(copy)
    path = unit_path(copy.run.history, "watermarks")
    copy.put_bytes(path.with_name("more.parquet"), path.read_bytes())


def take_file_away(copy: DamagedCopy) -> None:
    """A file that was sealed is gone."""
    _named(copy)
    copy.rows("pressure")
    copy.remove("pressure")


def change_scenario(copy: DamagedCopy) -> None:
    """scenario.yaml was changed by a comment."""
    if "scenario_sha256" not in copy.manifest:
        raise NotApplicable("a manifest without a digest of the scenario")
    copy.scenario += "# changed\n"


def hide_acknowledgement(copy: DamagedCopy) -> None:
    """An acknowledged record, a lost one if there is one, was never answered; its file is sealed again."""
    if "recorded" not in copy.manifest:
        raise NotApplicable("a manifest without counts")
    lost = lost_sends(copy)
    tp = lost[0][0] if lost else busiest(copy)
    sends = copy.rows("sends", tp)
    wanted = lost[0][1] if lost else copy.rows("final_log", tp)[a_place(copy, tp)]
    send_of(sends, wanted).update(outcome=Outcome.INFO.value, offset=NONE)
    copy.put("sends", sends, tp)
    counts = json.loads(json.dumps(copy.manifest["recorded"]))
    copy.close(sealed=True)
    copy.manifest["recorded"] = counts


def damage_manifest(copy: DamagedCopy) -> None:
    """A key of the manifest that every run has is gone."""
    del copy.manifest["schedule"]


def forget_seal(copy: DamagedCopy) -> None:
    """The manifest has no digests any more."""
    _named(copy)
    del copy.manifest["files"]


def _named(copy: DamagedCopy) -> None:
    if "files" not in copy.manifest:
        raise NotApplicable("a manifest without digests")


MUTANTS = family(
    "the seal",
    rewrite_file,
    flip_byte_of_file,
    add_file,
    take_file_away,
    change_scenario,
    hide_acknowledgement,
    damage_manifest,
    forget_seal,
    sealed=False,
)
