"""Creates a table with its schema, and starts its first push or its consumption: all of it, or nothing is left."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from segments.domain.push.push_spec import parse_spec
from segments.domain.tables.schema import new_schema
from segments.errors import InvalidInput, NotFound, OutcomeUnknown, PinotAdminError, StateConflict
from segments.models import Push
from segments.names import OFFLINE, REALTIME, TableName, check_raw_table_name
from segments.services.core.context import Actor, Context
from segments.services.push.pushes import create_push
from segments.services.tables import schemas, tables

log = logging.getLogger(__name__)


def create_and_push(
    ctx: Context,
    name: str,
    schema: Any,
    config: Any,
    job: Mapping[str, Any],
    *,
    actor: Actor,
    roots: Sequence[str],
    replaces_schema: bool = False,
) -> Push:
    """Create the schema and the OFFLINE table ``name``, and make the push that ``job`` specifies, which the caller puts
    into the queue.

    What was created is taken back when a later step is refused. A schema that is already there is used if it is the
    same; another one that no table uses is replaced with ``replaces_schema``. Raises what the steps raise: InvalidInput
    naming the field, StateConflict for a table or another schema of that name, Forbidden, NotFound, TooManyRequests.
    """
    wanted = new_schema(schema)
    _check_names(name, wanted.name, config, job)
    parse_spec(job)
    with ExitStack() as undo:
        _create_schema(ctx, name, schema, actor, undo, is_replaced=replaces_schema)
        made = tables.create_table(ctx, config, actor=actor).table
        undo.callback(_taken_back, f"table '{made}'", partial(tables.delete_table, ctx, made, actor=actor))
        try:
            push = create_push(ctx, job, actor, roots=roots)
        except OutcomeUnknown:
            undo.pop_all()
            raise
        undo.pop_all()
    return push


def create_and_consume(
    ctx: Context, name: str, schema: Any, config: Any, *, actor: Actor, replaces_schema: bool = False
) -> TableName:
    """Create the schema and the REALTIME table ``name``, whose partitions consume from then on.

    A schema that was created is taken back when the table is refused; one that is already there is used or replaced as
    in ``create_and_push``. Raises what the steps raise: InvalidInput naming the field, StateConflict for a table or
    another schema of that name, Unavailable when the stream does not answer.
    """
    wanted = new_schema(schema)
    _same_names(name, {"schema.schemaName": wanted.name, "tableConfig.tableName": _plain_name(config.get("tableName"))})
    if str(config.get("tableType") or "").upper() != REALTIME:
        raise InvalidInput(
            "'tableConfig.tableType' must be REALTIME: its rows come from a stream.", field="tableConfig.tableType"
        )
    with ExitStack() as undo:
        _create_schema(ctx, name, schema, actor, undo, is_replaced=replaces_schema)
        try:
            made = tables.create_table(ctx, config, actor=actor).table
        except OutcomeUnknown:
            undo.pop_all()
            raise
        undo.pop_all()
    return made


def is_left_behind(ctx: Context, name: str, body: Any) -> bool:
    """Is there a schema of this name that differs from ``body``, and that no table uses? A table that is deleted leaves
    its schema.
    """
    try:
        if schemas.read_schema(ctx, check_raw_table_name(name)).body == body:
            return False
        schemas.require_unused(ctx, name)
    except PinotAdminError:  # there is none, a table uses it, or it cannot be read
        return False
    return True


def _create_schema(
    ctx: Context, name: str, body: Any, actor: Actor, undo: ExitStack, *, is_replaced: bool = False
) -> None:
    try:
        there = schemas.read_schema(ctx, name)
    except NotFound:
        there = None
    if there is not None and there.body == body:
        return
    if there is not None:
        if not is_replaced:
            raise StateConflict(
                f"A schema '{name}' with other columns exists already.",
                remedy=f"Choose another name for the table, or delete the schema (DELETE /schemas/{name}).",
                field="name",
            )
        schemas.delete_schema(ctx, name, actor=actor)
        again = partial(schemas.create_schema, ctx, there.body, override=False, actor=actor)
        undo.callback(_taken_back, f"deletion of the schema '{name}' that was there", again)
    schemas.create_schema(ctx, body, override=False, actor=actor)
    undo.callback(_taken_back, f"schema '{name}'", partial(schemas.delete_schema, ctx, name, actor=actor))


def _check_names(name: str, schema_name: str, config: Any, job: Mapping[str, Any]) -> None:
    """All documents must be of the table for which the right was asked."""
    spec = job.get("tableSpec")
    named = {
        "schema.schemaName": schema_name,
        "tableConfig.tableName": _plain_name(config.get("tableName") if isinstance(config, dict) else None),
        "job.tableSpec.tableName": _plain_name(spec.get("tableName") if isinstance(spec, Mapping) else None),
    }
    _same_names(name, named)
    if str(config.get("tableType") or OFFLINE).upper() != OFFLINE:
        raise InvalidInput(
            "'tableConfig.tableType' must be OFFLINE: files are pushed to offline tables.",
            remedy="Create a REALTIME table with POST /tables.",
            field="tableConfig.tableType",
        )


def _same_names(name: str, named: Mapping[str, str]) -> None:
    for field, found in named.items():
        if found != name:
            raise InvalidInput(
                f"'{field}' is '{found}', the table is '{name}'.", remedy="Make all names the same.", field=field
            )


def _plain_name(value: Any) -> str:
    return str(value or "").removesuffix(f"_{OFFLINE}").removesuffix(f"_{REALTIME}")


def _taken_back(what: str, remove: Callable[[], object]) -> None:
    """Remove it; a failure is logged, since the fault that led here is the one to show."""
    try:
        remove()
    except PinotAdminError as error:
        log.warning("The %s could not be taken back: %s", what, error)
