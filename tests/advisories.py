"""Checks the lock files against known advisories, offline: ``python -m tests.advisories`` (``make advisories``).

``advisories.json`` beside this file holds, for the packages in the locks, the identifiers of known advisories and the
version ranges that they affect, with the date of the database that they were read from. ``python -m tests.advisories
refresh FOLDER`` reads them again from a copy of the PyPA advisory database (one YAML file per advisory, in OSV form,
below ``vulns/PACKAGE/``).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[1]
LOCKS = tuple(ROOT / f"requirements{part}.lock" for part in ("", "-build", "-demo", "-dev", "-postgres", "-traces"))
KNOWN = Path(__file__).with_name("advisories.json")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """A locked version that an advisory affects."""

    package: str
    version: str
    advisory: str

    def __str__(self) -> str:
        return f"{self.package} {self.version} is affected by {self.advisory}"


def locked(text: str) -> dict[str, str]:
    """{package: version} of a lock file's text; names in their canonical form."""
    return {canonicalize_name(name): version for name, version in _PIN.findall(text)}


def all_locked() -> dict[str, str]:
    """{package: version} of all lock files of the repository."""
    return {name: version for lock in LOCKS for name, version in locked(lock.read_text()).items()}


def affected(pins: Mapping[str, str], known: Mapping[str, Any]) -> list[Finding]:
    """The pinned versions that lie in an affected range, with the advisory's identifiers."""
    found = []
    for package, version in sorted(pins.items()):
        for advisory in known.get(package, ()):
            if _is_affected(Version(version), advisory):
                found.append(Finding(package, version, ", ".join(advisory["ids"])))
    return found


def _is_affected(version: Version, advisory: Mapping[str, Any]) -> bool:
    if str(version) in advisory["versions"]:
        return True
    return any(
        _at_least(version, low) and (high is None or version < Version(high)) for low, high in advisory["ranges"]
    )


def _at_least(version: Version, low: str) -> bool:
    return low == "0" or version >= Version(low)


def read_database(folder: Path, packages: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """{package: [{"ids", "ranges": [[introduced, fixed or null]], "versions"}]} of the named packages, from a copy of
    the database.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for package in sorted(packages):
        for path in sorted((folder / "vulns" / package).glob("*.yaml")):
            document = yaml.safe_load(path.read_text())
            if not document.get("withdrawn"):
                found.setdefault(package, []).append(_facts(document, package))
    return found


def _facts(document: Mapping[str, Any], package: str) -> dict[str, Any]:
    parts = [part for part in document["affected"] if canonicalize_name(part["package"]["name"]) == package]
    ranges = [
        pair
        for part in parts
        for given in part.get("ranges", ())
        if given["type"] != "GIT"
        for pair in _pairs(given["events"])
    ]
    # Versions are listed beside ranges; they count only where there is no range.
    versions = [] if ranges else sorted({str(v) for part in parts for v in part.get("versions", ())})
    return {"ids": [document["id"], *document.get("aliases", ())], "ranges": ranges, "versions": versions}


def _pairs(events: list[Mapping[str, Any]]) -> Iterator[list[str | None]]:
    low: str | None = None
    for event in events:
        if "introduced" in event:
            if low is not None:
                yield [low, None]
            low = str(event["introduced"])
        elif "fixed" in event and low is not None and _is_version(str(event["fixed"])):
            yield [low, str(event["fixed"])]
            low = None
    if low is not None:
        yield [low, None]


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def refresh(folder: Path, as_of: str) -> int:
    """Write ``advisories.json`` again from a copy of the database as of a date (YYYY-MM-DD); the number
    of advisories.
    """
    advisories = read_database(folder, all_locked())
    lines = [
        f'  "{name}": [\n' + ",\n".join("    " + json.dumps(a) for a in found) + "\n  ]"
        for name, found in advisories.items()
    ]
    head = f'"source": "PyPA advisory database", "as_of": "{date.fromisoformat(as_of)}"'
    KNOWN.write_text("{" + head + ', "advisories": {\n' + ",\n".join(lines) + "\n}}\n")
    return sum(map(len, advisories.values()))


def main(arguments: list[str]) -> int:
    """The command: check, or refresh FOLDER DATE. Exit status 1 when a locked version is affected."""
    if arguments[:1] == ["refresh"] and len(arguments) == 3:
        print(f"{refresh(Path(arguments[1]), arguments[2])} advisories on packages of the locks")
        return 0
    known = json.loads(KNOWN.read_text())
    pins = all_locked()
    findings = affected(pins, known["advisories"])
    for finding in findings:
        print(finding)
    total = sum(map(len, known["advisories"].values()))
    print(f"{len(pins)} locked packages, {total} advisories as of {known['as_of']}: {len(findings)} affected")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
