"""Makes rows of what others wrote into ZooKeeper such that the database takes them: texts without U+0000, no longer
than their column; numbers within theirs. One odd text must not stop the mirror of its table.

Rows are only examined after the database refused them: it takes as long as making them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from django.db import DataError, IntegrityError
from django.db.models import BigIntegerField, CharField, Field, IntegerField, JSONField, Model, TextField

from segments.domain.formats.storable_text import document_without_nul, without_nul

#: What a database, or its driver, raises for a value that it cannot keep.
REFUSED: Final = (DataError, IntegrityError, OverflowError)
#: How many a sentence lists.
_LISTED: Final = 5
_LARGEST: Final = {True: 2**63 - 1, False: 2**31 - 1}


@dataclass
class Fitted:
    """What was changed so that it fits: (what it is about, column), each once; in the order of finding."""

    changed: dict[tuple[str, str], None] = field(default_factory=dict)

    def values(self, model: type[Model], values: Mapping[str, Any], subject: str) -> dict[str, Any]:
        """Column values of one row, as the columns take them."""
        columns = _columns(model, values)
        return {column.attname: self._value(column, values[column.attname], subject) for column in columns}

    def name(self, model: type[Model], column: str, name: str) -> bool:
        """Does a name fit that rows are known by? It cannot be another one, so its row is left out."""
        most = getattr(model._meta.get_field(column), "max_length", None)
        if without_nul(name) == name and (most is None or len(name) <= most):
            return True
        self.changed[without_nul(name)[:100], column] = None
        return False

    def _value(self, column: Field[Any, Any], value: Any, subject: str) -> Any:
        fitting = _fit(column, value)
        if fitting != value:
            self.changed[subject, column.attname] = None
        return fitting


def sentence(odd: Mapping[str, str]) -> str:
    """What a finding says of {what it is about: column}; empty when all of it fitted."""
    if not odd:
        return ""
    listed = [f"{column} of {subject}" for subject, column in islice(odd.items(), _LISTED)]
    more = f" and {len(odd) - len(listed)} more" if len(odd) > len(listed) else ""
    return (
        "ZooKeeper holds texts or numbers that the database cannot keep, so pages show them changed, shortened or not "
        f"at all: {', '.join(listed)}{more}. Write them again without U+0000, and shorter."
    )


def _columns(model: type[Model], values: Mapping[str, Any]) -> Iterator[Field[Any, Any]]:
    return (column for column in model._meta.concrete_fields if column.attname in values)


def _fit(column: Field[Any, Any], value: Any) -> Any:
    if isinstance(column, CharField | TextField) and isinstance(value, str):
        return without_nul(value)[: column.max_length]
    if isinstance(column, JSONField):
        return document_without_nul(value)
    if isinstance(column, IntegerField) and isinstance(value, int):
        most = _LARGEST[isinstance(column, BigIntegerField)]
        least = 0 if type(column).__name__.startswith("Positive") else -most - 1
        if not least <= value <= most:
            return None if column.null else min(max(value, least), most)
    return value
