"""Which tests of the black-box suite are known to fail on a real Apache Pinot 0.11.0, and what a run shows beside them.

The file has a table for each way and file of the suite: ``[direct."test_lineage.py"]``, ``[through."..."]`` for the way
through us, and ``[both."..."]`` for what is the same. A key is a test, or the beginning of several when it ends in
``*``; its value says why. A reason that begins with "may:" allows both outcomes; one that begins with "not run:" is for
tests that would only wait for what cannot come.
"""

from __future__ import annotations

import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Way = Literal["direct", "through"]
MAY = "may:"
NOT_RUN = "not run:"
DIFFERENCES = Path(__file__).with_name("conformance_differences.toml")


@dataclass(frozen=True)
class Outcomes:
    """Names (file::test) of the tests of a run by what became of them."""

    passed: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()

    def __add__(self, other: Outcomes) -> Outcomes:
        return Outcomes(self.passed | other.passed, self.failed | other.failed, self.skipped | other.skipped)


def known_differences(way: Way, file: str, path: Path = DIFFERENCES) -> dict[str, str]:
    """{file::test: why it fails this way} of a file of the suite. AssertionError for a table that belongs to no way."""
    found = tomllib.loads(path.read_text())
    assert set(found) <= {"direct", "through", "both"}, (
        f"{path} has tables of {sorted(found)}; a table is of direct, through or both"
    )
    return {f"{file}::{test}": why for name in ("both", way) for test, why in found.get(name, {}).get(file, {}).items()}


def outcomes(report: Path) -> Outcomes:
    """What a JUnit report says. A test with an error at its end failed, too."""
    passed, failed, skipped = set(), set(), set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed.add(name)
        elif "skipped" in kinds:
            skipped.add(name)
        else:
            passed.add(name)
    return Outcomes(frozenset(passed - failed), frozenset(failed), frozenset(skipped))


def judge(seen: Outcomes, known: Mapping[str, str], *, is_whole: bool = True) -> list[str]:
    """A line for each test whose outcome is not the known one, and for each known difference that met no test.

    ``is_whole`` False: only some tests of the files ran, so the latter means nothing.
    """
    lines = [
        f"{name} fails, which is not a known difference" for name in sorted(seen.failed) if _key(name, known) is None
    ]
    for name in sorted(seen.passed):
        key = _key(name, known)
        if key is not None and not known[key].startswith(MAY):
            lines.append(f"{name} passes, but is known to differ: {known[key]}")
    if is_whole:
        met = {_key(name, known) for name in seen.passed | seen.failed}
        lines += [f"{key} met no test that ran, but is known to differ" for key in sorted(set(known) - met)]
    return lines


def _key(name: str, known: Mapping[str, str]) -> str | None:
    """The key for a test: its own name, else the longest beginning."""
    if name in known:
        return name
    return max((k for k in known if k.endswith("*") and name.startswith(k[:-1])), key=len, default=None)
