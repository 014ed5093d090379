"""CPU time is read from the control group that bears the container's id, of either version, or not at all."""

from pathlib import Path

from compose.nodes.cpu_time import of_container

V1 = "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n"
V2 = "0::/system.slice/docker-abc.scope\n"


def machine(tmp_path: Path, lines: str, files: dict[str, str]) -> tuple[Path, Path]:
    """A machine on which process 7 is in these groups."""
    (tmp_path / "proc/7").mkdir(parents=True)
    (tmp_path / "proc/7/cgroup").write_text(lines)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "proc", tmp_path / "groups"


def test_version_1(tmp_path: Path) -> None:
    """Version 1 counts nanoseconds in a hierarchy of its own."""
    proc, groups = machine(tmp_path, V1, {"cpuacct/docker/abc/cpuacct.usage": "123456789\n"})
    assert of_container("abc", 7, proc=proc, groups=groups) == 123456789


def test_version_2(tmp_path: Path) -> None:
    """Version 2 counts microseconds, among other figures."""
    stat = "usage_usec 1234\nuser_usec 1000\nsystem_usec 234\n"
    files = {"cgroup.controllers": "cpu", "system.slice/docker-abc.scope/cpu.stat": stat}
    proc, groups = machine(tmp_path, V2, files)
    assert of_container("abc", 7, proc=proc, groups=groups) == 1_234_000


def test_somebody_elses_process(tmp_path: Path) -> None:
    """A process whose group does not bear the container's id is no evidence of it."""
    proc, groups = machine(tmp_path, V1, {"cpuacct/docker/abc/cpuacct.usage": "1\n"})
    assert of_container("other", 7, proc=proc, groups=groups) is None


def test_a_process_that_has_ended(tmp_path: Path) -> None:
    """No process, no figure, no error."""
    proc, groups = machine(tmp_path, V1, {})
    assert of_container("abc", 8, proc=proc, groups=groups) is None
    assert of_container("abc", 7, proc=proc, groups=groups) is None
