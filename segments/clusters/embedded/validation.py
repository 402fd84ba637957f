"""What the validation pass does on the embedded cluster besides comparing records: deletions, and places of files."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from segments.clusters.embedded.segments.recorded_addresses import rewrite_or_note
from segments.domain.segments.peer_download_rules import place_findings
from segments.gateways.deep_store.deepstore import encode
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.consumption import Validated
from segments.services.segments import deletion
from segments.services.segments.addresses import known_webs, own_file, stored_paths
from segments.services.segments.segments import cached_records, read_records
from segments.services.tables.table_record import read_table_config


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
    """Segments whose record names a file in the deep store that is not there. One listing of the table's folder; a
    record is only read where the file that it named within the last hour is not in it.
    """
    stored = {f.name for f in ctx.deep_store.files(encode(table.raw))}
    known = cached_records(ctx, table)
    doubtful = [s for s in segments if s not in known or not _is_in(stored, known[s].url)]
    webs, records = known_webs(ctx), read_records(ctx, table, doubtful)
    return {
        segment
        for segment, record in records.items()
        if own_file(ctx, table, record, webs) is not None
        and stored.isdisjoint(path.rpartition("/")[2] for path in stored_paths(ctx, table, segment, record))
    }


def _is_in(stored: Collection[str], address: str | None) -> bool:
    """Is the file there? One without an address cannot be missed."""
    return not address or address.rpartition("/")[2] in stored
