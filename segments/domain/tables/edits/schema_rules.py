"""Which changes of a schema are allowed: segments that are there must stay readable by it."""

from __future__ import annotations

from dataclasses import dataclass

from segments.domain.tables.schema import FieldSpec, Schema
from segments.errors import InvalidInput


@dataclass(frozen=True)
class SchemaRefusal:
    """What a new schema may not change. ``column`` "": the primary key."""

    column: str
    problem: str
    remedy: str


def schema_refusals(old: Schema, new: Schema) -> list[SchemaRefusal]:
    """Columns may be added; none may go, change its type, kind, format or being single-valued, and the primary key
    stays what it is. All that is wrong, in the order of the old columns.
    """
    found = []
    if old.primary_keys and new.primary_keys != old.primary_keys:
        problem = f"The primary key of schema '{new.name}' cannot change from {', '.join(old.primary_keys)}."
        found.append(SchemaRefusal("", problem, "Create another table with the new key."))
    for field in old.fields:
        other = new.by_name.get(field.name)
        if other is None:
            problem = f"Column '{field.name}' is missing in the new schema '{new.name}'."
            found.append(SchemaRefusal(field.name, problem, "Columns can only be added."))
        elif _readable(other) != _readable(field):
            problem = (
                f"Column '{field.name}' of schema '{new.name}' cannot change from {_words(field)} to {_words(other)}."
            )
            found.append(SchemaRefusal(field.name, problem, "Add a new column instead."))
    return found


def check_compatible(old: Schema, new: Schema) -> None:
    """InvalidInput with the first refusal, if there is one."""
    for refusal in schema_refusals(old, new):
        raise InvalidInput(refusal.problem, remedy=refusal.remedy, field=refusal.column or "primaryKeyColumns")


def _readable(field: FieldSpec) -> tuple[str, str, bool, str | None]:
    return field.data_type, field.kind, field.single_value, field.format


def _words(field: FieldSpec) -> str:
    several = "" if field.single_value else " of several values"
    return f"{field.kind} {field.data_type}{several}{f' with format {field.format}' if field.format else ''}"
