"""Memory: what the machine has, and what the control groups leave of it."""

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from compose.host.memory import (
    MOST_HEAPS,
    PAGE_BYTES,
    available_bytes,
    give_back,
    held_bytes,
    set_aside,
    take_back,
)

GIB = 1 << 30
UNLIMITED_1 = 9223372036854771712


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A machine of 16 GiB of which 8 are available; the process is in groups of both versions."""
    (tmp_path / "proc/self").mkdir(parents=True)
    meminfo = "MemTotal: 16777216 kB\nMemFree: 1048576 kB\nMemAvailable:    8388608 kB\n"
    (tmp_path / "proc/meminfo").write_text(meminfo)
    (tmp_path / "proc/self/cgroup").write_text("5:cpuset:/x\n4:memory:/outer/inner\n0::/unified/inner\n")
    return tmp_path / "proc"


def group_1(path: Path, *, limit: int, used: int, files: int = 0) -> None:
    path.mkdir(parents=True, exist_ok=True)
    (path / "memory.limit_in_bytes").write_text(f"{limit}\n")
    (path / "memory.usage_in_bytes").write_text(f"{used}\n")
    stat = f"inactive_file 1\ntotal_inactive_file {files // 2}\ntotal_active_file {files - files // 2}\n"
    (path / "memory.stat").write_text(stat)


def group_2(path: Path, *, limit: int | str, used: int, files: int = 0) -> None:
    path.mkdir(parents=True, exist_ok=True)
    (path / "memory.max").write_text(f"{limit}\n")
    (path / "memory.current").write_text(f"{used}\n")
    (path / "memory.stat").write_text(f"anon 5\ninactive_file {files}\nactive_file 0\n")


def test_without_a_limit_it_is_what_is_available_and_not_what_is_free(proc: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups"
    group_1(groups / "memory/outer/inner", limit=UNLIMITED_1, used=GIB)
    group_2(groups / "unified/inner", limit="max", used=GIB)
    assert available_bytes(proc, groups) == 8 * GIB
    assert available_bytes(proc, tmp_path / "none") == 8 * GIB


@pytest.mark.parametrize(
    ("group", "outer", "inner"),
    [(group_1, "memory/outer", "memory/outer/inner"), (group_2, "unified", "unified/inner")],
)
def test_a_group_above_the_own_one_counts(
    proc: Path, tmp_path: Path, group: Callable[..., None], outer: str, inner: str
) -> None:
    """In version 1 and in version 2."""
    groups = tmp_path / "groups"
    group(groups / inner, limit=4 * GIB, used=GIB)
    assert available_bytes(proc, groups) == 3 * GIB
    group(groups / outer, limit=2 * GIB, used=2 * GIB, files=GIB // 4)
    assert available_bytes(proc, groups) == GIB // 4


def test_a_kernel_that_tells_nothing(tmp_path: Path) -> None:
    assert available_bytes(tmp_path, tmp_path) is None


def test_what_a_process_and_its_children_hold_is_theirs(proc: Path) -> None:
    """Whatever their programs are called, and not what their parent or another process holds."""
    for pid, name, parent, pages in (
        (1, "init", 0, 1000),
        (20, "high) water", 1, 7),
        (21, "java", 20, 30),
        (22, "python", 21, 5),
        (30, "java", 1, 400),
    ):
        (proc / str(pid)).mkdir()
        stat = f"{pid} ({name}) S {parent} {' '.join('9' * 19)} {pages} 5\n"
        (proc / str(pid) / "stat").write_text(stat)
    (proc / "self/stat").write_text((proc / "20/stat").read_text())
    assert held_bytes(proc) == 42 * PAGE_BYTES
    assert held_bytes() > 1_000_000


def test_what_is_free_in_the_middle_of_a_heap_is_given_back() -> None:
    """In a process of its own, whose heap ends in what is still in use."""
    program = (
        "import psutil; from compose.host.memory import give_back\n"
        "held = [bytes([1]) * 100_000 for _ in range(2_000)]; last = bytes(100_000); del held\n"
        "before = psutil.Process().memory_info().rss; give_back()\n"
        "print(before - psutil.Process().memory_info().rss)"
    )
    given = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(given.stdout) > 150_000_000


HEAPS = """
import sys, threading
from compose.host.memory import keep_heaps_few

if sys.argv[1] == "few":
    keep_heaps_few()
barrier = threading.Barrier(9)
held = []


def work():
    held.append([bytearray(100_000) for _ in range(50)])
    barrier.wait()
    barrier.wait()


for _ in range(8):
    threading.Thread(target=work).start()
barrier.wait()
with open("/proc/self/maps") as maps:
    begins = [int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(" 0")]
print(sum(begin % (64 << 20) == 0 for begin in begins))
barrier.wait()
"""


def test_threads_share_few_heaps() -> None:
    """By default each of eight threads that allocate at a time gets one of its own."""

    def heaps(how: str) -> int:
        command = [sys.executable, "-c", HEAPS, how]
        return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)

    assert heaps("few") <= MOST_HEAPS < 5 < heaps("many")


RESTARTED = """
import os, sys, threading
import psutil
from compose.host.memory import give_back, keep_heaps_few, restart_without_thread_caches

if sys.argv[1] == "without":
    restart_without_thread_caches()
keep_heaps_few()
barrier = threading.Barrier(41)
pins = []


def work():
    blocks = [bytearray(size) for _ in range(8) for size in range(24, 1000, 16)]
    pins.append([bytearray(400) for _ in range(8)])
    barrier.wait()
    del blocks
    barrier.wait()
    barrier.wait()


before = psutil.Process().memory_info().rss
for _ in range(40):
    threading.Thread(target=work).start()
barrier.wait()
barrier.wait()
give_back()
kept = psutil.Process().memory_info().rss - before
print(kept, os.getpid(), os.environ.get("GLIBC_TUNABLES"), *sys.argv[1:])
barrier.wait()
"""


def test_threads_keep_nothing_for_themselves_in_a_process_that_was_begun_anew() -> None:
    """It is the same process, with its arguments, and its children begin as any other."""

    def kept(how: str) -> tuple[int, int, list[str]]:
        command = [sys.executable, "-c", RESTARTED, how, "two words"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            rss, pid, *rest = process.stdout.read().split()
        assert process.returncode == 0
        assert int(pid) == process.pid
        return int(rss), int(pid), rest

    with_caches, _, _ = kept("with")
    without, _, rest = kept("without")
    assert rest == ["None", "without", "two", "words"]
    assert without < with_caches / 2


class Cycle:
    """Refers to itself, as a failed task and its frame refer to each other."""

    def __init__(self) -> None:
        self.me = self


def test_what_lies_in_cycles_is_freed_with_the_rest_and_what_was_set_aside_when_it_is_taken_back() -> None:
    old = Cycle()
    set_aside()
    try:
        new = Cycle()
        olds, news = weakref.ref(old), weakref.ref(new)
        del old, new
        give_back()
        assert (olds() is None, news() is None) == (False, True)
    finally:
        take_back()
    gc.collect()
    assert olds() is None
