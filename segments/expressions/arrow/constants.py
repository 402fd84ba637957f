"""Arguments of ingestion functions that must be constants, such as patterns and bucket sizes."""

from __future__ import annotations

from typing import Any

from segments.errors import InvalidInput


def constant(values: Any, what: str) -> Any:
    """The one value of an argument. Raises InvalidInput naming it (``what``) when it changes from row to row."""
    distinct = values.unique()
    if len(distinct) > 1:
        raise InvalidInput(
            f"The {what} of a function must be a constant, not a column.", remedy="Write the value itself."
        )
    return distinct[0].as_py() if len(distinct) else None
