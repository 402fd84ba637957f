"""What the validation pass does on the embedded cluster besides comparing records: deletions, and places of files."""

from __future__ import annotations

from collections.abc import Sequence

from segments.domain.segments.peer_download import place_findings
from segments.gateways.deep_store.deepstore import encode
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.consumption import Validated
from segments.services.segments import deletion
from segments.services.tables.table_record import read_table_config
from segments.store import paths


def validate(ctx: Context, table: TableName) -> Validated:
    """Carries out waiting deletions; finds settings that leave segments without a place for their files."""
    sentences = deletion.drain(ctx, table)
    places = place_findings(read_table_config(ctx, table), has_deep_store=ctx.deep_store.exists)
    return Validated(sentences, places)


def missing_files(ctx: Context, table: TableName, segments: Sequence[str]) -> set[str]:
    """Segments whose record names a file in the deep store that is not there. One listing of the table's folder."""
    stored = {f.name for f in ctx.deep_store.files(encode(table.raw))}
    missing = set()
    for segment, node in zip(
        segments, ctx.store.get_many([paths.segment(table.typed, s) for s in segments]), strict=True
    ):
        url = node.record.simple.get("segment.download.url", "") if node and node.record else ""
        ours = url.startswith((ctx.controller_url + "/segments/", ctx.deep_store.uri(encode(table.raw)) + "/"))
        if ours and encode(segment) not in stored:
            missing.add(segment)
    return missing
