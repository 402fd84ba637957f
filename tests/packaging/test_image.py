"""The image of the Containerfile, built and run where a builder is there and has the image that it begins with; skipped
with the reason elsewhere, where ``test_deployment_files.py`` reads the file.

``CONTAINER_BUILD_OPTIONS``: more for the builder's ``build``, such as a mounted folder of authorities.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from pinotadmin.version import VERSION

ROOT: Final = Path(__file__).resolve().parents[2]
CONTAINERFILE: Final = ROOT / "deployment/Containerfile"
_NAME: Final = "pinotadmin-of-the-tests"
_BUILD: Final = {"docker": "build", "podman": "build", "buildah": "build"}

pytestmark = [pytest.mark.timeout(1800)]


@dataclass
class Image:
    """``builder``: the program that built it, and that runs commands in it."""

    builder: str

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """``docker run IMAGE ARGUMENTS``, or the same with buildah."""
        if self.builder != "buildah":
            return _called(self.builder, "run", "--rm", "--read-only", "--tmpfs", "/tmp", _NAME, *arguments)
        container = _called("buildah", "from", "--pull-never", _NAME).stdout.strip()
        try:
            return _called("buildah", "run", container, "--", "pinotadmin", *arguments)
        finally:
            _called("buildah", "rm", container)


def _called(*command: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    # Within a container of its own buildah may start no other: a changed root is enough here.
    env = {"BUILDAH_ISOLATION": "chroot", **os.environ}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False, env=env)


def _builder() -> str:
    """The first one that works; skips, with what is missing, where there is none."""
    missing = []
    for name in _BUILD:
        if shutil.which(name) is None:
            missing.append(f"{name} is not installed")
        elif (done := _called(name, "images")).returncode != 0:
            missing.append(f"{name} does not work ({done.stderr.strip().splitlines()[-1][:120]})")
        else:
            return name
    pytest.skip(f"no image is built: {', '.join(missing)}")


def _has_base(builder: str) -> bool:
    base = next(line.split()[1] for line in CONTAINERFILE.read_text().splitlines() if line.startswith("FROM "))
    inspect = ["inspect", "--type", "image"]
    return _called(builder, *inspect, base).returncode == 0 or _called(builder, "pull", base).returncode == 0


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    builder = _builder()
    if not _has_base(builder):
        pytest.skip(
            f"no image is built: {builder} neither has nor reaches the image that the Containerfile begins with"
        )
    more = shlex.split(os.environ.get("CONTAINER_BUILD_OPTIONS", ""))
    done = _called(builder, _BUILD[builder], *more, "-f", str(CONTAINERFILE), "-t", _NAME, ".", seconds=1500)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    yield Image(builder)
    _called(builder, "rmi", _NAME)


def test_it_is_this_version_and_nothing_is_wrong_with_what_it_sets(image: Image) -> None:
    assert image.run("--version").stdout == f"pinotadmin {VERSION}\n"
    checked = image.run("config", "check")
    assert (checked.returncode, checked.stdout) == (0, "Nothing is wrong.\n"), checked.stdout + checked.stderr
    shown = image.run("config", "show", "--set").stdout
    for line in ("PINOTADMIN_DATA_DIR = /var/lib/pinotadmin", "PINOTADMIN_BIND_HOST = 0.0.0.0"):
        assert line in shown, shown


@pytest.mark.parametrize("role", ["web", "server", "worker", "upkeep", "mirror", "beat"])
def test_a_part_in_it_says_what_it_needs(image: Image, role: str) -> None:
    done = image.run("run", role)
    said = done.stdout + done.stderr
    assert (done.returncode, f"PINOTADMIN_CLUSTER_SECRET is not set, so this {role}" in said) == (1, True), said
