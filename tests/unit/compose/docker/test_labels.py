"""Labels that show whether the process that made something still lives."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from compose.docker.labels import Owner, owner_of, process_start, this_host
from compose.errors import TopologyError


def test_round_trip() -> None:
    """An owner is read from the labels that it wrote."""
    owner = owner_of("r1", os.getpid())
    assert Owner.from_labels(owner.labels()) == owner
    assert owner.labels()["highwater.run"] == "r1"


def test_this_process_is_alive() -> None:
    """The process that asks is alive."""
    assert owner_of("r1", os.getpid()).life() == "alive"


def test_ended_process_is_dead() -> None:
    """A process that ended is dead."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        owner = owner_of("r1", child.pid)
        assert owner.life() == "alive"
        child.communicate(b"\n")
    assert owner.life() == "dead"


def test_unreaped_process_is_dead() -> None:
    """A zombie holds its process id and does nothing."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = owner_of("r1", child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert owner.life() == "dead"
    child.communicate()


def test_reused_process_id_is_dead() -> None:
    """A process id that somebody else has by now does not keep a run alive."""
    owner = owner_of("r1", os.getpid())
    assert replace(owner, start="1@" + owner.start.partition("@")[2]).life() == "dead"


def test_other_machine() -> None:
    """Nobody here knows whether a process of another machine lives."""
    assert replace(owner_of("r1", os.getpid()), host="elsewhere/pid:[1]").life() == "foreign"


def test_machines_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """As two that were made from one image; a container may have no id."""
    hosts = set()
    for name in ("a", "b"):
        (tmp_path / name).write_text(name * 32 + "\n")
        hosts.add(this_host(tmp_path / name))
    hosts.add(this_host(tmp_path / "none"))
    assert len(hosts) == 3
    assert {host.partition("/")[2] for host in hosts} == {this_host().partition("/")[2]}


def test_labels_without_an_owner() -> None:
    """Labels that lack an owner belong to nobody who is alive."""
    assert Owner.from_labels({"highwater.run": "r1"}).life() == "dead"


def test_program_names_with_brackets(tmp_path: Path) -> None:
    """A program named ") R 1" does not shift the fields of its stat line."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7/stat").write_text("7 () R 1) S " + " ".join(["0"] * 18) + " 4242 0")
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("boot-1\n")
    assert process_start(7, tmp_path) == "4242@boot-1"


@pytest.mark.parametrize("run_id", ["", "a b", "../x", "-x", "x" * 201])
def test_bad_run_id(run_id: str) -> None:
    """A run id that cannot be part of the names of files and containers is refused."""
    with pytest.raises(TopologyError, match="letters, digits"):
        owner_of(run_id, os.getpid())


def test_no_such_process() -> None:
    """A run cannot be owned by a process that does not run."""
    with pytest.raises(ProcessLookupError, match="does not run"):
        owner_of("r1", 2**22 + 1)
