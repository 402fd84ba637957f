"""No attribute of a template gets HTML: the filters that make elements end it at their first quotation mark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from segments.templatetags import console

ROOT = Path(__file__).resolve().parents[3]
#: Of the console's filters those that make an element.
MARKUP: Final = ("ago", "badge", "count", "counted", "moment", "size", "stamp")
WITHIN = re.compile(
    r'[\w-]+="(?:[^"{]|\{\{[^}]*\}\}|\{%[^%]*%\})*?\{\{[^}]*\|(' + "|".join(MARKUP) + r")(?![\w|])[^}]*\}\}"
)


def test_attributes_hold_text() -> None:
    assert set(MARKUP) <= console.register.filters.keys()
    wrong = {
        f"{path.relative_to(ROOT)}: {found[0][-80:]}"
        for path in (ROOT / "templates").rglob("*.html")
        for found in WITHIN.finditer(path.read_text())
        if "striptags" not in found[0]
    }
    assert wrong == set()


def test_the_pattern_finds_an_element_in_an_attribute() -> None:
    assert WITHIN.search('<td aria-label="Choose {{ a }}, {{ when|ago }}">')
    assert not WITHIN.search('<td data-label="When">{{ when|ago }}</td>')
