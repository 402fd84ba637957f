"""What an end waits for before it switches, on both kinds of cluster: the replicas of the new segments, then the table's checks of them."""

from __future__ import annotations

from collections.abc import Callable

from segments.domain.lineage import Entry
from segments.domain.replacement_settings import settings_or_default
from segments.domain.table_config import TableConfig
from segments.names import TableName
from segments.services import snapshot_checks, start_admission
from segments.services.context import Actor, Context
from segments.services.online import Progress, wait_until_online
from segments.services.waiting_ends import kept_alive


def require_ready(
    ctx: Context,
    table: TableName,
    entry: Entry,
    config: TableConfig,
    *,
    is_part: bool,
    actor: Actor,
    override: str,
    progress: Progress | None,
    is_worth_it: Callable[[], None] | None = None,
) -> dict[str, str]:
    """Wait for the replicas, then ask the checks; the files that they read, {segment: CRC}.

    ``is_part``: the end names segments of its own, so that the rows declared at the start do not count. ``progress`` and ``is_worth_it``
    as for ``wait_until_online``. A client with a lease keeps it meanwhile. Raises PreconditionFailed, or what ``is_worth_it`` raises.
    """
    declared = None if is_part else start_admission.declared_rows(entry)
    required = settings_or_default(config).replicas_required
    with kept_alive(ctx, table, entry.id):
        wait_until_online(ctx, table, entry.segments_to, progress=progress, required=required, is_worth_it=is_worth_it)
        return dict(snapshot_checks.require_passed(ctx, table, entry, override=override, actor=actor, config=config, declared=declared))
