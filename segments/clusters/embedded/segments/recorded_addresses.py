"""Rewrites addresses that earlier versions left in segment records: full ones of our deep store, and of web processes,
become paths below the store (``segments.domain.segments.store_address``).

Part of each validation pass. It only writes what it read, once for each record, and may be cut anywhere.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from segments.clusters.embedded.segments.replaced import crc_of_file
from segments.domain.formats.plural import counted
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import URL_KEYS, SegmentMetadata
from segments.domain.segments.store_address import RECORDED, Earlier, earlier, recorded
from segments.domain.upkeep.findings import Found
from segments.errors import PinotAdminError
from segments.gateways.deep_store.deepstore import StoredFile, encode
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments.addresses import known_webs
from segments.services.segments.segments import cached_records
from segments.store import paths
from segments.store.base import Replace, Write
from segments.store.update import update_transaction

log = logging.getLogger(__name__)

#: Records of one transaction.
_BATCH: Final = 100
#: Files that one pass reads to find out whether they are what a record means.
_MOST_READ: Final = 200
LOST: Final = "address-elsewhere"

#: The path of an earlier address in our store, None when it is not ours.
Mapped = Callable[[SegmentMetadata, Earlier], str | None]


def rewrite(ctx: Context, table: TableName) -> tuple[list[str], list[Found]]:
    """Sentences of what was rewritten, and a finding where an address looks like one of ours and leads nowhere that is
    known.
    """
    names = [name for name, one in cached_records(ctx, table).items() if one.url and _is_old(one.url, table, name)]
    if not names or not ctx.deep_store.exists:
        return [], []
    stored = {f.name: f for f in ctx.deep_store.files(encode(table.raw))}
    mapped, done, left = _mapping(ctx, table, known_webs(ctx), stored), 0, []
    names.sort()
    for at in range(0, len(names), _BATCH):
        batch = names[at : at + _BATCH]
        unknown: list[str] = []
        done += _rewrite(ctx, table, batch, mapped, unknown)
        left += unknown
    sentences = [f"Addresses of {counted(done, 'segment')} of {table} are paths below the deep store now."] * bool(done)
    for sentence in sentences:
        log.info("%s", sentence)
    return sentences, _finding(table, left)


def _is_old(address: str, table: TableName, segment: str) -> bool:
    return not address.startswith(RECORDED) and earlier(address, table.raw, segment) is not None


def _rewrite(ctx: Context, table: TableName, names: Sequence[str], mapped: Mapped, unknown: list[str]) -> int:
    """How many were rewritten, in one transaction on the versions read; ``unknown`` gets those that could not be."""
    where = {name: paths.segment(table.typed, name) for name in names}

    def attempt() -> Sequence[Write]:
        unknown.clear()
        writes: list[Write] = []
        for name, node in zip(names, ctx.store.get_many(list(where.values())), strict=True):
            meta = segment_metadata.from_record(node.record) if node and node.record else None
            found = earlier(meta.download_url or "", table.raw, name) if meta else None
            if node is None or meta is None or found is None or (meta.download_url or "").startswith(RECORDED):
                continue
            path = mapped(meta, found)
            if path is None:
                unknown.append(name)
            else:
                after = meta.edited({key: recorded(path) for key in URL_KEYS if key in meta.fields})
                writes.append(Replace(where[name], after.to_record(), node.version))
        return writes

    return len(update_transaction(ctx.store, attempt, turn=table.typed).writes)


def _mapping(ctx: Context, table: TableName, webs: Collection[str], stored: Mapping[str, StoredFile]) -> Mapped:
    """An address of this store or of a web process of this cluster is ours. Any other is where the installation was
    before if our store has that very file: by its size, else by its CRC.
    """
    read: dict[str, int | None] = {}

    def mapped(meta: SegmentMetadata, found: Earlier) -> str | None:
        if found.is_ours(ctx.deep_store.url, webs):
            return found.path
        file = stored.get(found.path.rpartition("/")[2])
        if file is None:
            return None
        if file.size == meta.size_bytes:
            return found.path
        if found.path not in read and len(read) < _MOST_READ:
            read[found.path] = crc_of_file(ctx, found.path)
        return found.path if meta.crc is not None and read.get(found.path) == meta.crc else None

    return mapped


def _finding(table: TableName, left: Sequence[str]) -> list[Found]:
    if not left:
        return []
    text = (
        f"{counted(len(left), 'segment')} of {table}, e.g. {left[0]}, have an address outside of this cluster "
        "and whose file the deep store does not have: servers load them only while that address is allowed and answers."
    )
    return [Found(LOST, "", "warning", text)]


def rewrite_or_note(ctx: Context, table: TableName) -> tuple[list[str], list[Found]]:
    """``rewrite``; what goes wrong is a sentence, so that the rest of the pass is done all the same."""
    try:
        return rewrite(ctx, table)
    except (PinotAdminError, OSError) as error:
        log.warning("Addresses of %s were not rewritten: %s", table, error)
        return [f"Addresses of earlier versions were not rewritten: {error}"], []
