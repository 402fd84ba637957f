"""The sizing of docs/deployment.md: every figure is one that was measured, and its command is there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

_DOCS = Path(__file__).resolve().parents[2] / "docs"
#: Where figures are written down with the circumstances in which they were measured.
_MEASURED = "\n".join((_DOCS / name).read_text() for name in ("figures.md", "input-files.md", "ingestion.md"))


def _rows() -> list[tuple[str, str, str]]:
    section = (_DOCS / "deployment.md").read_text().split("\n## Sizing\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| `python -m (\S+).*?` \|$", section, re.M)
    assert len(rows) == section.count("\n| ") - 1, "every row but the heading has a command"
    return rows


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row[0])
def test_a_figure_was_measured_and_its_command_is_there(row: tuple[str, str, str]) -> None:
    _, measured, module = row
    assert importlib.util.find_spec(module) is not None, module
    assert f"python -m {module.removesuffix('.reading')}" in _MEASURED, module
    numbers = re.findall(r"[0-9][0-9.,]*(?: (?:GB|MB|x|s\b))?", measured)
    assert numbers
    assert [number for number in numbers if number not in _MEASURED] == []
