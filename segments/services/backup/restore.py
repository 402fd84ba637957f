"""Restores a backup into an empty installation, at whatever address and under whatever cluster name it has.

Safe order: everything is checked before the first write; a znode says that a restore is under way, and no part starts
while it is there; the database's rows, in a transaction that ends only after the tree is written, so that rows that do
not fit lose nothing; last that znode goes. Cut anywhere, it is done again from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from django.db import transaction

from segments.domain.backup.kept_znodes import is_kept, renamed
from segments.domain.formats.znrecord import ZNRecord, record_of
from segments.errors import InvalidInput, OutcomeUnknown, StateConflict
from segments.models import Cluster, Webhook
from segments.services.backup import database_rows, stored_files
from segments.services.backup.backup_file import BackupReader
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.store import paths
from segments.store.base import Create
from segments.store.records.instances import live_instances
from segments.store.records.restore_under_way import begin_restore, end_restore, is_restore_under_way

#: Creates in one transaction, and about their bytes: ZooKeeper keeps its last 500 transactions in memory, and the
#: embedded one has little.
_MOST: Final = 100
_BYTES: Final = 60_000
_TRIES: Final = 5
#: Servers that a sentence names.
_NAMED: Final = 5
#: Records that only a cluster with tables, or with Pinot clusters, has.
_SIGNS_OF_USE: Final = (paths.TABLE_CONFIGS, paths.SCHEMAS, paths.SEGMENTS, paths.CLUSTERS)


@dataclass(frozen=True)
class Wanted:
    """``replace``: what is there may be lost. ``servers``: {server's id in the backup: its id here}.
    ``without_missing``: also when files of the deep store are missing. ``dry_run``: check, write nothing.
    """

    replace: bool = False
    servers: Mapping[str, str] = field(default_factory=dict)
    without_missing: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class Restored:
    """What was (or would be) restored; ``notes``: sentences about what a person has to see to."""

    znodes: int
    rows: int
    files: int
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def restore(
    ctx: Context, path: Path, wanted: Wanted, actor: Actor, progress: Callable[[str], None] = lambda _: None
) -> Restored:
    """Restore the backup at ``path``. StateConflict for a target that is in use or not empty, and for missing files;
    InvalidInput for a file that is no backup, or that does not fit. Nothing is written then.
    """
    backup = BackupReader(path, progress)
    _check_target(ctx, wanted)
    _check_servers(backup, wanted)
    for _ in _creates(backup, (str(backup.header.get("cluster", "")), ctx.cluster), wanted.servers):
        pass  # each is checked on the way
    progress("Looking for the deep store's files")
    missing = stored_files.missing(ctx.deep_store, backup.lines("file"))
    if missing and not (wanted.without_missing or wanted.dry_run):
        raise StateConflict(
            f"{len(missing):,} of {backup.counts['file']:,} files are not in the deep store: {_first(missing)}",
            remedy="Copy them there, or add --without-missing: their segments then stay without data.",
        )
    if not wanted.dry_run:
        _write(ctx, backup, wanted, actor, progress)
    counts = backup.counts
    return Restored(counts["znode"], counts["row"], counts["file"], tuple(missing), tuple(_notes(backup, wanted)))


def _check_target(ctx: Context, wanted: Wanted) -> None:
    if running := sorted(live_instances(ctx.store)):
        raise StateConflict(f"{running[0]} runs.", remedy="Stop all parts of this cluster, then restore.")
    if wanted.replace or is_restore_under_way(ctx.store):
        return
    used = [path for path in _SIGNS_OF_USE if ctx.store.children(path)]
    if used or database_rows.is_used():
        where = f"ZooKeeper has records below {used[0]}" if used else "the database holds records"
        raise StateConflict(
            f"This installation is not empty: {where}.",
            remedy="Restore into an empty one, or add --replace: all that is there is lost then.",
        )


def _check_servers(backup: BackupReader, wanted: Wanted) -> None:
    known = backup.header.get("servers") or []
    if unknown := sorted(wanted.servers.keys() - set(known)):
        raise InvalidInput(f"The backup has no server {unknown[0]}.", remedy=f"It has {', '.join(known) or 'none'}.")
    if len({wanted.servers.get(name, name) for name in known}) < len(known):
        raise InvalidInput("Two servers of the backup would have one name.", remedy="Name another one for each.")


def _write(ctx: Context, backup: BackupReader, wanted: Wanted, actor: Actor, progress: Callable[[str], None]) -> None:
    cluster = (str(backup.header.get("cluster", "")), ctx.cluster)
    was_cut = is_restore_under_way(ctx.store)
    begin_restore(ctx.store, str(backup.header.get("id", "")))
    with transaction.atomic():
        progress(f"Database: {backup.counts['row']:,} rows")
        try:
            database_rows.load(backup.lines("row"), cluster)
        except InvalidInput:
            if not was_cut:  # the tree is whole
                end_restore(ctx.store)
            raise
        _write_tree(ctx, backup, cluster, wanted.servers, progress)
        audit.record(
            actor, "restore", cluster=ctx.cluster, target=str(backup.header.get("id", "")), at=backup.header.get("at"),
            from_cluster=cluster[0], servers=dict(wanted.servers),
        )  # fmt: skip
    end_restore(ctx.store)


def _write_tree(
    ctx: Context, backup: BackupReader, cluster: tuple[str, str], servers: Mapping[str, str],
    progress: Callable[[str], None],
) -> None:  # fmt: skip
    _clear(ctx)
    done = 0
    for batch in _batches(_creates(backup, cluster, servers)):
        _create(ctx, batch)
        done += len(batch)
        progress(f"ZooKeeper: {done:,} of {backup.counts['znode']:,}")


def _create(ctx: Context, batch: list[Create]) -> None:
    """All of them; those that are there already stay (rule `unknown-outcomes-are-read`). OutcomeUnknown when
    ZooKeeper's answers are lost again and again.
    """
    for tries_left in reversed(range(_TRIES)):
        found = ctx.store.get_many([create.path for create in batch])
        try:
            ctx.store.transaction([create for create, node in zip(batch, found, strict=True) if node is None])
            return
        except OutcomeUnknown:
            if not tries_left:
                raise


def _clear(ctx: Context) -> None:
    """Remove every znode that a backup could bring, and what running parts left; parents that all clusters have stay
    empty.
    """
    for top in ctx.store.children("/"):
        for name in ctx.store.children(f"/{top}"):
            if f"/{top}/{name}" not in (paths.RESTORE, paths.ACCESS, paths.SHARED_SECRETS):
                ctx.store.delete_tree(f"/{top}/{name}")


def _creates(
    backup: BackupReader, cluster: tuple[str, str], servers: Mapping[str, str]
) -> Iterator[tuple[Create, int]]:
    """Each with about how many bytes it takes."""
    for line in backup.lines("znode"):
        path, body = str(line["znode"]), line.get("record")
        if not is_kept(path):
            raise InvalidInput(f"The backup holds a znode that none ever has: {path[:200]}.")
        try:
            record: ZNRecord | None = None if body is None else record_of(body)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(f"The record of {path[:200]} in the backup is not valid: {error}.") from error
        if path != "/":
            yield Create(*renamed(path, record, cluster, servers)), 300 + (_length(body) if body else 0)


def _length(body: Any) -> int:
    """Roughly, and quickly: of all texts in a record."""
    if isinstance(body, str):
        return len(body) + 4
    if isinstance(body, dict):
        return sum(_length(k) + _length(v) for k, v in body.items())
    return sum(map(_length, body)) if isinstance(body, list) else 8


def _batches(creates: Iterable[tuple[Create, int]]) -> Iterator[list[Create]]:
    batch: list[Create] = []
    size = 0
    for create, length in creates:
        if batch and (len(batch) >= _MOST or size + length > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append(create)
        size += length
    if batch:
        yield batch


def _notes(backup: BackupReader, wanted: Wanted) -> Iterator[str]:
    kept = sorted(set(backup.header.get("servers") or ()) - wanted.servers.keys())
    if kept:
        more = f" and {len(kept) - _NAMED:,} more" if len(kept) > _NAMED else ""
        yield (
            f"Without --server, the names of {', '.join(kept[:_NAMED])}{more} stay: start servers with these hosts and "
            "ports, which the segments are assigned to."
        )
    if wanted.dry_run:
        return
    stored = Cluster.objects.filter(auth_source="stored").values_list("name", flat=True)
    yield from (f"Give the password of cluster {name} again: it is in no backup." for name in stored)
    if count := Webhook.objects.count():
        yield f"Give the secrets of {count} webhooks again where they have one: they are in no backup."


def _first(missing: list[str]) -> str:
    more = f" and {len(missing) - stored_files.NAMED:,} more" if len(missing) > stored_files.NAMED else ""
    return "; ".join(missing[: stored_files.NAMED]) + more + "."
