"""What the validation pass does on the embedded cluster besides comparing records: deletions, and places of files."""

from __future__ import annotations

from collections.abc import Sequence

from segments.clusters.embedded.segments.recorded_addresses import rewrite_or_note
from segments.domain.segments.peer_download_rules import place_findings
from segments.domain.segments.segment_metadata import from_record
from segments.gateways.deep_store.deepstore import encode
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.consumption import Validated
from segments.services.segments import deletion
from segments.services.segments.addresses import known_webs, own_file, stored_paths
from segments.services.tables.table_record import read_table_config
from segments.store import paths


def validate(ctx: Context, table: TableName) -> Validated:
    """Carries out waiting deletions, rewrites addresses of earlier versions; finds settings that leave segments without
    a place for their files.
    """
    sentences = deletion.drain(ctx, table)
    rewritten, elsewhere = rewrite_or_note(ctx, table)
    config, have_tls = read_table_config(ctx, table), ctx.controller_url.startswith("https:")
    places = place_findings(config, has_deep_store=ctx.deep_store.exists, have_tls=have_tls)
    return Validated([*sentences, *rewritten], [*places, *elsewhere])


def missing_files(ctx: Context, table: TableName, segments: Sequence[str]) -> set[str]:
    """Segments whose record names a file in the deep store that is not there. One listing of the table's folder."""
    stored = {f.name for f in ctx.deep_store.files(encode(table.raw))}
    missing, webs = set(), known_webs(ctx)
    for segment, node in zip(
        segments, ctx.store.get_many([paths.segment(table.typed, s) for s in segments]), strict=True
    ):
        record = from_record(node.record) if node and node.record else None
        if record is None or own_file(ctx, table, record, webs) is None:
            continue
        if stored.isdisjoint(path.rpartition("/")[2] for path in stored_paths(ctx, table, segment, record)):
            missing.add(segment)
    return missing
