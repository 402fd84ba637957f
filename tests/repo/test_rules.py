"""Rules are cited by their names in ``docs/rules.md``: each name stands there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = (ROOT / "docs/rules.md").read_text()
FOLDERS = ("segments", "pinotadmin", "tests", "bench", "docs", "templates")
TEXTS = sorted(
    path
    for path in (
        *(p for folder in FOLDERS for p in (ROOT / folder).rglob("*")),
        *ROOT.glob("*.md"),
        ROOT / "Makefile",
        ROOT / "pyproject.toml",
    )
    if path.suffix in (".py", ".md", ".html", ".txt", ".toml") or path.name == "Makefile"
)
#: A name may stand on the line after the word "rule", behind a comment's sign, and several may follow one another.
_CITED = re.compile(r"\brules?\s+(?:#:?\s+)?(`+[a-z0-9-]+`+(?:(?:,|\s+and)\s+(?:#:?\s+)?`+[a-z0-9-]+`+)*)")
_STATED = re.compile(r"^- \*\*`([a-z0-9-]+)`\*\*: ", re.MULTILINE)


@cache
def _text(path: Path) -> str:
    return path.read_text()


def _citations() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in TEXTS:
        if path == ROOT / "docs/rules.md" or path == Path(__file__):
            continue
        for names in _CITED.findall(_text(path)):
            for name in re.findall(r"[a-z0-9-]+", names):
                found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


def test_every_rule_that_is_cited_stands_in_the_document() -> None:
    stated = _STATED.findall(RULES)
    assert len(stated) == len(set(stated)) > 30
    assert {name: sorted(files) for name, files in _citations().items() if name not in stated} == {}
