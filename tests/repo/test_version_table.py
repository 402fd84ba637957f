"""The version table of the documents says what the code knows of each version of Pinot."""

from __future__ import annotations

from pathlib import Path

from segments.domain.pinot.capabilities import CAPABILITIES, Has, PinotVersion
from tests.real_pinot.controllers.test_capabilities import PROBES, READ

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/pinot-clusters.md"
VERSIONS = (PinotVersion(0, 11), PinotVersion(1, 2), PinotVersion(1, 5, 1))
WORDS = {Has.YES: "yes", Has.NO: "no", Has.UNKNOWN: "?"}


def test_every_capability_is_a_row_with_what_each_version_has_and_how_that_was_verified() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in DOCUMENT.read_text().splitlines()
        if line.startswith("| ")
    ]
    head = next(i for i, row in enumerate(rows) if row[:4] == ["what", *(str(v) for v in VERSIONS)])
    told = {row[0]: row[1:] for row in rows[head + 1 :]}
    known = {c.title: [WORDS[c.in_version(v)] for v in VERSIONS] for c in CAPABILITIES}
    assert {title: cells[:3] for title, cells in told.items()} == known
    not_run = {title for title, cells in told.items() if cells[4] not in ("run", "run, whole")}
    assert not_run == {c.title for c in CAPABILITIES if c.name in READ}


def test_what_is_documented_to_run_has_a_probe_on_running_controllers() -> None:
    assert sorted([*PROBES, *READ]) == sorted(c.name for c in CAPABILITIES)
