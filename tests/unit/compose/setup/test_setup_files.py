"""The files that set-up reads: pinned by hash, the same pins everywhere, and no address of any registry."""

import re
import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from compose.nodes.helper import DISKS_DIR
from compose.setup import engine, java

ROOT = Path(__file__).parents[4]
RECIPES = ROOT / "compose/recipes"
PINNED = (
    ROOT / "requirements.txt",
    ROOT / "requirements-dev.txt",
    ROOT / "requirements-build.txt",
    RECIPES / "requirements-go.txt",
    RECIPES / "requirements-java.txt",
)
READ_BY_SETUP = (
    *PINNED,
    ROOT / "requirements.in",
    ROOT / "requirements-dev.in",
    ROOT / "Makefile",
    ROOT / ".ci/run",
    ROOT / "compose/setup/bootstrap.sh",
)
READ_BY_BUILDS = sorted(path for path in RECIPES.rglob("*.*") if path.suffix != ".pyc")


def pins(path: Path) -> dict[str, set[str]]:
    """Return the hashes of each `name==version` in a requirements file."""
    text = path.read_text().replace("\\\n", " ")
    return {
        line.split()[0]: set(re.findall(r"--hash=(\S+)", line))
        for line in text.splitlines()
        if line and not line.startswith((" ", "#"))
    }


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.name)
def test_every_package_has_one_exact_version_and_hashes(path):
    assert pins(path)
    for name, hashes in pins(path).items():
        assert re.fullmatch(r"[a-z0-9._-]+==[0-9a-z.]+", name)
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes)
        assert hashes


def test_what_builds_packages_is_pinned_as_in_the_full_list():
    full = pins(ROOT / "requirements.txt") | pins(ROOT / "requirements-dev.txt")
    build = pins(ROOT / "requirements-build.txt")
    assert set(build) == {
        name for name in full if name.split("==")[0] in ("setuptools", "wheel", "packaging")
    }
    assert all(full[name] == hashes for name, hashes in build.items())


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_what_is_asked_for_is_among_the_pins(name):
    asked = [Requirement(line) for line in (ROOT / f"{name}.in").read_text().splitlines() if line[0] != "#"]
    pinned = dict(pin.split("==") for pin in pins(ROOT / f"{name}.txt"))
    assert all(each.specifier.contains(pinned[canonicalize_name(each.name)]) for each in asked)


def test_what_a_run_needs_holds_nothing_that_only_development_needs():
    run, development = (pins(ROOT / f"requirements{kind}.txt").keys() for kind in ("", "-dev"))
    assert not run & development
    assert {"mypy", "pytest", "ruff", "duckdb", "hypothesis", "import-linter", "psutil"} <= {
        pin.split("==")[0] for pin in development
    }


@pytest.mark.parametrize("path", [*READ_BY_SETUP, *READ_BY_BUILDS], ids=lambda path: path.name)
def test_no_file_of_set_up_holds_an_address(path):
    """Registries are reached under the names that the machine's own clients know."""
    assert "://" not in re.sub(r"(CLIENT|BROKER|CONTROLLER)://", "", path.read_text())


@pytest.mark.parametrize(
    "path", [ROOT / "compose/setup/bootstrap.sh", RECIPES / "archive.sh"], ids=lambda path: path.name
)
def test_shell_scripts_parse(path):
    assert subprocess.run(["sh", "-n", path], check=False).returncode == 0


def a_python(folder: Path, name: str, version: str, loop_us: int) -> str:
    """What answers as a Python of this version does that runs a loop in that time."""
    script = (
        f'#!/bin/sh\ncase "$2" in *version_info\\[*) echo {version} ;; *timeit*) echo {loop_us} ;; esac\n'
    )
    path = folder / name
    path.write_text(script)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("version", "loop_us", "taken"),
    [("3.11", 700, "system"), ("3.11", 950, "found"), ("3.11", 2000, "found"), ("3.13", 300, "found")],
)
def test_the_systems_python_is_taken_if_it_is_the_faster_one_of_the_same_version(
    tmp_path, version, loop_us, taken
):
    found = a_python(tmp_path, "found", "3.11", 1000)
    system = a_python(tmp_path, "system", version, loop_us)
    text = (ROOT / "compose/setup/bootstrap.sh").read_text()
    functions = text[text.index("is_usable()") : text.index("find_python()")]
    asked = ["sh", "-euc", f'{functions}\nfaster "$@"', "sh", found, system]
    answer = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert answer == f"{tmp_path / taken}\n"


def test_ci_runs_the_test_command_of_the_readme_and_nothing_more():
    lines = [
        line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")
    ]
    assert lines == ["set -eu", 'cd "$(dirname "$0")/.."', "exec make test"]
    assert "make test" in (ROOT / "README.md").read_text()


def test_the_readme_says_how_all_that_set_up_installs_or_leaves_is_undone():
    text = (ROOT / "README.md").read_text()
    undone = text[text.index("## Clean up") :]
    code = "".join(path.read_text() for path in (ROOT / "compose").rglob("*.py"))
    installs = [call for call in re.findall(r"debian\.install\((.*?), why=", code) if '"' in call]
    needs = re.findall(r'debian\.need\(.*package="(\S+)"', code)
    packages = {*needs, *re.findall(r'"(\S+?)"', " ".join(installs))}
    assert packages == {"docker.io", "iptables", "default-jre-headless", "debootstrap", "maven"}
    (purge,) = re.findall(r"^apt-get purge (.*?)  +#", undone, re.MULTILINE)
    assert set(purge.split()) == packages | {"python3-venv"}
    left = (engine.PID_FILE, engine.LOG_FILE, DISKS_DIR.parent, "~/.cache/highwater", java.PACKAGE)
    assert [each for each in left if str(each) not in undone] == []


def test_make_test_prepares_lints_and_runs_all_tests_but_the_long_ones_once():
    folders = {path.parent.relative_to(ROOT).parts[1] for path in ROOT.glob("tests/**/test_*.py")}
    assert folders == {"unit", "spark", "cluster", "long"}, "a new folder belongs to a command of make"
    recipe = subprocess.run(
        ["make", "--no-print-directory", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert recipe == [
        "sh compose/setup/bootstrap.sh",
        ".venv/bin/highwater setup",
        ".venv/bin/ruff check .",
        ".venv/bin/ruff format --check .",
        ".venv/bin/mypy",
        ".venv/bin/lint-imports",
        ".venv/bin/pytest tests/unit tests/spark -n 3 --dist loadfile",
        ".venv/bin/pytest tests/cluster --ignore tests/cluster/shared/faults/each "
        "--ignore tests/cluster/log_directories",
    ]
