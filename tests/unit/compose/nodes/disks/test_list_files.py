"""list_files.pl, run on directories whose entries go while it looks at them."""

import os
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

SCRIPT = str(files("compose.recipes.programs").joinpath("list_files.pl"))

BROKER = """
package Broker;
BEGIN {
    *CORE::GLOBAL::opendir = sub (*$) {
        if ($_[1] =~ /-delete/) { unlink(glob("$_[1]/*")); rmdir($_[1]) }
        CORE::opendir($_[0], $_[1]);
    };
    *CORE::GLOBAL::readdir = sub (*) {
        my @names = CORE::readdir($_[0]);
        local $!;
        unlink(glob("$ENV{HOME_OF_BROKER}/*.tmp $ENV{HOME_OF_BROKER}/*/*.deleted"));
        @names;
    };
}
1;
"""
"""Removes a directory put aside just before it is opened, and other files once their names have been read."""

DISK = """
package Broken;
BEGIN {
    *CORE::GLOBAL::lstat = sub (;*) {
        if ($_[0] =~ /checkpoint$/) { $! = 5; return }
        CORE::lstat($_[0]);
    };
}
1;
"""
"""Cannot read one of the entries."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for path, size in {
        "meta.properties": 91,
        "replication-offset-checkpoint": 40,
        "replication-offset-checkpoint.tmp": 40,
        "orders-0/00000000000000000000.log": 700,
        "orders-0/00000000000000000000.index": 12,
        "orders-0/00000000000000000007.log": 0,
        "orders-0/00000000000000000000.log.deleted": 70,
        "orders-0/deeper/00000000000000000000.log": 7,
        "orders-1.c6eda20d-delete/00000000000000000000.log": 70,
    }.items():
        file = tmp_path / "kafka" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(size))
    (tmp_path / "kafka" / "a link.log").symlink_to("meta.properties")
    return tmp_path / "kafka"


def listed(*argv: str | Path, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["perl", SCRIPT, *map(str, argv)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )


def test_each_file_is_listed_with_its_size_down_to_a_depth(home: Path) -> None:
    top = ["91 meta.properties", "40 replication-offset-checkpoint", "40 replication-offset-checkpoint.tmp"]
    orders = [
        "12 orders-0/00000000000000000000.index",
        "700 orders-0/00000000000000000000.log",
        "70 orders-0/00000000000000000000.log.deleted",
        "0 orders-0/00000000000000000007.log",
    ]
    aside = ["70 orders-1.c6eda20d-delete/00000000000000000000.log"]
    assert sorted(listed(home, 1).stdout.splitlines()) == sorted(top)
    assert sorted(listed(home, 2).stdout.splitlines()) == sorted(top + orders + aside)
    assert listed(home, 2, ".log").stdout.splitlines() == [orders[1], orders[3], *aside]


def test_what_goes_meanwhile_is_not_there_and_no_error(home: Path, tmp_path: Path) -> None:
    (tmp_path / "Broker.pm").write_text(BROKER)
    done = listed(home, 2, PERL5LIB=str(tmp_path), PERL5OPT="-MBroker", HOME_OF_BROKER=str(home))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "91 meta.properties",
        "12 orders-0/00000000000000000000.index",
        "700 orders-0/00000000000000000000.log",
        "0 orders-0/00000000000000000007.log",
        "40 replication-offset-checkpoint",
    ]
    assert not (home / "orders-1.c6eda20d-delete").exists(), "nothing was removed"


@pytest.mark.parametrize("path", ["nowhere", "meta.properties"])
def test_what_cannot_be_listed_is_an_error(home: Path, path: str) -> None:
    done = listed(home / path, 2)
    assert done.returncode != 0
    assert done.stdout == ""
    assert str(home / path) in done.stderr


def test_an_entry_that_cannot_be_looked_at_is_an_error(home: Path, tmp_path: Path) -> None:
    (tmp_path / "Broken.pm").write_text(DISK)
    done = listed(home, 2, PERL5LIB=str(tmp_path), PERL5OPT="-MBroken")
    assert done.returncode != 0
    assert done.stdout == "", "half a list"
    assert "Input/output error" in done.stderr
