"""Sessions are quiet, end whole, leave nothing, and run anywhere; each test starts its own driver process."""

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from fakes.run.driver import DEADLINE_S, drive

from compose.host.java import Java, find_java
from spark_verify.errors import SessionFailed
from spark_verify.session.class_archive import archive_options, archive_path
from spark_verify.session.session import TEMPORARY_PREFIX, SessionOptions, start
from spark_verify.synthetic import Shape, write_history


def processes_about(folder: Path) -> list[str]:
    """The command lines of all processes that name the folder, but for drivers of this module."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(str(folder).encode() in word for word in words) and b"-c" not in words[:2]:
                found.append(b" ".join(words[:3]).decode())
    return found


def wait_until(condition, what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {DEADLINE_S} s"
        time.sleep(0.1)


WHOLE_LIFE = """
import signal, sys
before = signal.getsignal(signal.SIGINT)
from spark_verify.session.session import SessionOptions, session, warm
with session(SessionOptions(master=sys.argv[1])) as spark:
    warm(spark)
    assert signal.getsignal(signal.SIGINT) is before, "Spark took Ctrl-C over"
    spark.sparkContext._jvm.java.lang.System.out.println("noise of the JVM")
    spark.sparkContext._jvm.java.lang.System.err.println("noise of the JVM")
    spark.sparkContext.parallelize([1], 1).foreach(lambda _: print("noise of a worker"))
assert signal.getsignal(signal.SIGINT) is before
"""


def test_a_session_prints_nothing_leaves_no_file_no_process_and_ctrl_c_alone(
    tmp_path, tmp_path_factory, monkeypatch
):
    """Not even if its class archive is damaged, about which Java prints a lot."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    assert archive_options(find_java()) == ()
    archive_path(find_java()).parent.mkdir()
    archive_path(find_java()).write_bytes(b"no archive")
    assert f"-XX:SharedArchiveFile={archive_path(find_java())}" in archive_options(find_java())
    driver = drive(WHOLE_LIFE, "local[1]", folder=tmp_path)
    output, _ = driver.communicate(timeout=DEADLINE_S)
    assert (driver.returncode, output) == (0, "")
    assert list(tmp_path.iterdir()) == []
    assert processes_about(tmp_path) == []


def test_the_next_session_removes_what_a_killed_driver_left(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead = subprocess.Popen(["true"])
    dead.wait()
    for owner in (dead.pid, os.getpid()):
        (tmp_path / f"{TEMPORARY_PREFIX}{owner}-x" / "spark").mkdir(parents=True)
    with pytest.raises(SessionFailed):
        start(SessionOptions(java=Java(home=fake_java(tmp_path / "17", "17.0.1"))))
    assert [left.name for left in tmp_path.glob("highwater*")] == [f"{TEMPORARY_PREFIX}{os.getpid()}-x"]


DEAD_JVM = """
import sys, time
from pathlib import Path
from pyspark import SparkContext
from spark_verify.errors import SessionFailed
from spark_verify.session.session import session
from spark_verify.verify import verify
history = Path(sys.argv[1])
with session() as spark:
    process = SparkContext._gateway.highwater_jvm.process
    process.kill()
    process.wait()
    try:
        verify(history, spark)
    except SessionFailed:
        print("session failed", flush=True)
with session() as spark:
    print(verify(history, spark).totals.sends, flush=True)
    time.sleep(600)
"""


def test_a_jvm_that_dies_is_an_error_and_the_next_session_works_until_its_driver_is_killed(tmp_path):
    """The JVM dies with the driver. Of the session before nothing is left, of this one its directory."""
    history, folder = tmp_path / "history", tmp_path / "driver"
    write_history(history, Shape(sends=1_000))
    folder.mkdir()
    driver = drive(DEAD_JVM, history, folder=folder)
    assert driver.stdout.readline() == "session failed\n"
    assert driver.stdout.readline() == "1000\n"
    (left,) = folder.iterdir()
    assert left.name.startswith(f"{TEMPORARY_PREFIX}{driver.pid}-")
    assert any("java" in process for process in processes_about(folder))
    driver.send_signal(signal.SIGKILL)
    driver.communicate(timeout=DEADLINE_S)
    wait_until(lambda: not processes_about(folder), "the end of the JVM")
    assert list(folder.iterdir()) == [left]


def fake_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\necho no JVM here >&2; exit 7\n")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return home


def test_a_jvm_that_does_not_start_is_an_error_with_its_last_lines(tmp_path):
    broken = Java(home=fake_java(tmp_path / "17", "17.0.1"), version="17.0.1")
    with pytest.raises(SessionFailed, match=r"exited with 7(.|\n)*no JVM here"):
        start(SessionOptions(java=broken))
