"""Brings a dropped OFFLINE table back: its config as it was, and the snapshot that queries saw last."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC
from typing import Any

from django.db.models import QuerySet

from segments.domain.formats.plural import counted
from segments.domain.tables.kept_secrets import has_mask
from segments.errors import NotFound, PinotAdminError, StateConflict
from segments.models import ConfigVersion, Snapshot
from segments.names import OFFLINE, TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.history.going_back import return_to
from segments.services.replacement.history.snapshots import contents_of
from segments.services.segments import archive
from segments.services.tables.edits.versions import body_of, newest_rows
from segments.services.tables.table_record import find_table_config
from segments.services.tables.tables import create_table
from segments.store import paths

ACTION = "restoreTable"


@dataclass(frozen=True)
class ComingBack:
    """What bringing a table back would do; it is possible when there are no ``blockers`` (sentences). ``snapshot``: the
    one that queries would see again, None: there were no rows. ``lost``: segments of it whose files are gone.
    """

    table: str
    deleted_at: str
    deleted_by: str
    reason: str
    snapshot: int | None
    rows: int
    segments: int
    bytes: int
    lost: int
    blockers: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {"allowed": not self.blockers, **asdict(self)}


def dropped_tables(cluster: str) -> list[ConfigVersion]:
    """The deletion of each table whose config was deleted last, newest first."""
    return list(newest_rows(cluster).filter(document="config", version=""))


def plan_coming_back(ctx: Context, table: TableName) -> ComingBack:
    """Changes nothing. NotFound when no deletion of this table is on record."""
    deleted = _configs(ctx, table).first()
    if deleted is None or deleted.version:
        raise NotFound(f"No deletion of table '{table}' is on record.", remedy="Create it with POST /tables.")
    seen = Snapshot.objects.filter(cluster__name=ctx.cluster, table_name=table.typed, segments__gt=0)
    snapshot = seen.filter(at__lte=deleted.at).first()
    config = _last_config(ctx, table)
    names = set(contents_of(snapshot)) if snapshot else set()
    lost = names - archive.kept_names(ctx, table) if names and ctx.deep_store.exists else names
    return ComingBack(
        table.typed, f"{deleted.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC", deleted.actor, deleted.reason,
        snapshot.number if snapshot else None, snapshot.rows if snapshot else 0, len(names),
        snapshot.bytes if snapshot else 0, len(lost), _blockers(ctx, table, config, lost),
        _notes(snapshot),
    )  # fmt: skip


def bring_back(ctx: Context, table: TableName, *, actor: Actor) -> ComingBack:
    """Create the table with its last config and go to its last snapshot. StateConflict with what stands in the way, and
    then nothing is made; what a later step refuses says what is there already. NotFound.
    """
    with audit.recorded(ctx, actor, ACTION, table.typed) as detail:
        found = plan_coming_back(ctx, table)
        if found.blockers:
            raise StateConflict(
                f"Table '{table}' cannot be brought back: {' '.join(found.blockers)}",
                remedy="Create it with POST /tables; what is kept of its segments is listed on tab Deleted then.",
            )
        detail |= {"snapshot": found.snapshot, "rows": found.rows}
        last = _last_config(ctx, table)
        create_table(ctx, body_of(last) if last else None, actor=actor)
        if found.snapshot is not None:
            try:
                return_to(ctx, table, found.snapshot, actor=actor, part_of=ACTION)
            except PinotAdminError as error:
                error.message = f"The table is there again, its rows are not yet: {error.message}"
                error.args = (error.message,)
                raise
    return found


def _configs(ctx: Context, table: TableName) -> QuerySet[ConfigVersion]:
    rows = ConfigVersion.objects.filter(cluster=ctx.cluster, document="config", name=table.typed)
    return rows.order_by("-number")


def _last_config(ctx: Context, table: TableName) -> ConfigVersion | None:
    """The version before the deletion; None: it is not on record."""
    return _configs(ctx, table).exclude(version="").first()


def _blockers(ctx: Context, table: TableName, config: ConfigVersion | None, lost: set[str]) -> list[str]:
    found = []
    if table.type != OFFLINE:
        found.append("It was fed by a stream: created again, it reads the stream from where its config says, and rows "
                     "of kept segments could come twice.")  # fmt: skip
    if not ctx.engine.offers.own_processes:
        found.append("Pinot keeps the files of dropped tables itself; they are not read from here.")
    if find_table_config(ctx, table) is not None:
        found.append("A table of this name exists.")
    if config is None:
        found.append("Its config is not on record.")
    elif has_mask(body_of(config)):
        found.append("Its config held secrets, which the history does not keep.")
    if ctx.store.exists(paths.schema(table.raw)) is None:
        found.append(f"Its schema '{table.raw}' was deleted, too; create it first.")
    if lost:
        found.append(f"The files of {counted(len(lost), 'segment')} are gone, e.g. '{min(lost)}'.")
    return found


def _notes(snapshot: Snapshot | None) -> list[str]:
    if snapshot is None:
        return ["It had no rows that are on record: it comes back empty."]
    return ["Only what queries saw last comes back. Earlier snapshots, as far as their files are kept, are on tab "
            "History afterwards; lineage, sessions of file ingestion and messages set aside are not."]  # fmt: skip
