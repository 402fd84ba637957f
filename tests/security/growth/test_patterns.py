"""No regular expression of ours can be slow: none repeats within or beside a repetition of the same characters, each is
measured.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from segments.domain.pinot import refusal_rules as pinot_refusals
from tests.security.growth.patterns import Found, all_patterns, faults, representatives
from tests.security.growth.timing import grows_at_most_linearly, repeated

_FOUND, _UNKNOWN = all_patterns()
#: Patterns that seem slow and are not, each with the reason.
_ALLOWED = {
    "segments/segmentfile/format/properties.py _SEPARATOR": "its last part takes everything, so nothing is tried twice",
}
#: Patterns that are put together while the program runs: all are taken from there, and measured below.
_MADE = {
    "segments/domain/pinot/refusal_rules.py pattern",
}
_TAKEN = [
    Found(f"refusal {rule.name}", rule.pattern, frozenset({"search"}))
    for listed in vars(pinot_refusals).values()
    if isinstance(listed, tuple)
    for rule in listed
    if isinstance(rule, pinot_refusals.Rule)
]
_ALL = _FOUND + _TAKEN


def test_every_pattern_is_found() -> None:
    assert len(_FOUND) > 50
    assert len(_TAKEN) > 10
    assert set(_UNKNOWN) == _MADE


@pytest.mark.parametrize("found", _ALL, ids=lambda f: f.place)
def test_no_pattern_repeats_within_or_next_to_a_repetition(found: Found) -> None:
    assert bool(faults(found.compiled)) == (found.place in _ALLOWED), faults(found.compiled)


@pytest.mark.parametrize("found", _ALL, ids=lambda f: f.place)
def test_every_pattern_takes_time_that_grows_with_the_text(found: Found) -> None:
    """Tried with each kind of character that the pattern distinguishes, and two of them in turn, behind what may come
    before them.
    """
    kinds = representatives(found.compiled)
    begins = {"", *(_literal(found.text))}
    parts = [*kinds, *(a + b for a in kinds[:5] for b in kinds[:5] if a != b)]
    for method in found.methods - {"compile"}:
        for begin in begins:
            for part in parts:
                slow = grows_at_most_linearly(_reader(found.compiled, method), repeated(begin, part, "\x00"), 1500)
                assert not slow, (method, begin, part, slow)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+b", r"(?:\s*a\s*)*", r"\s*\s*x", r"(\d+d)?\s*(\d+h)?\s*(\d+m)?", r"(.+?)\s*\Z", r"\d+\.?\d*",
        r"(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*([a-z]+)",
        r"(?:a|a*)+", r"\w+[a-z]+", r"(x+x+)+y", r".*.*=.*", r"(?:a?b*)*c",
    ],
)  # fmt: skip
def test_the_rule_knows_slow_patterns(pattern: str) -> None:
    assert faults(re.compile(pattern, re.DOTALL))


@pytest.mark.parametrize(
    "pattern", [r"a+b+", r"\d+(?:\.\d+)?", r"[^/]+(/[^/]+)*\Z", r"'(?:[^']|'')*'", r"\s*(a|b)\s*", r"\w+=\w+"]
)
def test_the_rule_lets_quick_patterns_pass(pattern: str) -> None:
    assert not faults(re.compile(pattern))


def _reader(pattern: re.Pattern[Any], method: str) -> Any:
    def read(text: str) -> object:
        given = text if isinstance(pattern.pattern, str) else text.encode("utf-8", "replace")
        found = getattr(pattern, method)(*(("x", given) if method in ("sub", "subn") else (given,)))
        return sum(1 for _ in found) if method == "finditer" else found

    return read


def _literal(text: str) -> list[str]:
    """Beginnings of texts that get as far as a literal of the pattern gets them."""
    words = re.findall(r"[A-Za-z0-9_/=('\"\[{. ]{1,40}", re.sub(r"\\[a-zA-Z]|\(\?P?<?\w*>?:?", "", text))
    return [w.replace("(", "") for w in words[:3]] + ["1", "a"]
