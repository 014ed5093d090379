"""What `pip install` puts on a machine: every file of the packages, no test, no development package."""

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PACKAGES = ("checkers", "compose", "faults", "workloads", "spark_verify", "harness")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel, built from a copy with what is installed here: no network, nothing left in the checkout."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("pyproject.toml", "requirements.in", "requirements-dev.in"):
        shutil.copy(ROOT / name, copy)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = "from setuptools import build_meta; print(build_meta.build_wheel('.'))"
    made = subprocess.run(
        [sys.executable, "-c", build], cwd=copy, capture_output=True, text=True, check=True, timeout=120
    )
    with zipfile.ZipFile(copy / made.stdout.splitlines()[-1]) as archive:
        yield archive


def test_every_file_of_the_packages_is_in_the_wheel_and_nothing_else(wheel):
    files = {
        str(path.relative_to(ROOT))
        for name in PACKAGES
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == files
    for data in (
        "compose/recipes/kafka.dockerfile",
        "compose/recipes/programs/probe.pl",
        "compose/recipes/log4j2.properties",
        "compose/compose.yaml",
        "harness/scenario/library/general/storm.yaml",
        *(f"{name}/py.typed" for name in PACKAGES),
    ):
        assert data in files


def test_an_installation_pulls_no_development_package_unless_it_is_asked_to(wheel):
    (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
    required = re.findall(r"^Requires-Dist: (.*)$", wheel.read(name).decode(), re.MULTILINE)
    of_a_run = {re.split(r"[<=~ ]", each)[0] for each in required if "extra ==" not in each}
    of_development = {re.split(r"[<=~ ]", each)[0] for each in required if 'extra == "dev"' in each}
    assert of_a_run == {
        *("confluent-kafka", "docker", "testcontainers", "toxiproxy-python", "pyspark", "pandas", "pyarrow"),
        *("numpy", "google-crc32c", "pydantic", "ruamel.yaml", "rich", "packaging"),
    }
    assert {"mypy", "pytest", "duckdb", "psutil", "hypothesis", "import-linter", "ruff"} <= of_development


def test_the_command_is_installed(wheel):
    (name,) = (each for each in wheel.namelist() if each.endswith("entry_points.txt"))
    assert "highwater = harness.cli:main" in wheel.read(name).decode()
