"""What a change of a table's schema and config would do: the difference, what follows from it, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from segments.domain.tables.edits.consequences import consequences
from segments.domain.tables.edits.differences import Difference, differences
from segments.domain.tables.edits.schema_rules import schema_refusals
from segments.domain.tables.schema import Schema, new_schema, parse_schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, PinotAdminError, StateConflict
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.schedules import task_check
from segments.services.tables.edits.documents import Documents, read_documents
from segments.services.tables.replica_warnings import replica_warnings


@dataclass(frozen=True)
class Refusal:
    """What is wrong. ``field``: ``schema`` or ``config``, and after a point the column or the path, where it is known.
    ``is_conflict``: it is right, but not possible now.
    """

    field: str
    problem: str
    remedy: str
    is_conflict: bool = False

    def to_json(self) -> dict[str, Any]:
        """As the REST API answers it."""
        return {"field": self.field, "problem": self.problem, "remedy": self.remedy}


@dataclass(frozen=True)
class EditPreview:
    """``before``: as they are stored; ``schema`` and ``config`` as they would be, secrets masked."""

    before: Documents
    config: dict[str, Any]
    schema: dict[str, Any]
    differences: list[Difference]
    consequences: list[str]
    refusals: list[Refusal] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def changes_schema(self) -> bool:
        """Is the schema another one?"""
        return self.schema != self.before.schema

    @property
    def changes_config(self) -> bool:
        """Is the config another one?"""
        return self.config != self.before.config

    def to_json(self) -> dict[str, Any]:
        """As the REST API answers it."""
        return {
            "table": self.before.table.typed,
            "version": self.before.version,
            "differences": [d.to_json() for d in self.differences],
            "consequences": self.consequences,
            "refusals": [r.to_json() for r in self.refusals],
            "warnings": self.warnings,
        }


def preview_edit(ctx: Context, table: TableName, config: Any = None, schema: Any = None) -> EditPreview:
    """What it would do to make these the table's documents; None: it stays. Nothing is written. NotFound when there is
    no such table; what is wrong with the documents is in ``refusals``.
    """
    before = read_documents(ctx, table)
    wanted_config = before.config if config is None else config
    wanted_schema = before.schema if schema is None else schema
    found = [
        *differences("schema", before.schema, wanted_schema),
        *differences("config", before.config, wanted_config),
    ]
    refusals: list[Refusal] = []
    new = _schema(before, wanted_schema, refusals)
    warnings = [] if refusals else _check_config(ctx, table, wanted_config, before, new, refusals)
    follows = consequences(found, is_ours=ctx.engine.offers.own_processes)
    return EditPreview(before, wanted_config, wanted_schema, found, follows, refusals, warnings)


def _schema(before: Documents, wanted: Any, refusals: list[Refusal]) -> Schema | None:
    """The new schema, None when it stays as it is or is refused."""
    if wanted == before.schema:
        return None
    try:
        new = new_schema(wanted)
    except InvalidInput as error:
        refusals.append(refusal_of("schema", error))
        return None
    if new.name != before.table.raw:
        refusals.append(Refusal("schema", f"The schema is '{new.name}', the table's is '{before.table.raw}'.",
                                "Leave its name as it is."))  # fmt: skip
    if before.schema:
        for found in schema_refusals(parse_schema(before.schema), new):
            refusals.append(Refusal(f"schema.{found.column or 'primaryKeyColumns'}", found.problem, found.remedy))
    return new


def _check_config(
    ctx: Context, table: TableName, wanted: Any, before: Documents, schema: Schema | None, refusals: list[Refusal]
) -> list[str]:
    """Adds what is refused; returns what is taken but has no effect."""
    if wanted == before.config and schema is None:
        return []
    try:
        given = ctx.engine.tables.parse_config(wanted)
        if given.table != table:
            raise InvalidInput(f"The config is of table '{given.table}', not of '{table}'.", remedy="Leave its name.")
        task_check.refuse_wrong_task(ctx, given, is_change=True)
        config = ctx.engine.tables.check_update(ctx, given, schema)
    except (InvalidInput, StateConflict) as error:
        refusals.append(refusal_of("config", error))
        return []
    return _warnings(ctx, config)


def _warnings(ctx: Context, config: TableConfig) -> list[str]:
    found = replica_warnings(ctx, config)
    with suppress(PinotAdminError):  # a foreign config that our types do not read
        found += task_check.warnings(ctx, config)
    return [" ".join(filter(None, (w["problem"], w["remedy"]))) for w in found]


def refusal_of(document: str, error: PinotAdminError) -> Refusal:
    """An error of one of the documents."""
    named = error.data.get("field") if isinstance(error.data, Mapping) else None
    where = f"{document}.{named}" if named else document
    return Refusal(where, error.message, error.remedy, isinstance(error, StateConflict))
