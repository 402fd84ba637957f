"""The store of a Pinot cluster: what is ours lies in the installation's own ZooKeeper, all else is Pinot's and only
read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Forbidden
from segments.store import paths
from segments.store.base import Store, Versioned, Watch, WatchCallback, Write
from segments.store.paths import check_path

OURS: Final = "/PINOTADMIN"


class OverlayStore:
    """``Store`` over two others. Paths at and below ``/PINOTADMIN`` are those of ``own`` below
    ``paths.cluster_root(cluster)``.

    ``own`` is resolved at each use, so that a cluster can be opened while the installation's ZooKeeper is unreachable.
    ``close`` closes ``pinot`` only: the own store is everybody's.
    """

    def __init__(self, own: Callable[[], Store], cluster: str, pinot: Store) -> None:
        self._own, self._pinot = own, pinot
        self._root = paths.cluster_root(cluster)

    @property
    def is_costly(self) -> bool:
        """Is reading every record of a table something that Pinot's controller feels?"""
        return bool(getattr(self._pinot, "is_costly", False))

    # Reads

    def get(self, path: str) -> Versioned | None:
        return self._own().get(self._ours(path)) if _is_ours(path) else self._pinot.get(path)

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        ours = [path for path in paths if _is_ours(path)]
        if not ours:
            return self._pinot.get_many(paths)
        theirs = [path for path in paths if not _is_ours(path)]
        found = dict(zip(ours, self._own().get_many([self._ours(path) for path in ours]), strict=True))
        if theirs:
            found.update(zip(theirs, self._pinot.get_many(theirs), strict=True))
        return [found[path] for path in paths]

    def children(self, path: str) -> list[str]:
        if _is_ours(path):
            return self._own().children(self._ours(path))
        names = self._pinot.children(path)
        return sorted({*names, OURS[1:]}) if path == "/" else names

    def children_many(self, paths: Sequence[str]) -> list[list[str]]:
        return [self.children(path) for path in paths]

    def exists(self, path: str) -> int | None:
        return self._own().exists(self._ours(path)) if _is_ours(path) else self._pinot.exists(path)

    # Writes: ours only

    def create(self, path: str, record: ZNRecord | None, *, ephemeral: bool = False) -> Versioned:
        return self._own().create(self._writable(path), record, ephemeral=ephemeral)

    def replace(self, path: str, record: ZNRecord, version: int) -> Versioned:
        return self._own().replace(self._writable(path), record, version)

    def delete(self, path: str, version: int | None = None) -> bool:
        return self._own().delete(self._writable(path), version)

    def delete_tree(self, path: str) -> None:
        self._own().delete_tree(self._writable(path))

    def transaction(self, writes: Sequence[Write]) -> None:
        """Of ours only: no transaction spans two ZooKeepers, so a check of a znode of Pinot's is refused
        like a write.
        """
        self._own().transaction([replace(write, path=self._writable(write.path)) for write in writes])

    # Watches and the session

    def watch(self, prefix: str, callback: WatchCallback) -> Watch:
        if prefix == "/":
            return Both(self._watch_ours(OURS, callback), self._pinot.watch(prefix, callback))
        return self._watch_ours(prefix, callback) if _is_ours(prefix) else self._pinot.watch(prefix, callback)

    def session_id(self) -> str:
        return self._own().session_id()

    def on_session(self, callback: Callable[[], None]) -> None:
        self._own().on_session(callback)

    def close(self) -> None:
        self._pinot.close()

    def _watch_ours(self, prefix: str, callback: WatchCallback) -> Watch:
        def translated(path: str | None) -> None:
            callback(None if path is None else OURS + path.removeprefix(self._root))

        return self._own().watch(self._ours(prefix), translated)

    def _ours(self, path: str) -> str:
        return self._root + check_path(path).removeprefix(OURS)

    def _writable(self, path: str) -> str:
        if not _is_ours(path):
            raise Forbidden(
                f"{path} belongs to Pinot and is only read here.",
                remedy="Change it through Pinot's controller.",
                path=path,
            )
        return self._ours(path)


class Both:
    """Two watches that end together."""

    def __init__(self, *watches: Watch) -> None:
        self._watches = watches

    def close(self) -> None:
        """End both."""
        for watch in self._watches:
            watch.close()


def _is_ours(path: str) -> bool:
    return path == OURS or path.startswith(OURS + "/")
