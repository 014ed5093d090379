"""Docker Engine: what is there is used, what may be installed is, and everything else is one clear line."""

from pathlib import Path

import pytest

from compose.docker import api as docker_api
from compose.errors import EngineUnreachable
from compose.host import shell
from compose.host.progress import silent
from compose.setup import debian, engine

# Machine replaces it.
IS_ALIVE = engine.is_alive


class FakeMachine:
    """A pretended machine: which commands it has, who we are, and whether its engine answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.commands = {"dockerd"}
        self.done: list[str] = []
        self.alive = {4711}
        self.log_text = ""
        self.answers_after = 10**9
        self._asked = 0
        self.log = tmp_path / "dockerd.log"
        monkeypatch.delenv("DOCKER_HOST", raising=False)
        monkeypatch.setattr(engine, "PID_FILE", tmp_path / "docker.pid")
        monkeypatch.setattr(engine, "LOG_FILE", self.log)
        monkeypatch.setattr(engine, "SYSTEMD_RUNS", tmp_path / "no-systemd")
        monkeypatch.setattr(engine, "START_TIMEOUT_S", 0.5)
        monkeypatch.setattr(engine, "POLL_S", 0.01)
        monkeypatch.setattr(engine, "is_alive", lambda pid: pid in self.alive)
        monkeypatch.setattr(engine.os, "geteuid", lambda: 0)
        monkeypatch.setattr(engine.shutil, "which", lambda name: name if name in self.commands else None)
        monkeypatch.setattr(debian, "may_install", lambda: True)
        monkeypatch.setattr(debian, "install", self._install)
        monkeypatch.setattr(docker_api, "answers", self._answers)
        monkeypatch.setattr(shell, "spawn_detached", self._spawn)
        monkeypatch.setattr(shell, "run", self._run)

    def _answers(self) -> bool:
        self._asked += 1
        return self._asked > self.answers_after

    def _install(self, *packages: str, why: str, on_line: object) -> None:
        self.done.append(f"install {' '.join(packages)}")
        self.commands.add("dockerd")

    def _spawn(self, argv: list[str], *, log: Path) -> int:
        assert log == self.log
        assert not engine.PID_FILE.exists()
        log.write_text(self.log_text)
        self.done.append(f"spawn {' '.join(argv)}")
        return 4711

    def _run(self, argv: list[str], *, timeout_s: float) -> None:
        self.done.append(f"run {' '.join(argv)}")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeMachine:
    return FakeMachine(monkeypatch, tmp_path)


def test_an_engine_that_answers_is_used_and_nothing_is_done(machine):
    machine.answers_after = 0
    assert engine.ensure_engine(silent) is False
    assert machine.done == []


def test_an_absent_engine_is_installed_with_iptables_and_started(machine):
    machine.commands.clear()
    machine.answers_after = 3
    assert engine.ensure_engine(silent) is True
    assert machine.done == ["install docker.io iptables", "spawn dockerd"]


def test_the_file_of_a_dead_daemon_is_removed_before_a_new_one_starts(machine):
    machine.answers_after = 2
    engine.PID_FILE.write_text("1")
    engine.ensure_engine(silent)
    assert machine.done == ["spawn dockerd"]


def test_a_daemon_that_is_starting_is_waited_for_and_not_started_again(machine):
    machine.answers_after = 4
    machine.alive = {812}
    engine.PID_FILE.write_text("812")
    engine.ensure_engine(silent)
    assert machine.done == []


def test_systemd_starts_the_engine_where_it_runs(machine, monkeypatch, tmp_path):
    machine.answers_after = 2
    monkeypatch.setattr(engine, "SYSTEMD_RUNS", tmp_path)
    engine.ensure_engine(silent)
    assert machine.done == ["run systemctl start docker"]


def test_a_daemon_that_never_answers_is_reported_with_its_last_log_lines(machine):
    machine.log_text = "level=info msg=hello\nfailed to start daemon: no cgroup mount found\n"
    with pytest.raises(EngineUnreachable, match="no cgroup mount found"):
        engine.ensure_engine(silent)


def test_an_engine_elsewhere_is_not_ours_to_start(machine, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere:2375")
    with pytest.raises(EngineUnreachable, match=r"at tcp://elsewhere:2375, which DOCKER_.*\n +next step:"):
        engine.ensure_engine(silent)
    assert machine.done == []


def test_a_user_who_is_not_root_is_told_what_to_do(machine, monkeypatch):
    monkeypatch.setattr(engine.os, "geteuid", lambda: 1000)
    with pytest.raises(EngineUnreachable, match=r"only root.*\n +next step:.*`highwater setup` as root"):
        engine.ensure_engine(silent)
    assert machine.done == []


def test_where_we_may_not_install_it_says_what_to_install(machine, monkeypatch):
    machine.commands.clear()
    monkeypatch.setattr(debian, "may_install", lambda: False)
    with pytest.raises(
        EngineUnreachable,
        match=r"on Debian only, unless HIGHWATER_INSTALL=no\n +next step: install Docker Engine",
    ):
        engine.ensure_engine(silent)
    assert machine.done == []


def test_the_log_of_the_daemon_before_is_kept_and_not_shown_as_the_log_of_this_one(machine):
    machine.log.write_text("disk full\n")
    with pytest.raises(EngineUnreachable) as raised:
        engine.ensure_engine(silent)
    assert "disk full" not in str(raised.value)
    assert machine.log.with_suffix(".log.1").read_text() == "disk full\n"


def test_a_daemon_that_dies_at_once_is_reported_at_once(machine, monkeypatch):
    monkeypatch.setattr(engine, "START_TIMEOUT_S", 3600)
    machine.alive = set()
    machine.log_text = "failed to start daemon: permission denied\n"
    with pytest.raises(EngineUnreachable, match=r"has ended; its last log lines:\n +failed to start daemon"):
        engine.ensure_engine(silent)


@pytest.mark.parametrize(
    ("stat", "alive"),
    [
        ("812 (dockerd) S 1 812 812 0", True),
        ("812 (dockerd) Z 1 812 812 0", False),
        ("812 (bash) S 1 812 812 0", False),
        ("812 (odd) (dockerd) S 1 812", False),
        (None, False),
    ],
)
def test_a_process_number_counts_only_if_it_is_a_docker_daemon_today(tmp_path, stat, alive):
    if stat:
        (tmp_path / "812").mkdir()
        (tmp_path / "812" / "stat").write_text(stat)
    assert IS_ALIVE(812, proc=tmp_path) is alive


@pytest.mark.parametrize(("text", "pid"), [("812", 812), ("812\n", 812), ("", None), ("soon", None)])
def test_a_half_written_process_file_names_nobody(tmp_path, text, pid):
    (tmp_path / "docker.pid").write_text(text)
    assert engine.read_pid(tmp_path / "docker.pid") == pid
    assert engine.read_pid(tmp_path / "absent") is None
