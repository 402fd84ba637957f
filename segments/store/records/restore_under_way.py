"""That a restore is under way: while this znode is there the cluster is half of one, and no part starts on it."""

from __future__ import annotations

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import StateConflict
from segments.store import paths
from segments.store.base import Store
from segments.store.update import update_record


def begin_restore(store: Store, backup: str) -> None:
    """From now on; ``backup`` is the backup's id."""
    update_record(store, paths.RESTORE, lambda found: ZNRecord("RESTORE", {"backup": backup}))


def end_restore(store: Store) -> None:
    """It is whole."""
    store.delete(paths.RESTORE)


def is_restore_under_way(store: Store) -> bool:
    """Was one begun, and not ended?"""
    return store.exists(paths.RESTORE) is not None


def refuse_half_restored(store: Store) -> None:
    """StateConflict while a restore is under way, or was cut."""
    if is_restore_under_way(store):
        raise StateConflict(
            "A restore of this cluster is under way, or was cut.",
            remedy="Wait for its end, or run 'pinotadmin restore FILE' again.",
        )
