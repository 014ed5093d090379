"""What the kernel counts of a container, in control groups of either version, or not at all."""

from pathlib import Path

import pytest

from compose.nodes.control_group import directory, memory_use, throttled_ns
from compose.protocols import MemoryUse

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


def group_of(
    tmp_path: Path, controller: str, lines: str, files: dict[str, str], *, name: str = "abc"
) -> Path | None:
    """The group of the container `name`, whose main process is the 7th."""
    proc, groups = machine(tmp_path, lines, files)
    return directory(name, 7, controller, proc=proc, groups=groups)


def test_version_1_counts_throttled_nanoseconds(tmp_path: Path) -> None:
    stat = "nr_periods 7\nnr_throttled 3\nthrottled_time 123456789\nnr_bursts 0\n"
    group = group_of(tmp_path, "cpu", V1, {"cpu/docker/abc/cpu.stat": stat})
    assert group == tmp_path / "groups/cpu/docker/abc"
    assert throttled_ns(group) == 123_456_789


def test_version_2_counts_throttled_microseconds(tmp_path: Path) -> None:
    stat = "usage_usec 1234\nnr_periods 7\nnr_throttled 3\nthrottled_usec 5678\n"
    files = {"cgroup.controllers": "cpu", "system.slice/docker-abc.scope/cpu.stat": stat}
    group = group_of(tmp_path, "cpu", V2, files)
    assert group is not None
    assert throttled_ns(group) == 5_678_000


@pytest.mark.parametrize("stat", ["", "usage_usec 1234\nuser_usec 1\n"])
def test_a_kernel_without_bandwidth_control_counts_nothing(tmp_path: Path, stat: str) -> None:
    """Neither in a file nor in a line."""
    files = {"cpu/docker/abc/cpu.stat": stat} if stat else {}
    group = group_of(tmp_path, "cpu", V1, files)
    assert group is not None
    assert throttled_ns(group) is None


def test_another_container_or_another_machine_has_no_group_here(tmp_path: Path) -> None:
    assert group_of(tmp_path, "cpu", V1, {}, name="other") is None
    assert directory("abc", 8, "cpu", proc=tmp_path / "proc", groups=tmp_path / "groups") is None


MEMORY_STAT_V1 = """\
cache 59920384
rss 1077248
rss_huge 0
shmem 0
pgpgin 500
pgpgout 143
inactive_anon 1060864
active_anon 16384
hierarchical_memory_limit 62914560
total_cache 59920384
total_rss 12288
total_rss_huge 0
"""
"""Of Linux 6.18, and the sum over the groups below another one than the group's own."""


def test_version_1_counts_what_is_held_and_how_often_the_limit_was_met(tmp_path: Path) -> None:
    files = {
        "memory/docker/abc/memory.stat": MEMORY_STAT_V1,
        "memory/docker/abc/memory.failcnt": "143\n",
        "memory/docker/abc/memory.memsw.failcnt": "7\n",
    }
    group = group_of(tmp_path, "memory", V1, files)
    assert group is not None
    assert memory_use(group) == MemoryUse(held_bytes=12288, limit_met=143)


@pytest.mark.parametrize("missing", ["memory.stat", "memory.failcnt"])
def test_half_of_what_version_1_counts_is_nothing(tmp_path: Path, missing: str) -> None:
    texts = {"memory.stat": MEMORY_STAT_V1, "memory.failcnt": "143\n"}
    files = {f"memory/docker/abc/{name}": text for name, text in texts.items() if name != missing}
    group = group_of(tmp_path, "memory", V1, files)
    assert group is not None
    assert memory_use(group) is None


def test_version_2_counts_what_is_held_and_how_often_the_limit_was_met(tmp_path: Path) -> None:
    unit = "system.slice/docker-abc.scope"
    files = {
        "cgroup.controllers": "memory",
        f"{unit}/memory.stat": "anon 12288\nfile 4096\n",
        f"{unit}/memory.events": "low 0\nhigh 0\nmax 17\noom 0\noom_kill 0\n",
    }
    group = group_of(tmp_path, "memory", V2, files)
    assert group is not None
    assert memory_use(group) == MemoryUse(held_bytes=12288, limit_met=17)


def test_a_group_without_memory_counters_holds_nothing_that_is_known(tmp_path: Path) -> None:
    assert memory_use(tmp_path) is None
