"""The doctor names what a machine lacks, why it is needed and what to do, and survives all trouble."""

from types import SimpleNamespace

import pytest

from compose.cluster import preflight
from compose.docker import api as docker_api
from compose.errors import DiskError, EngineUnreachable, MachineError
from compose.setup import doctor, prepare
from compose.setup.doctor import Check, Lack, Need
from compose.spec.topology import Topology


def need(find) -> Need:
    return Need(name="water", why="for tea", next_step="open the tap", find=find)


def test_what_is_there_needs_no_next_step():
    assert doctor.check(need(lambda: "two litres")) == Check(
        name="water", ok=True, seen="two litres", why="for tea", next_step=""
    )


def test_what_lacks_is_named_with_its_reason_and_the_next_step():
    def find() -> str:
        raise Lack("a drop")

    assert doctor.check(need(find)) == Check(
        name="water", ok=False, seen="a drop", why="for tea", next_step="open the tap"
    )


def test_an_error_that_nobody_foresaw_is_one_line_and_no_traceback():
    def find() -> str:
        raise ZeroDivisionError("division by zero\nand more")

    result = doctor.check(need(find))
    assert (result.ok, result.seen) == (False, "ZeroDivisionError: division by zero")


def test_every_need_of_a_run_is_checked_in_order():
    assert [one.name for one in doctor.NEEDS] == [
        "system",
        "python",
        "packages",
        "java",
        "docker engine",
        "images",
        "memory",
        "disk space",
        "disks",
        "clocks",
    ]
    assert all(one.why and one.next_step for one in doctor.NEEDS)


def test_without_an_engine_what_depends_on_it_is_unknown_and_not_an_error_of_its_own(monkeypatch):
    def refuse() -> None:
        raise EngineUnreachable("no Docker Engine answers: connection refused\n    next step: ...")

    monkeypatch.setattr(docker_api, "client", refuse)
    missing = {check.name: check.seen for check in doctor.examine() if not check.ok}
    assert missing["docker engine"] == "no Docker Engine answers: connection refused"
    assert missing["images"] == missing["disk space"] == "not known without a Docker Engine"


def test_an_engine_that_refuses_this_user_differs_from_one_that_is_not_there(monkeypatch):
    def refuse() -> None:
        raise EngineUnreachable("no Docker Engine answers: [Errno 13] Permission denied")

    monkeypatch.setattr(docker_api, "client", refuse)
    with pytest.raises(Lack, match="an engine runs, and this user may not use it"):
        doctor.engine_version()


def test_missing_images_are_named(monkeypatch):
    monkeypatch.setattr(docker_api, "client", lambda: None)
    monkeypatch.setattr(prepare, "missing_images", lambda: ("highwater/base:x",))
    with pytest.raises(Lack, match="missing: highwater/base:x"):
        doctor.images_present()


def test_a_machine_without_java_lists_where_one_was_searched_for(monkeypatch, tmp_path):
    monkeypatch.setattr("compose.host.java.INSTALLED", tmp_path)
    monkeypatch.setattr("compose.host.java.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    (java,) = (each for each in doctor.examine() if each.name == "java")
    assert not java.ok
    assert "Java 17 or later. JAVA_HOME: no executable /nowhere/bin/java" in java.seen


def test_memory_is_what_is_available(monkeypatch):
    monkeypatch.setattr(doctor.memory, "available_bytes", lambda: 8 << 30)
    assert doctor.memory_available() == "8.0 GiB"
    monkeypatch.setattr(doctor.memory, "available_bytes", lambda: 1 << 30)
    with pytest.raises(Lack, match=r"1\.0 GiB, 3 GiB needed"):
        doctor.memory_available()
    monkeypatch.setattr(doctor.memory, "available_bytes", lambda: None)
    with pytest.raises(Lack, match="does not tell"):
        doctor.memory_available()


def test_what_a_disk_cannot_do_is_said_in_the_words_of_the_trial(monkeypatch):
    def fail():
        raise DiskError("sh disk.sh make: exit code 1: losetup: cannot find an unused loop device")

    monkeypatch.setattr(doctor.prepare, "missing_images", lambda: ())
    monkeypatch.setattr(doctor.disk_trial, "try_a_disk", fail)
    (disks,) = (each for each in doctor.NEEDS if each.name == "disks")
    found = doctor.check(disks)
    assert not found.ok
    assert "cannot find an unused loop device" in found.seen
    assert "rootless" in found.next_step
    monkeypatch.setattr(doctor.prepare, "missing_images", lambda: ("highwater/base",))
    assert doctor.check(disks).seen == "not known without the images"


def test_what_a_clock_cannot_do_is_said_in_the_words_of_the_trial(monkeypatch):
    def fail(image):
        raise MachineError(f"{image}: a process whose clock was set 691200 s ahead shows a time 0 s ahead")

    monkeypatch.setattr(doctor.prepare, "missing_images", lambda: ())
    monkeypatch.setattr(doctor.clock_trial, "try_a_clock", fail)
    (clocks,) = (each for each in doctor.NEEDS if each.name == "clocks")
    found = doctor.check(clocks)
    assert (found.ok, "shows a time 0 s ahead" in found.seen) == (False, True)
    monkeypatch.setattr(doctor.clock_trial, "try_a_clock", lambda image: 691_201)
    assert doctor.check(clocks).seen == "a process was given a clock 8 days ahead"
    monkeypatch.setattr(doctor.prepare, "missing_images", lambda: ("highwater/base",))
    assert doctor.check(clocks).seen == "not known without the images"


def test_an_engine_that_is_another_ones_is_named(monkeypatch):
    info = {"ServerVersion": "28.0", "Driver": "overlay2", "OperatingSystem": "Docker Desktop"}
    told = info | {"SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]}
    monkeypatch.setattr(doctor.docker_api, "client", lambda: SimpleNamespace(info=lambda: told))
    monkeypatch.setattr(doctor.docker_api, "is_local", lambda: False)
    monkeypatch.setattr(doctor.docker_api, "host", lambda: "tcp://elsewhere:2375")
    assert (
        doctor.engine_version() == "Docker 28.0, overlay2, rootless, Docker Desktop, at tcp://elsewhere:2375"
    )


def test_another_system_gets_a_sentence(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    (system,) = (each for each in doctor.NEEDS if each.name == "system")
    assert doctor.check(system).seen == "clusters are run and broken on Linux only, and this is darwin"
    with pytest.raises(MachineError, match="darwin"):
        preflight.check(Topology())
    with pytest.raises(MachineError, match="darwin"):
        prepare.prepare_machine(docker=True, on_line=print)


def test_a_package_of_another_version_is_named_with_both_versions():
    with pytest.raises(Lack, match=r"pytest==1\.0 is required, \d+.* is installed"):
        doctor.packages_installed(("pytest==1.0",))
    assert doctor.packages_installed(("pytest>=7",)) == "1 as required"


def test_a_package_that_only_development_needs_may_be_absent():
    required = ("pytest>=7", 'highwater-no-such-thing==1; extra == "dev"')
    assert doctor.packages_installed(required) == "1 as required"


def test_a_package_that_is_absent_is_not_ok():
    assert doctor.check(need(lambda: doctor.packages_installed(("highwater-no-such-thing==1",)))).ok is False
