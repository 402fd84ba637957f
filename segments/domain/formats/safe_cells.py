"""Cells of a CSV file that a spreadsheet does not run as formulas."""

from __future__ import annotations

from typing import Any, Final

#: What spreadsheets take for the beginning of a formula, also in its wide form, or skip before it.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def safe_cell(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets a leading apostrophe; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
