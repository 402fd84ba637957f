"""Whole numbers in foreign text: ``isdigit`` takes digits that ``int`` refuses, and ``int`` fails on
thousands of them.
"""

from __future__ import annotations

from typing import Final

_MOST_DIGITS: Final = 19
_LARGEST: Final = 2**63 - 1


def whole_number(text: str) -> int | None:
    """``"0042"`` -> 42; None for a sign, blanks, digits of other scripts, nothing, and what takes more than 63 bits."""
    number = int(text) if len(text) <= _MOST_DIGITS and text.isascii() and text.isdecimal() else _LARGEST + 1
    return number if number <= _LARGEST else None
