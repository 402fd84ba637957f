"""What a trigger finds: the task, the folder, what was ingested, what queries see, and the newest session."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from segments.domain.ingestion.plan import Listing, Visible, touched
from segments.domain.ingestion.registry import Ingested, IngestedFiles, Registry
from segments.domain.ingestion.replaced_part import Selector
from segments.domain.ingestion.selection import Extent, extent_of
from segments.domain.ingestion.session import Fingerprint, IngestionSession
from segments.domain.ingestion.task_config import IngestionTask, parse_ingestion_task, task_map
from segments.domain.ingestion.transitions import Situation
from segments.domain.push.push_plan import InputFile
from segments.domain.replacement.lineage import State
from segments.domain.segments import segment_metadata
from segments.domain.tables import schema as schemas
from segments.domain.tables import table_config
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import NotFound, StateConflict
from segments.gateways.deep_store.no_deep_store import REMEDY
from segments.gateways.input_files.access import FileAccess
from segments.gateways.input_files.choice import Choice
from segments.gateways.input_files.same_bytes import find_same
from segments.gateways.input_files.source import input_source
from segments.names import TableName
from segments.segmentfile.columns.ingest import read_ingestion
from segments.services.core.context import Context
from segments.services.ingestion.manifest import Manifest, read_manifest, read_registry
from segments.services.ingestion.session_store import TaskRecord, find_session, read_task
from segments.services.replacement.lineage_record import observe, table_not_found
from segments.store import paths

#: Keys of the task that may change within a session.
_FREE: Final = (
    "schedule",
    "clearConsistentPushState",
    "consistentPushMaxRetries",
    "forceSwap",
    "strictSnapshot",
    "allowEmptySwap",
    "tableMaxNumTasks",
    "runMaxNumFiles",
    "runMaxDataSize",
    "runMaxNumTasks",
)
_NO_SPLIT: Final = (
    "Segments of a Pinot cluster are not split: indexes that only Pinot builds would be missing in what is kept."
)
_CREDENTIALS: Final = "input.fs.prop."
_BUILDING: Final = ("ingestionConfig", "tableIndexConfig", "fieldConfigList")


@dataclass(frozen=True)
class Setup:
    """A table as its sessions need it. ``hash`` is that of all that staged segments depend on; ``version`` is that of
    the table config.
    """

    config: TableConfig
    schema: Schema
    task: IngestionTask
    hash: str
    version: str


@dataclass(frozen=True)
class Found:
    """A situation with what it was read from. ``touched``: what was ingested with other times than are stored, of
    files that were touched and did not change.
    """

    situation: Situation
    setup: Setup
    record: TaskRecord
    session: IngestionSession | None
    manifest: Manifest
    touched: IngestedFiles | None = None


def read_setup(ctx: Context, table: TableName) -> Setup:
    """The table's task, config and schema. NotFound when the table, its schema or its task does not exist, InvalidInput
    for a task with wrong keys or a table that cannot be built here.
    """
    if not ctx.deep_store.exists:
        raise StateConflict("This installation has no deep store, so nothing can be ingested.", remedy=REMEDY)
    config_node, schema_node = ctx.store.get_many([paths.table_config(table.typed), paths.schema(table.raw)])
    if config_node is None or config_node.record is None:
        raise table_not_found(table)
    config = table_config.from_record(config_node.record)
    task = parse_ingestion_task(config)
    if task is None:
        raise NotFound(
            f"Table '{table}' has no FileIngestionTask.", remedy="Add it to task.taskTypeConfigsMap of its config."
        )
    if schema_node is None or schema_node.record is None:
        raise NotFound(f"Table '{table.raw}' has no schema.", remedy="Add it with POST /schemas.")
    schema = schemas.from_record(schema_node.record)
    read_ingestion(schema, config)  # refuses functions that are not there, by name
    return Setup(config, schema, task, _hash(config, schema), str(config_node.version))


def read_situation(ctx: Context, table: TableName, *, forced: bool = False) -> Found:
    """All that a trigger decides on, the folder listed last. Raises what ``read_setup`` raises, and what listing does:
    nothing is to be changed then.
    """
    setup, record = read_setup(ctx, table), read_task(ctx, table)
    stored = find_session(ctx, table, record.current)
    session = stored.session if stored is not None else None
    manifest = read_manifest(ctx, session) if session is not None and session.is_open else Manifest()
    visible = read_visible(ctx, table, setup.task.selector)
    visible = replace(visible, kept_from_ms=_kept_from_ms(setup.config, ctx.clock()))
    known = read_registry(ctx, record.registry_uri)
    registry = known.shown(visible.segments)
    listing = {f.path: fingerprint(f) for f in list_input(ctx, table, setup.task)}
    same = same_bytes(ctx, table, setup.task, listing, registry, visible)
    situation = Situation(
        setup.task, setup.hash, listing, {**registry, **same}, visible, session, manifest.files, setup.version,
        record.cleared_for, forced,
    )  # fmt: skip
    touched = replace(known, files={**known.files, **same}) if same else None
    return Found(situation, setup, record, session, manifest, touched)


def read_visible(ctx: Context, table: TableName, selector: Selector | None = None) -> Visible:
    """What queries see now; with what ``selector`` wants to know of each segment's rows."""
    seen = observe(ctx, table)
    names = list(seen.lineage.visible(seen.ideal.maps))
    merged = {
        name
        for entry in seen.lineage.entries.values()
        if entry.state is State.COMPLETED
        for name in entry.segments_from
    }
    extents = dict.fromkeys(names, Extent()) if selector is None else _extents(ctx, table, names, selector)
    return Visible(extents, frozenset(merged), no_split="" if ctx.engine.lineage.owns_record else _NO_SPLIT)


def list_input(ctx: Context, table: TableName, task: IngestionTask) -> list[InputFile]:
    """The files of the task's folder that match its patterns, sorted; [] when there are none.

    Raises Forbidden for a folder outside the configured roots, NotFound for one that is not there, Unavailable.
    """
    source = input_source(input_access(ctx, table, task))
    choice = Choice(task.recursive, task.include, task.exclude)
    return source.list(source.folder(task.input_dir), choice)


def same_bytes(
    ctx: Context, table: TableName, task: IngestionTask, listing: Listing, registry: Registry, visible: Visible
) -> dict[str, Ingested]:
    """Ingested files that were written again, or touched, with the bytes that they had: as ingested with the time that
    they have now. Only so many are checked as a trigger has time for; the others count as changed.
    """
    wanted = [(uri, registry[uri].fingerprint, listing[uri]) for uri in touched(listing, registry, visible)]
    if not wanted:
        return {}
    same = find_same(input_source(input_access(ctx, table, task)), wanted, ctx.timer)
    return {uri: replace(registry[uri], fingerprint=found) for uri, found in same.items()}


def input_access(ctx: Context, table: TableName, task: IngestionTask) -> FileAccess:
    """How the task's folder is read, by the settings and logins as they are now. Raises InvalidInput and Forbidden."""
    return ctx.inputs.access(task.input_dir, task.file_system, table=table.raw)


def fingerprint(file: InputFile) -> Fingerprint:
    """Of a listed file."""
    return Fingerprint(file.mtime_ns, file.size, file.etag)


def _kept_from_ms(config: TableConfig, now_ms: int) -> int | None:
    """Segments whose rows end before are removed by retention; None: the table has none."""
    keep_ms = config.time_retention_ms
    return None if keep_ms is None or config.is_refresh else now_ms - keep_ms


def _extents(ctx: Context, table: TableName, names: list[str], selector: Selector) -> dict[str, Extent]:
    nodes = ctx.store.get_many([paths.segment(table.typed, name) for name in names])
    found = {}
    for name, node in zip(names, nodes, strict=True):
        record = node.record if node is not None else None
        found[name] = Extent() if record is None else extent_of(segment_metadata.from_record(record), selector)
    return found


def _hash(config: TableConfig, schema: Schema) -> str:
    given = task_map(config) or {}
    keys = {k: v for k, v in given.items() if k not in _FREE and not k.startswith(_CREDENTIALS)}
    body: Mapping[str, Any] = {
        "task": keys,
        "schema": schema.body,
        "time": config.time_column,
        **{key: config.body.get(key) for key in _BUILDING},
    }
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]


def check_unchanged(session: IngestionSession, setup: Setup) -> None:
    """StateConflict when what the session's segments depend on is not what it was when it began."""
    if session.config_hash != setup.hash:
        raise StateConflict(
            "The table's schema, config or task changed since the session began.",
            remedy="The next trigger begins a new session.",
        )
