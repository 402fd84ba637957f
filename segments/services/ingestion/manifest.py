"""The long lists of a session, and of what was ingested, as gzipped JSON in the deep store: written whole under a name
of its own before the znode names it.
"""

from __future__ import annotations

import gzip
import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from segments.domain.ingestion import registry
from segments.domain.ingestion.registry import IngestedFiles
from segments.domain.ingestion.replaced_part import KeptRows
from segments.domain.ingestion.session import FileRecord, IngestionSession, file_from_json
from segments.errors import Unavailable
from segments.gateways.deep_store.deepstore import INGESTION, encode
from segments.names import TableName
from segments.services.core.context import Context

_LEVEL: Final = 5


@dataclass(frozen=True)
class Manifest:
    """``files`` of the session, sorted by URI; ``vanished`` are ingested files that are gone, whose rows go with the
    switch. Staged parts get the numbers from ``next_ordinal`` on. ``kept``: rows of split segments that stay.
    """

    files: tuple[FileRecord, ...] = ()
    vanished: tuple[str, ...] = ()
    next_ordinal: int = 0
    segments_from: tuple[str, ...] = ()
    segments_to: tuple[str, ...] = ()
    kept: tuple[KeptRows, ...] = ()


def write_manifest(ctx: Context, table: TableName, session_id: str, manifest: Manifest) -> str:
    """Write it under a new name; returns that, a path below the deep store's root."""
    body = {
        "files": [f.to_json() for f in manifest.files],
        "vanished": manifest.vanished,
        "nextOrdinal": manifest.next_ordinal,
        "segmentsFrom": manifest.segments_from,
        "segmentsTo": manifest.segments_to,
        "kept": [asdict(k) for k in manifest.kept],
    }
    return _write(ctx, f"{session_folder(table, session_id)}/files-{uuid.uuid4().hex}.json.gz", body)


def read_manifest(ctx: Context, session: IngestionSession) -> Manifest:
    """The manifest that the session's record names. Unavailable when it is gone: it may just have been replaced."""
    if not session.manifest_uri:
        return Manifest()
    body = _read(ctx, session.manifest_uri)
    return Manifest(
        tuple(file_from_json(f) for f in body["files"]),
        tuple(body["vanished"]),
        body["nextOrdinal"],
        tuple(body["segmentsFrom"]),
        tuple(body["segmentsTo"]),
        tuple(KeptRows(**k) for k in body.get("kept", ())),
    )


def write_registry(ctx: Context, table: TableName, ingested: IngestedFiles) -> str:
    """Write what was ingested under a new name; returns that."""
    return _write(
        ctx, f"{table_folder(table)}/registry-{uuid.uuid4().hex}.json.gz", registry.ingested_to_json(ingested)
    )


def read_registry(ctx: Context, uri: str) -> IngestedFiles:
    """What was ingested; nothing without a name. Unavailable when the file is gone."""
    return registry.ingested_from_json(_read(ctx, uri)) if uri else IngestedFiles()


def session_folder(table: TableName, session_id: str) -> str:
    """Where the manifests of a session are."""
    return f"{table_folder(table)}/{session_id}"


def table_folder(table: TableName) -> str:
    """Where everything is that is kept of a table's file ingestion."""
    return f"{INGESTION}/{encode(table.raw)}"


def _write(ctx: Context, path: str, body: Mapping[str, Any]) -> str:
    text = json.dumps(body, separators=(",", ":")).encode()
    ctx.deep_store.write(path, gzip.compress(text, _LEVEL, mtime=0))
    return path


def _read(ctx: Context, path: str) -> dict[str, Any]:
    data = ctx.deep_store.read(path)
    if data is None:
        raise Unavailable(f"The deep store has no file '{path}'.", remedy="Read the session again.")
    body: dict[str, Any] = json.loads(gzip.decompress(data))
    return body
