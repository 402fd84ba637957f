"""Checks the tasks of a table config before anything runs: refuses what cannot be carried out, names what has no
effect.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings

from segments.domain.ingestion.task_config import TASK_TYPE, parse_ingestion_task, refusal, task_map
from segments.domain.ingestion.task_keys import wrong
from segments.domain.ingestion.task_lint import PATH, TaskLint, lint, problem_json, wrong_problems
from segments.domain.push.store_uri import is_remote
from segments.domain.tables.secret_masks import mask
from segments.domain.tables.table_config import TableConfig
from segments.errors import Forbidden, InvalidInput, NotFound, RecordCorrupt, Unavailable
from segments.gateways.input_files.source import InputSource
from segments.services.core.context import Context
from segments.services.engine import Offers
from segments.services.ingestion.situation import input_access
from segments.services.tables.table_record import find_table_config

#: Seconds for a folder of this machine to answer, which may be on another one's disk.
_FOLDER_S: Final = 3.0


def refuse_wrong_task(ctx: Context, config: TableConfig, *, is_change: bool) -> None:
    """Refuse a file ingestion task that could not run. With ``is_change`` one that is stored like this already may
    stay, so that the rest of its table's config can be changed.

    InvalidInput with the path of the key (``field``), and where it is known the character of its value (``position``).
    """
    wrong = wrong_problems(config)
    if not wrong or (is_change and _is_stored(ctx, config)):
        return
    error = refusal(config, wrong[0])
    where = PATH if wrong[0].key == TASK_TYPE else f"{PATH}.{wrong[0].key}"
    raise InvalidInput(error.message, remedy=error.remedy, **{**error.data, "field": where})


def warnings(ctx: Context, config: TableConfig) -> list[dict[str, Any]]:
    """Keys that are unknown or have no effect, a folder that may not be read, and types of tasks that nothing runs on
    this cluster.
    """
    found = _linted(ctx, config)
    return [*([problem_json(p) for p in found.problems] if found else []), *not_run(config, ctx.engine.offers)]


def lint_config(config: TableConfig, now_ms: int) -> TaskLint | None:
    """What the file ingestion task of a config would do; None when it has none."""
    return lint(config, datetime.fromtimestamp(now_ms / 1000, UTC), settings.SCHEDULE_TIME_ZONE)


def lint_table(ctx: Context, config: TableConfig) -> dict[str, Any]:
    """What the tasks of a config would do, and what is wrong, missing or without effect in them; JSON-ready."""
    found = _linted(ctx, config)
    return {
        "table": config.table.typed,
        "tasks": {TASK_TYPE: found.to_json()} if found else {},
        "notRun": not_run(config, ctx.engine.offers),
    }


def not_run(config: TableConfig, offers: Offers) -> list[dict[str, Any]]:
    """Types of tasks that only minions run, where there are none."""
    types = (config.model.task.task_type_configs_map or {}) if config.model.task else {}
    return [
        {
            "key": f"task.taskTypeConfigsMap.{name}",
            "problem": f"Nothing on this cluster runs tasks of type '{name}': it has no minions.",
            "remedy": f"Remove it; of Pinot's tasks only {TASK_TYPE} is carried out here.",
            "isWrong": False,
        }
        for name in types
        if name != TASK_TYPE and not offers.minion_tasks
    ]


def _linted(ctx: Context, config: TableConfig) -> TaskLint | None:
    """With what keeps the folder from being read, by the roots and logins as they are now."""
    found = lint_config(config, ctx.clock())
    if found is None or not found.is_runnable:
        return found
    task = parse_ingestion_task(config)
    assert task is not None
    try:
        access = input_access(ctx, config.table, task)
        if not is_remote(task.input_dir):  # whether a store has it takes longer than a save may
            InputSource(access, _FOLDER_S).folder(task.input_dir)
    except (InvalidInput, Forbidden, NotFound) as error:
        key = str(error.data.get("field") or "inputDirURI")
        return replace(found, problems=(wrong(key, error.message.rstrip("."), error.remedy), *found.problems))
    except Unavailable:  # the first run waits for it
        pass
    return found


def _is_stored(ctx: Context, config: TableConfig) -> bool:
    try:
        stored = find_table_config(ctx, config.table)
    except RecordCorrupt:
        return False
    return stored is not None and mask(task_map(stored)) == mask(task_map(config))
