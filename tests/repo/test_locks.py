"""What is installed is what the locks name: every package, each with hashes, none with a known advisory."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.advisories import KNOWN, LOCKS, ROOT, affected, all_locked, locked, read_database

PARTS = ["", "-build", "-demo", "-dev", "-postgres", "-traces", "-s3"]


def wanted(part: str) -> dict[str, str]:
    """{package: version} of a requirements file, written by hand."""
    lines = [line.partition("#")[0].strip() for line in (ROOT / f"requirements{part}.txt").read_text().splitlines()]
    asked = [Requirement(line) for line in lines if line]
    return {canonicalize_name(a.name): str(a.specifier).removeprefix("==") for a in asked}


@pytest.mark.parametrize("part", PARTS)
def test_a_lock_names_every_requirement_in_its_version(part: str) -> None:
    pins = locked((ROOT / f"requirements{part}.lock").read_text())
    assert {name: pins.get(name) for name in wanted(part)} == wanted(part), "run 'make lock'"


@pytest.mark.parametrize("lock", [*LOCKS, ROOT / "requirements-s3.lock"], ids=lambda lock: lock.name)
def test_every_package_of_a_lock_has_a_hash(lock: Path) -> None:
    entries = re.split(r"\n(?=\S)", lock.read_text().strip())
    assert [e.splitlines()[0] for e in entries if not e.startswith("#") and "--hash=sha256:" not in e] == []


def test_tests_run_with_the_versions_that_are_installed_for_use() -> None:
    run_time = locked((ROOT / "requirements.lock").read_text())
    for part in ("-demo", "-dev", "-postgres", "-traces"):
        pins = locked((ROOT / f"requirements{part}.lock").read_text())
        assert {n: v for n, v in pins.items() if run_time.get(n, v) != v} == {}


def test_installing_takes_locks_only_and_builds_nothing_with_other_packages() -> None:
    text = (ROOT / "Makefile").read_text()
    assert "--require-hashes --no-build-isolation" in text
    installs = [
        line for line in text.splitlines() if line.lstrip().startswith(("@$(PIP)", "$(PIP)")) or "pip install" in line
    ]
    assert len(installs) == 7  # the definition, and one for each lock
    assert [line for line in installs[1:] if ".lock" not in line or "$(PIP)" not in line] == []


def test_a_wheel_offers_the_extras_of_make_install() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    (pin,) = wanted("-postgres").items()
    assert f'postgres = ["{pin[0]}[binary]=={pin[1]}"]' in text


def test_no_locked_package_has_a_known_advisory() -> None:
    assert list(map(str, affected(all_locked(), json.loads(KNOWN.read_text())["advisories"]))) == []


def test_the_s3_server_of_the_tests_has_no_known_advisory_either() -> None:
    pins = locked((ROOT / "requirements-s3.lock").read_text())  # apart: it has packages in other versions
    assert list(map(str, affected(pins, json.loads(KNOWN.read_text())["advisories"]))) == []


def test_the_check_finds_a_version_that_is_affected() -> None:
    known = json.loads(KNOWN.read_text())["advisories"]
    assert [f.advisory for f in affected({"django": "5.0.7"}, known) if "PYSEC-2024-70" in f.advisory]
    assert not [f for f in affected({"django": "5.0.8"}, known) if "PYSEC-2024-70" in f.advisory]


def test_the_database_is_read_with_its_ranges(tmp_path: Path) -> None:
    folder = tmp_path / "vulns" / "some-package"
    folder.mkdir(parents=True)
    events = "[{introduced: '1.0'}, {fixed: '1.4'}, {introduced: '2.0'}]"
    affected_part = (
        f"{{package: {{name: Some_Package, ecosystem: PyPI}}, ranges: [{{type: ECOSYSTEM, events: {events}}}]}}"
    )
    (folder / "A.yaml").write_text(f"id: A-1\naliases: [CVE-1]\naffected: [{affected_part}]\n")
    (folder / "B.yaml").write_text(f"id: B-1\nwithdrawn: 2024-01-01T00:00:00Z\naffected: [{affected_part}]\n")
    known = read_database(tmp_path, {"some-package": "1.0"})
    assert known == {
        "some-package": [{"ids": ["A-1", "CVE-1"], "ranges": [["1.0", "1.4"], ["2.0", None]], "versions": []}]
    }
    hit = {version: bool(affected({"some-package": version}, known)) for version in ("0.9", "1.0", "1.4", "2.5")}
    assert hit == {"0.9": False, "1.0": True, "1.4": False, "2.5": True}
