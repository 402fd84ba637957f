"""`pip install .` gives a `pinotadmin` that has every module, page and file, and runs outside of a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pinotadmin.version import VERSION
from tests.processes.conftest import PROJECT

_PARTS = ("pinotadmin", "segments", "pinotadmin_client", "templates")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build leaves folders behind."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for part in _PARTS:
        shutil.copytree(PROJECT / part, source / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "requirements.txt", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, source)
    options = ("--no-deps", "--no-build-isolation", "--no-index", "-q", "-w", str(target))
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True, timeout=110)
    [built] = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages as pip would install them."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run(installed: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The installed command, somewhere else, for somebody with this home folder."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PINOTADMIN_")}
    return subprocess.run(
        [sys.executable, "-m", "pinotadmin", *arguments],
        cwd=home, env=environment | {"PYTHONPATH": str(installed), "HOME": str(home)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_the_wheel_has_every_file_of_our_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = [p for part in _PARTS for p in (PROJECT / part).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    wanted = {str(p.relative_to(PROJECT)).replace("templates/", "pinotadmin/templates/", 1)
              if p.is_relative_to(PROJECT / "templates") else str(p.relative_to(PROJECT)) for p in files}  # fmt: skip
    outside = {"pinotadmin_client/README.md", "pinotadmin_client/pyproject.toml"}
    assert (len(wanted) > 1000, sorted(wanted - names - outside)) == (True, [])


def test_it_runs_outside_of_a_checkout_with_its_data_in_the_home_folder(installed: Path, tmp_path: Path) -> None:
    assert run(installed, tmp_path, "--version").stdout == f"pinotadmin {VERSION}\n"
    shown = run(installed, tmp_path, "config", "show").stdout
    assert f"PINOTADMIN_DATA_DIR = {tmp_path}/.pinotadmin\n" in shown
    checked = run(installed, tmp_path, "check")
    assert (checked.returncode, checked.stdout) == (0, "System check identified no issues (0 silenced).\n")


def test_its_pages_are_found(installed: Path, tmp_path: Path) -> None:
    code = "from django.template.loader import get_template; print(get_template('console/login.html').origin.name)"
    found = run(installed, tmp_path, "shell", "--no-imports", "-c", code)
    assert found.stdout.strip().startswith(str(installed)), found.stderr
