"""Runs the black-box suite against a real Apache Pinot 0.11.0: ``python -m tests.real_pinot.conformance SUITE [pytest options]``.

Fails when the outcome of any test is another than the differences file says: what newer releases do otherwise is known, with the reason.
``PINOT_DIFFERENCES`` names another file. Without options it runs ``test_lineage.py``; each file of the suite may be named.
"""

from __future__ import annotations

import os
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

from tests.conformance_run import run_suite
from tests.real_pinot.cluster import CLUSTER, RealPinot, running

MAY = "may:"
DIFFERENCES = Path(__file__).with_name("conformance_differences.toml")


def known_differences(path: Path, files: Sequence[str]) -> dict[str, str]:
    """{file::test: why 0.11.0 does not pass it} of the named files."""
    found = tomllib.loads(path.read_text())
    return {f"{file}::{test}": why for file, tests in found.items() if file in files for test, why in tests.items()}


def outcomes(report: Path) -> tuple[set[str], set[str]]:
    """Names of the tests that passed, and of those that failed, as file::test."""
    passed, failed = set(), set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed.add(name)
        elif "skipped" not in kinds:
            passed.add(name)
    return passed - failed, failed


def judge(passed: set[str], failed: set[str], known: dict[str, str]) -> list[str]:
    """A line for each test whose outcome is not the known one; a reason that begins with "may:" allows both."""
    lines = [f"{name} fails, which is no known difference" for name in sorted(failed - set(known))]
    lines += [
        f"{name} passes, but is known to differ: {known[name]}" for name in sorted(passed & set(known)) if not known[name].startswith(MAY)
    ]
    return lines + [f"{name} did not run, but is known to differ" for name in sorted(set(known) - passed - failed)]


def run(suite: Path, pinot: RealPinot, files: Sequence[str], options: Sequence[str] = ()) -> tuple[str, list[str]]:
    """Run files of the suite against this Pinot; one line of figures, and what is not as it is known to be."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        endpoints = {
            "controller": pinot.controller, "broker": pinot.broker, "zookeeper": pinot.zookeeper, "cluster": CLUSTER,
            "authorization": "", "deep_store": f"file://{pinot.deep_store}", "redis": "",
        }  # fmt: skip
        arguments = ["-q", "--tb=short", f"--junitxml={report}", *options, *files]
        done = run_suite(suite, endpoints, Path(folder), arguments, is_strict=False, capture=True)
        if not report.exists():
            return "it did not run", [done.stdout[-4000:] + done.stderr[-2000:]]
        passed, failed = outcomes(report)
    known = known_differences(Path(os.environ.get("PINOT_DIFFERENCES") or DIFFERENCES), files)
    surprises = judge(passed, failed, known)
    if surprises:
        surprises.append(done.stdout[-12_000:])
    return f"{len(passed)} of {len(passed) + len(failed)} pass; {len(known)} are known to differ on 0.11.0, or may", surprises


def main(arguments: list[str]) -> int:
    """Start a Pinot, run, judge; 0 when everything is as it is known to be."""
    suite = Path(arguments[0]).resolve() if arguments else Path("conformance")
    if not suite.is_dir():
        sys.exit(f"There is no conformance suite in {suite}. Name its folder: make conformance-real CONFORMANCE=DIR")
    files = [a for a in arguments[1:] if a.endswith(".py")] or ["test_lineage.py"]
    options = [a for a in arguments[1:] if not a.endswith(".py")]
    with running() as pinot:
        figures, surprises = run(suite, pinot, files, options)
    sys.stdout.write("\n".join([*surprises, figures]) + "\n")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
