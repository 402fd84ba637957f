"""Removes what was staged for a session after it was over: a task of Spark that is being stopped may still finish."""

from __future__ import annotations

import re
from typing import Final

from segments.domain.formats.plural import counted
from segments.gateways.deep_store.deepstore import INGESTION, STAGING
from segments.services.core.context import Context
from segments.services.ingestion.session_store import all_sessions, tables_with_sessions
from segments.services.ingestion.switch import drop_staging

_SESSION: Final = re.compile(r"(?:cp|run)_[0-9]+_[0-9a-f]{8}")


def remove_late_files(ctx: Context) -> list[str]:
    """Delete staged files of sessions that are over, and of those whose records were removed; one sentence if any were.

    A session that has no record here, but still a list of its files, may be that of another cluster with the same deep
    store: its files stay.
    """
    if not ctx.deep_store.exists:
        return []
    staged = [name for name in ctx.deep_store.folders(STAGING) if _SESSION.fullmatch(name)]
    if not staged:
        return []
    known = {s.id: s for table in tables_with_sessions(ctx) for s in all_sessions(ctx, table)}
    listed = _listed(ctx) if any(name not in known for name in staged) else frozenset()
    late = [
        name
        for name in staged
        if (not (known[name].is_open or known[name].has_leftovers) if name in known else name not in listed)
    ]
    for name in late:
        drop_staging(ctx, name)
    return [f"Removed staged files of {counted(len(late), 'session')} that are over, e.g. {late[0]}."] if late else []


def _listed(ctx: Context) -> frozenset[str]:
    """Ids of all sessions that have a list of their files: it is written before a session's record is made."""
    tables = ctx.deep_store.folders(INGESTION)
    return frozenset(name for table in tables for name in ctx.deep_store.folders(f"{INGESTION}/{table}"))
