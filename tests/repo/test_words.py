"""Plain words: texts and names say read, check, report, again, unreachable, not the words that grew in this house."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repo.test_house_rules import CODE, OURS, ROOT, name

TEXTS = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / f for f in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "templates").rglob("*.html")),
]

#: What is not written, each a pattern in which a space also stands for the underscore of a name: what to write instead.
INSTEAD = {
    "looked|looks? (?:at|into|after|again)": "read, check, examine",
    "tell|tells|told|untold|telling": "report, say, notify, show",
    "afresh|anew": "again",
    "(?:is|are|was|were) said": "is reported",
    "(?:is|are|was|were|be|stays?|goes) away": "is unreachable, down",
    "beside": "next to, besides, together with",
    "by (?:itself|themselves)": "automatically, on its own",
    "can not(?! only)": "cannot",
}
#: Whole words, also those that are parts of a name in lower or upper case.
WORD = re.compile(rf"(?<![a-z])(?:{'|'.join(INSTEAD).replace(' ', '[ _]')})(?![a-z])", re.IGNORECASE)

#: What plain English or a library says so.
ALLOWED = re.compile(
    r"looked[ _]up|\.tell\(\)|def tell\(self\)|too young to tell"  # searched by its name; a file's position; the idiom
    r"|rule\.tells|``tells``|tells: str|tells_build_failures"  # facts in the completion protocol's tables
)


def findings(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        for found in WORD.finditer(ALLOWED.sub("", line)):
            yield f"{number}: {found.group()}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("decide afresh", 1), ("def look_again_s(", 1), ("class Looked:", 1), ("NO_SERVER_TOLD", 1), ("untold", 1),
        ("test_a_store_that_is_away_costs_nothing", 1), ("it ends by itself", 1),
        ("lookahead, retell", 0), ("spool.tell()", 0), ("it looks like Server_a", 0),
        ("90 days away", 0), ("foretold, besides", 0),
    ],
)  # fmt: skip
def test_words_are_found_in_texts_and_in_names(line: str, words: int) -> None:
    assert len(list(findings(line))) == words


def test_production_code_and_its_documents_use_plain_words() -> None:
    found = [f"{name(p)}:{f}" for p in [*OURS, *TEXTS] for f in findings(p.read_text())]
    assert found == [], f"write instead: {INSTEAD}"


def test_tests_are_named_in_plain_words() -> None:
    found = [f"{name(p)}: {f}" for p in CODE for f in findings(_names(p))]
    assert found == [], f"write instead: {INSTEAD}"


def _names(path: Path) -> str:
    """The file's name and those of its test functions, one a line."""
    return "\n".join([path.stem, *re.findall(r"def (test_\w+)", path.read_text())])
