"""Rules are cited by their names in ``docs/rules.md``: each name stands there, each rule is cited or says where it is
kept, and nothing cites papers that a reader of this repository cannot open.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

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
_CITED = re.compile(r"\b[Rr]ules?\s+(?:#:?\s+)?(`+[a-z0-9-]+`+(?:(?:,|\s+and)\s+(?:#:?\s+)?`+[a-z0-9-]+`+)*)")
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
            for name in re.findall(r"`([a-z0-9-]+)`", names):
                found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


def test_every_rule_that_is_cited_stands_in_the_document() -> None:
    stated = _STATED.findall(RULES)
    assert len(stated) == len(set(stated)) > 30
    assert {name: sorted(files) for name, files in _citations().items() if name not in stated} == {}


def test_every_rule_is_cited_or_says_where_it_is_kept() -> None:
    cited = _citations()
    unused = []
    for name, text in re.findall(r"^- \*\*`([a-z0-9-]+)`\*\*: (.*?)(?=^- |^#|\Z)", RULES, re.MULTILINE | re.DOTALL):
        kept = re.findall(r"`((?:segments|tests)/[\w./-]+)`", re.split(r"Kept\s+in\s", text)[-1])
        if name not in cited and not (kept and all((ROOT / place).exists() for place in kept)):
            unused.append(name)
    assert unused == []


#: Citations of papers that are not in the repository.
ABSENT_PAPERS = re.compile(
    r"\((?:\w+ )?B\d{1,2}\b|\bB\d{1,2}\)|\bB\d{1,2}:|\bB\d{1,2} (?:to|and) B\d|\bDESIGN\b|\bseeds? 0\d\d\b"
    r"|\b(?:lineage|storage-zk|completion|realtime-ops|batch-push|segment-format|real-pinot|ecosystem|user-asks)"
    r"(?:-examples)?\.md\b"
    r"|test_b\d+_"
)


@pytest.mark.parametrize("folder", [*FOLDERS, "."])
def test_nothing_cites_papers_that_are_not_in_the_repository(folder: str) -> None:
    citing = []
    for path in TEXTS:
        home = str(path.relative_to(ROOT))
        if path != Path(__file__) and (home.startswith(f"{folder}/") if folder != "." else "/" not in home):
            citing += [f"{home}: {found}" for found in ABSENT_PAPERS.findall(_text(path))]
    assert citing == []


def test_the_search_for_absent_papers_finds_them() -> None:
    for text in ("stale (B7).", "(lineage.md 7)", "DESIGN section 4", "seed 003", "B5 to B10", "(x; B15)"):
        assert ABSENT_PAPERS.search(text), text
    for text in ('["B6",54635]', "sub-section 3 of the page", "B2B", "completion.py"):
        assert not ABSENT_PAPERS.search(text), text
