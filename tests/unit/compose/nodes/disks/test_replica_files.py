"""Which files of a broker's log directories are copied, and what becomes of those that cannot be."""

import errno
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from compose.docker import containers
from compose.errors import DiskError
from compose.nodes.disks import replica_files
from compose.nodes.disks.disks import Disks
from compose.nodes.disks.replica_files import save, wanted_files
from compose.nodes.helper import Helper
from compose.spec.server_properties import disk_label

LOG = "00000000000000000000.log"
EMPTY = Helper(container_id="none")


def test_only_the_replicas_of_the_topics_and_the_checkpoints_are_wanted() -> None:
    wanted = (
        ".kafka_cleanshutdown",
        "log-start-offset-checkpoint",
        "meta.properties",
        f"orders-0/{LOG}",
        "orders-0/00000000000000000007.snapshot",
        "orders-0/leader-epoch-checkpoint",
        "orders-0/partition.metadata",
        f"orders-0.5f3a1c-delete/{LOG}",
        f"orders-12.77-stray/{LOG}",
        f"orders-1.77-future/{LOG}",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    )
    others = (
        ".lock",
        "bootstrap.checkpoint",
        "__cluster_metadata-0/quorum-state",
        f"__consumer_offsets-0/{LOG}",
        "orders-0/00000000000000000000.index",
        "orders-0/00000000000000000000.timeindex",
        f"orders-0-1/{LOG}",
        f"orders-x/{LOG}",
        f"ordersX0/{LOG}",
        f"my.orders-0/{LOG}",
        f"orders-1.77-other/{LOG}",
    )
    assert tuple(wanted_files(dict.fromkeys((*others, *wanted), 5), ["orders"])) == wanted


def test_a_dot_in_a_name_is_a_dot() -> None:
    files = {f"a.b-0/{LOG}": 1, f"aXb-0/{LOG}": 1, f"c-0/{LOG}": 1}
    assert wanted_files(files, ["a.b", "c"]) == {f"a.b-0/{LOG}": 1, f"c-0/{LOG}": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDisks(Disks):
    """Log directories on this machine; `broken` ones cannot be read, of others `lost` files vanish. Each is
    named by its label, as "1" or "1-2"."""

    helper: Helper = EMPTY
    devices: dict[int, tuple[str, ...]] = field(default_factory=dict)
    numbers: int = 1
    """How many each node has."""
    broken: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    free: int = 1 << 40
    likes: dict[str, str] = field(default_factory=dict)
    """What each was to be compared with."""
    sizes: dict[str, int] = field(default_factory=dict)
    """What each was said to have."""

    def count(self, node: int) -> int:
        return self.numbers

    def tree(self, node: int, log_dir: int) -> dict[str, int]:
        if disk_label(node, log_dir) in self.broken:
            raise DiskError("sh disk.sh tree: exit code 1: Input/output error")
        home = self._home(node, log_dir)
        return {str(p.relative_to(home)): p.stat().st_size for p in home.rglob("*") if p.is_file()}

    def gather(
        self, node: int, log_dir: int, names: Sequence[str], *, size_bytes: int, to: str, like: str = ""
    ) -> str:
        label = disk_label(node, log_dir)
        self.likes[label], self.sizes[label] = like, size_bytes
        for path in self.tree(node, log_dir):
            if path not in self.lost and path.partition("/")[0] in names:
                target = Path(self.directory, to, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self._home(node, log_dir) / path, target)
        return f"{self.directory}/{to}"

    def free_bytes(self) -> int:
        return self.free

    def _home(self, node: int, log_dir: int) -> Path:
        return Path(self.directory, "disks", disk_label(node, log_dir))


class Elsewhere(LocalDisks):
    """On another machine, where all paths begin with /elsewhere."""

    def gather(
        self, node: int, log_dir: int, names: Sequence[str], *, size_bytes: int, to: str, like: str = ""
    ) -> str:
        here = LocalDisks.gather(self, node, log_dir, names, size_bytes=size_bytes, to=to, like=like)
        return f"/elsewhere{here}"


@pytest.fixture(autouse=True)
def archives(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the engine sends as an archive, by path."""
    sent: list[str] = []

    def copy(container_id: str, path: str, into: Path) -> None:
        sent.append(path)
        shutil.copytree(path.removeprefix("/elsewhere"), into, dirs_exist_ok=True)

    monkeypatch.setattr(containers, "save_directory", copy)
    return sent


def data(tmp_path: Path, *nodes: int, numbers: int = 1) -> str:
    """Log directory 1 of each node has partition 0 of a topic, log directory 2 partition 1, and so on."""
    for node in nodes:
        for number in range(1, numbers + 1):
            home = tmp_path / "engine/disks" / disk_label(node, number)
            partition = home / f"orders-{number - 1}"
            partition.mkdir(parents=True)
            (partition / LOG).write_bytes(bytes([node] * 70))
            (home / "meta.properties").write_text(f"node.id={node}\n")
    return str(tmp_path / "engine")


def found(into: Path) -> list[str]:
    return sorted(str(path.relative_to(into)) for path in into.rglob("*") if path.is_file())


@pytest.mark.parametrize("where", [LocalDisks, Elsewhere])
def test_every_broker_has_a_folder_of_its_own(tmp_path: Path, where: type[LocalDisks]) -> None:
    disks = where(directory=data(tmp_path, 1, 2))
    assert save(disks, (1, 2), ["orders"], tmp_path / "run/replicas") == {1: "", 2: ""}
    assert found(tmp_path / "run/replicas") == [
        "1/meta.properties",
        f"1/orders-0/{LOG}",
        "2/meta.properties",
        f"2/orders-0/{LOG}",
    ]
    assert (tmp_path / f"run/replicas/2/orders-0/{LOG}").read_bytes() == b"\2" * 70


def test_every_log_directory_of_a_broker_has_a_folder_of_its_own(tmp_path: Path) -> None:
    disks = LocalDisks(directory=data(tmp_path, 1, 2, numbers=2), numbers=2)
    assert save(disks, (1, 2), ["orders"], tmp_path / "replicas") == {1: "", 2: ""}
    assert found(tmp_path / "replicas") == [
        "1-2/meta.properties",
        f"1-2/orders-1/{LOG}",
        "1/meta.properties",
        f"1/orders-0/{LOG}",
        "2-2/meta.properties",
        f"2-2/orders-1/{LOG}",
        "2/meta.properties",
        f"2/orders-0/{LOG}",
    ]


def test_a_log_directory_is_compared_with_all_those_of_the_first_broker(tmp_path: Path) -> None:
    """A partition may lie in the first directory of one broker, and in the second one of another."""
    disks = LocalDisks(directory=data(tmp_path, 1, 2, numbers=2), numbers=2)
    save(disks, (1, 2), ["orders"], tmp_path / "replicas")
    first = f"{disks.directory}/replicas-1"
    assert disks.likes == {"1": "", "1-2": "", "2": first, "2-2": first}


def test_a_broker_with_a_log_directory_that_cannot_be_read_has_no_copy_at_all(tmp_path: Path) -> None:
    """What lies in its other one would look as if it had nothing else."""
    disks = LocalDisks(directory=data(tmp_path, 1, 2, numbers=2), numbers=2, broken=frozenset({"1-2"}))
    assert save(disks, (1, 2), ["orders"], tmp_path / "replicas") == {
        1: "its disk cannot be read: sh disk.sh tree: exit code 1: Input/output error",
        2: "",
    }
    assert sorted(path.name for path in (tmp_path / "replicas").iterdir()) == ["2", "2-2"]


def test_a_broker_with_a_log_directory_that_cannot_be_copied_has_no_copy_at_all(tmp_path: Path) -> None:
    lost = frozenset({f"orders-1/{LOG}"})
    disks = LocalDisks(directory=data(tmp_path, 1, numbers=2), numbers=2, lost=lost)
    assert save(disks, (1,), ["orders"], tmp_path / "replicas") == {
        1: f"its replicas could not be copied: orders-1/{LOG}: 70 bytes on the disk, -1 in the copy"
    }
    assert list((tmp_path / "replicas").iterdir()) == []


def test_what_is_on_this_machine_is_moved(tmp_path: Path, archives: list[str]) -> None:
    disks = LocalDisks(directory=data(tmp_path, 1))
    assert save(disks, (1,), ["orders"], tmp_path / "replicas") == {1: ""}
    assert (archives, Path(disks.directory, "replicas-1/1").exists()) == ([], False)


def test_the_others_are_compared_with_the_first(tmp_path: Path) -> None:
    disks = LocalDisks(directory=data(tmp_path, 1, 2, 3))
    assert save(disks, (1, 2, 3), ["orders"], tmp_path / "replicas") == {1: "", 2: "", 3: ""}
    first = f"{disks.directory}/replicas-1"
    assert disks.likes == {"1": "", "2": first, "3": first}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience(Helper):
    """Notes how long each command may take."""

    within_s: list[float] = field(default_factory=list)

    def disk(self, *argv: str, within_s: float = 0.0) -> str:
        self.within_s.append(within_s)
        return ""


def test_a_large_disk_has_more_time_to_be_gathered(tmp_path: Path) -> None:
    """10 MB/s, and two minutes for whatever is small; the sizes are those that were listed."""
    helper = Patience(container_id="none")
    disks = Disks(helper=helper, directory="/disks", devices={1: ("/dev/loop1",)})
    for size_bytes in (1 << 30, 60_000_000_000):
        disks.gather(1, 1, ["orders-0"], size_bytes=size_bytes, to="replicas-1")
    assert helper.within_s == [120.0, 6000.0]
    local = LocalDisks(directory=data(tmp_path, 1))
    save(local, (1,), ["orders"], tmp_path / "replicas")
    assert local.sizes == {"1": 80}


def test_what_is_on_another_file_system_of_it_is_copied(
    tmp_path: Path, archives: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> Path:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "rename", refuse)
    assert save(LocalDisks(directory=data(tmp_path, 1)), (1,), ["orders"], tmp_path / "replicas") == {1: ""}
    assert found(tmp_path / "replicas") == ["1/meta.properties", f"1/orders-0/{LOG}"]
    assert archives == []


def test_what_is_on_another_machine_is_sent(tmp_path: Path, archives: list[str]) -> None:
    disks = Elsewhere(directory=data(tmp_path, 1))
    assert save(disks, (1,), ["orders"], tmp_path / "replicas") == {1: ""}
    assert archives == [f"/elsewhere{disks.directory}/replicas-1/1"]


def test_a_disk_that_cannot_be_read_costs_no_other_its_copy(tmp_path: Path) -> None:
    disks = LocalDisks(directory=data(tmp_path, 1, 2), broken=frozenset({"1"}))
    assert save(disks, (1, 2), ["orders"], tmp_path / "replicas") == {
        1: "its disk cannot be read: sh disk.sh tree: exit code 1: Input/output error",
        2: "",
    }
    assert found(tmp_path / "replicas") == ["2/meta.properties", f"2/orders-0/{LOG}"]


def test_a_copy_that_lacks_something_is_no_copy(tmp_path: Path) -> None:
    disks = LocalDisks(directory=data(tmp_path, 1), lost=frozenset({f"orders-0/{LOG}"}))
    assert save(disks, (1,), ["orders"], tmp_path / "replicas") == {
        1: f"its replicas could not be copied: orders-0/{LOG}: 70 bytes on the disk, -1 in the copy"
    }
    assert list((tmp_path / "replicas").iterdir()) == []


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy(LocalDisks):
    """Of brokers that replace a checkpoint by a longer one between each of so many listings and its copy."""

    replacements: list[str]

    def gather(
        self, node: int, log_dir: int, names: Sequence[str], *, size_bytes: int, to: str, like: str = ""
    ) -> str:
        if self.replacements:
            file = self._home(node, log_dir) / self.replacements.pop()
            file.write_text(file.read_text() + "9")
        shutil.rmtree(Path(self.directory, to), ignore_errors=True)
        return LocalDisks.gather(self, node, log_dir, names, size_bytes=size_bytes, to=to, like=like)


HIGH_WATERMARKS = "replication-offset-checkpoint"
REPLACED = ["log-start-offset-checkpoint", "recovery-point-offset-checkpoint", HIGH_WATERMARKS]


def busy(tmp_path: Path, replacements: Sequence[str]) -> Busy:
    directory = data(tmp_path, 1)
    for name in REPLACED:
        Path(directory, "disks/1", name).write_text("0\n1\norders 0 70\n")
    return Busy(directory=directory, replacements=list(replacements))


def test_each_checkpoint_may_be_replaced_while_a_broker_that_runs_is_copied(tmp_path: Path) -> None:
    """All three of them, one after the other: the timers for them can run out together."""
    disks = busy(tmp_path, REPLACED)
    assert save(disks, (1,), ["orders"], tmp_path / "replicas") == {1: ""}
    assert disks.replacements == []
    for name in REPLACED:
        assert (tmp_path / "replicas/1" / name).read_text() == "0\n1\norders 0 70\n9", name


def test_a_checkpoint_that_is_replaced_every_time_is_not_copied(tmp_path: Path) -> None:
    disks = busy(tmp_path, [HIGH_WATERMARKS] * 4)
    assert save(disks, (1,), ["orders"], tmp_path / "replicas") == {
        1: f"its replicas could not be copied: {HIGH_WATERMARKS}: 19 bytes on the disk, 20 in the copy"
    }
    assert list((tmp_path / "replicas").iterdir()) == []


def test_nothing_is_copied_where_the_room_is_short(tmp_path: Path) -> None:
    """Two copies of 2 x 80 bytes must leave 1 GiB free."""
    short = LocalDisks(directory=data(tmp_path, 1, 2), free=(1 << 30) + 4 * 80 - 1)
    reason = "0 MiB of replicas were not copied: 1024 MiB are free, 1024 are needed"
    assert save(short, (1, 2), ["orders"], tmp_path / "replicas") == {1: reason, 2: reason}
    assert found(tmp_path / "replicas") == []
    enough = LocalDisks(directory=short.directory, free=(1 << 30) + 4 * 80)
    assert save(enough, (1, 2), ["orders"], tmp_path / "replicas") == {1: "", 2: ""}


def test_no_broker_is_nothing_to_do(tmp_path: Path) -> None:
    assert replica_files.save(LocalDisks(directory=str(tmp_path)), (), ["orders"], tmp_path / "r") == {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Changing(LocalDisks):
    """A checkpoint that is listed with another size the first time."""

    listed: list[int] = field(default_factory=list)

    def tree(self, node: int, log_dir: int) -> dict[str, int]:
        sizes = LocalDisks.tree(self, node, log_dir)
        self.listed.append(node)
        if len(self.listed) == 1:
            sizes["meta.properties"] += 1
        return sizes


def test_a_file_that_changes_while_it_is_copied_is_copied_once_more(tmp_path: Path) -> None:
    disks = Changing(directory=data(tmp_path, 1))
    assert save(disks, (1,), ["orders"], tmp_path / "replicas") == {1: ""}
    assert found(tmp_path / "replicas") == ["1/meta.properties", f"1/orders-0/{LOG}"]
    assert len(disks.listed) >= 2
