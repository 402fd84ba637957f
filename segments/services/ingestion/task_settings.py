"""Switches file ingestion of a table on, changes it and switches it off, by writing its task into the table config; and
shows beforehand what the first session would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from segments.domain.ingestion.plan import new_plan, replaced_segments
from segments.domain.ingestion.run_limits import left_sentence, limited
from segments.domain.ingestion.session import FileState
from segments.domain.ingestion.task_config import TASK_TYPE, IngestionTask, Problem, parse_ingestion_task, problems
from segments.domain.tables.secret_masks import mask
from segments.domain.tables.table_config import TableConfig
from segments.errors import NotFound
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.ingestion.first_file import what_does_not_fit
from segments.services.ingestion.manifest import read_registry
from segments.services.ingestion.session_store import read_task
from segments.services.ingestion.situation import fingerprint, list_input, read_visible, same_bytes
from segments.services.tables.table_record import read_table_config
from segments.services.tables.tables import update_table

#: Files that a preview names.
_NAMED: Final = 100
_DELIMITER: Final = "recordReader.prop.delimiter"
Mode = Literal["append", "sync", "swap"]


@dataclass(frozen=True)
class TaskSettings:
    """What people choose; other keys of the task stay as they are. ``include``: a pattern of file names, empty: all
    files. ``schedule``: a cron expression, empty: only by hand. ``delimiter``: between values of CSV, a tab as ``\\t``;
    empty: as it is.
    """

    folder: str
    data_format: str
    include: str = ""
    mode: Mode = "append"
    schedule: str = ""
    retries: int = 0
    delimiter: str = ""


@dataclass(frozen=True)
class FirstSession:
    """What the first session would do. ``files`` to read, ``names`` the first of them; ``replaces``: segments that
    queries would not see any more. ``why_idle``: why there would be no session. ``left``: what its first run leaves to
    the next triggers. ``notes``: about the task's keys. ``misfit``: what of the first file does not fit, in a sentence.
    """

    files: int
    bytes: int
    names: tuple[str, ...]
    replaces: tuple[str, ...]
    why_idle: str
    left: str
    notes: tuple[Problem, ...]
    misfit: str


def settings_of(task: IngestionTask) -> TaskSettings:
    """What is configured, as people choose it."""
    mode: Mode = "swap" if task.swap else "sync" if task.mode == "SYNC" else "append"
    return TaskSettings(
        task.input_dir, task.input_format, task.include or "", mode, task.schedule or "", task.max_retries,
        task.reader.delimiter.replace("\t", "\\t"),
    )  # fmt: skip


def preview_settings(ctx: Context, table: TableName, settings: TaskSettings) -> FirstSession:
    """Check the settings against the table and its folder, and plan without changing anything.

    Raises InvalidInput with the key (``field``), NotFound for the table or the folder, Forbidden for a folder outside
    the roots, StateConflict and Unavailable.
    """
    body = _body_with(read_table_config(ctx, table), settings)
    config = ctx.engine.tables.parse_config(body)
    task = parse_ingestion_task(config)
    assert task is not None
    files = list_input(ctx, table, task)
    listing = {file.path: fingerprint(file) for file in files}
    visible = read_visible(ctx, table, task.selector)
    registry = read_registry(ctx, read_task(ctx, table).registry_uri).shown(visible.segments)
    registry |= same_bytes(ctx, table, task, listing, registry, visible)
    plan = new_plan(task, listing, registry, visible)
    left = sum(f.state is FileState.DEFERRED for f in limited(task, plan.files))
    built = [replace(file, state=FileState.BUILT) for file in plan.files]
    sizes = {file.path: file.size for file in files}
    return FirstSession(
        len(plan.files),
        sum(sizes[file.uri] for file in plan.files),
        tuple(file.uri for file in plan.files[:_NAMED]),
        replaced_segments(task, built, plan.vanished, registry, visible),
        plan.idle,
        left_sentence(len(plan.files) - left, left),
        tuple(problems(_map_of(body))),
        what_does_not_fit(ctx, config, task, files[0]) if files else "",
    )


def switch_on(ctx: Context, table: TableName, settings: TaskSettings, *, actor: Actor) -> None:
    """Write the task into the table config. Raises as ``preview_settings`` and ``update_table``."""
    preview_settings(ctx, table, settings)
    update_table(ctx, table.typed, _body_with(read_table_config(ctx, table), settings), actor=actor)


def switch_off(ctx: Context, table: TableName, *, actor: Actor) -> None:
    """Remove the task from the table config; rows, sessions and what is known as ingested stay. NotFound without a
    task.
    """
    update_table(ctx, table.typed, _body_without(ctx, table), actor=actor)


def shown_config(ctx: Context, table: TableName, settings: TaskSettings | None) -> dict[str, Any]:
    """The table config that ``switch_on``, or without settings ``switch_off``, would write, secrets masked. Raises as
    these.
    """
    found = _body_with(read_table_config(ctx, table), settings) if settings else _body_without(ctx, table)
    return dict(mask(found))


def _body_without(ctx: Context, table: TableName) -> dict[str, Any]:
    body = dict(read_table_config(ctx, table).body)
    maps = dict((body.get("task") or {}).get("taskTypeConfigsMap") or {})
    if TASK_TYPE not in maps:
        raise NotFound(f"Table '{table}' has no {TASK_TYPE}.", remedy="Nothing is to be done: it is off.")
    del maps[TASK_TYPE]
    return _body_with_tasks(body, maps)


def _body_with(config: TableConfig, settings: TaskSettings) -> dict[str, Any]:
    """The table config with the task as it is to be."""
    body = dict(config.body)
    maps = dict((body.get("task") or {}).get("taskTypeConfigsMap") or {})
    changes = {
        "inputDirURI": settings.folder,
        "inputFormat": settings.data_format,
        "includeFileNamePattern": settings.include,
        "ingestionMode": "SYNC" if settings.mode == "sync" else "APPEND",
        "consistentPushEnabled": "" if settings.mode == "swap" else "true",
        "consistentPushSwapEnabled": "true" if settings.mode == "swap" else "",
        "consistentPushMaxRetries": str(settings.retries) if settings.retries else "",
        "schedule": settings.schedule,
    }
    if settings.delimiter or settings.data_format != "csv":
        is_usual = settings.delimiter == "," or settings.data_format != "csv"
        changes[_DELIMITER] = "" if is_usual else settings.delimiter
    kept = {key: value for key, value in (maps.get(TASK_TYPE) or {}).items() if key not in changes}
    maps[TASK_TYPE] = kept | {key: value for key, value in changes.items() if value}
    return _body_with_tasks(body, maps)


def _body_with_tasks(body: Mapping[str, Any], maps: Mapping[str, Any]) -> dict[str, Any]:
    task = {**(body.get("task") or {}), "taskTypeConfigsMap": dict(maps)}
    return {**body, "task": task}


def _map_of(body: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in body["task"]["taskTypeConfigsMap"][TASK_TYPE].items()}
