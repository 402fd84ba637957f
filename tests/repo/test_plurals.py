"""No sentence says "1 segments": a number of things goes through ``counted``, which knows the singular."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.domain.formats.plural import counted
from tests.repo.test_house_rules import tree

SEGMENTS = Path(__file__).resolve().parents[2] / "segments"
#: A plural right behind a number; "of 3 segments" names a whole, whose number is known to be larger.
_PLURAL = re.compile(
    r" (segments|replicas|servers|brokers|tables|columns|files|messages|partitions|tasks|snapshots|records|entries"
    r"|rows|pushes|sessions|steps|hours|checks|queries|values|days)(?![a-z-])"
)
TEMPLATES = SEGMENTS.parent / "templates"
#: The same in a template, whose plurals go through ``pluralize`` or ``counted``.
_IN_TEMPLATE = re.compile(r"(.{0,4})\{\{ [^}|]+\|(?:count|length)(?:\|count)? \}\}(?:</b>)?" + _PLURAL.pattern)
#: Names of what may be one.
_COUNTS = {
    "count",
    "shown",
    "rows",
    "messages",
    "deleted",
    "returning",
    "tables",
    "lost",
    "total",
    "times",
    "hours",
    "segments",
    "HISTORY_DAYS",
}
#: Words of Pinot's own answers, which its clients may read; and what reports bytes of a damaged file.
_AS_PINOT = ("segments/api/segments/", "segments/services/realtime/sequence_deletion.py", "segments/segmentfile/")


def _is_length(node: ast.expr) -> bool:
    """``len(...)``, or a name, an attribute or a key that says it is a count."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in _COUNTS
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) in _COUNTS


def _wrong(top: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, words) of f-strings that put a plural behind a number which may be one."""
    for node in ast.walk(top):
        if not isinstance(node, ast.JoinedStr):
            continue
        texts = ["", *(str(p.value) if isinstance(p, ast.Constant) else "" for p in node.values), ""]
        for at, part in enumerate(node.values, 1):
            found = _PLURAL.match(texts[at + 1])
            is_count = isinstance(part, ast.FormattedValue) and _is_length(part.value)
            if is_count and found and not texts[at - 1].endswith((" of ", " of the ", " of its ", "all ")):
                yield part.lineno, f"{ast.unparse(part)}{found[0]}"


def _files() -> list[Path]:
    return [
        path
        for path in sorted(SEGMENTS.rglob("*.py"))
        if not str(path.relative_to(SEGMENTS.parent)).startswith(_AS_PINOT)
    ]


def test_numbers_of_things_know_the_singular() -> None:
    wrong = [f"{path.relative_to(SEGMENTS.parent)}:{line}: {words}" for path in _files() for line, words in
             _wrong(tree(path))]  # fmt: skip
    assert wrong == [], "use segments.domain.formats.plural.counted"


def test_numbers_of_things_in_templates_know_the_singular() -> None:
    wrong = [
        f"{path.relative_to(TEMPLATES)}: {found[0]}"
        for path in sorted(TEMPLATES.rglob("*.html"))
        for found in _IN_TEMPLATE.finditer(path.read_text())
        if not found[1].endswith("of ")
    ]
    assert wrong == [], "use the filter pluralize or counted"


@pytest.mark.parametrize(
    ("text", "count"), [('f"{len(x)} segments left"', 1), ('f"all of {len(x)} files"', 0), ('f"{count} files "', 1)]
)
def test_a_plural_behind_a_number_is_found(text: str, count: int) -> None:
    assert len(list(_wrong(ast.parse(text.replace("left", "are left"))))) == count


def test_one_thing_is_singular_and_its_verb_goes_with_it() -> None:
    assert [counted(n, "segment", "is", "are") for n in (0, 1, 1200)] == [
        "0 segments are", "1 segment is", "1,200 segments are",
    ]  # fmt: skip
    assert counted(1, "row") == "1 row"
