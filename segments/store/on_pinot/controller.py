"""Reads a Pinot cluster's znodes through its controller (``/zk/...``), where its ZooKeeper is not to be reached from
here.

Few and small requests: a record is fetched when its stat says that it changed, the segments of a table as one list when
many are wanted, and changes are found by stats of a few parents: about 210 requests a minute while nothing
changes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from segments.domain.formats.znrecord import ZNRecord, decode, record_of
from segments.errors import RecordCorrupt
from segments.gateways.pinot.controller import PinotController
from segments.gateways.pinot.refusals import UNEXPECTED, ControllerFault, PinotRefused
from segments.store import paths
from segments.store.base import Versioned, Watch, WatchCallback
from segments.store.on_pinot.poll_interval import Terms
from segments.store.on_pinot.polling import DEFINITIONS, DOCUMENTS, Plan, Poller
from segments.store.on_pinot.read_only import ReadOnly
from segments.store.on_pinot.refreshed_segments import Stat
from segments.store.paths import check_path, parent_of

#: So many records of one table, and this part of all it has, are fetched as one list; and seconds that a long list may
#: take.
_AS_LIST: Final = 40
_SHARE_AS_LIST: Final = 0.05
_LIST_S: Final = 180.0
#: Requests that are out at once.
_TOGETHER: Final = 6
#: How many segments a table has is only of use for what was written in place: new ones have rows in its ideal state.
_PLAN: Final = Plan({**dict.fromkeys(DOCUMENTS, 1), **dict.fromkeys(DEFINITIONS, 9), paths.SEGMENTS: 18}, overwritten=6)
#: Records remembered.
_REMEMBERED: Final = 2_000


@dataclass(frozen=True)
class _Stat:
    version: int
    modified_ms: int
    mzxid: int
    pzxid: int
    owner: int
    children: int

    def with_record(self, record: ZNRecord | None) -> Versioned:
        return Versioned(record, self.version, self.modified_ms, self.mzxid, self.owner)


class ControllerStore(ReadOnly):
    """``Store`` over one controller. Versions of segment records that were requested together are not known and read as
    0.
    """

    #: Reading every segment's record is one long answer of the controller: not to be requested lightly.
    is_costly = True

    def __init__(self, controller: PinotController, *, terms: Terms | None = None) -> None:
        self._controller = controller
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[int, ZNRecord | None]] = OrderedDict()
        self._pool: ThreadPoolExecutor | None = None
        self._poller = Poller("controller", self._stats, self._current, _PLAN, terms or Terms())

    def get(self, path: str) -> Versioned | None:
        stat = self._stat(path)
        if stat is None:
            return None
        with self._lock:
            known = self._known.get(path)
        if known is not None and known[0] == stat.mzxid:
            return stat.with_record(known[1])
        # The stat came first: the record is at least as new, and is read again when the next stat differs.
        record = self._record(path)
        with self._lock:
            self._known[path] = (stat.mzxid, record)
            self._known.move_to_end(path)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return stat.with_record(record)

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        wanted: dict[str, list[str]] = {}
        for path in paths:
            wanted.setdefault(parent_of(check_path(path)), []).append(path)
        found: dict[str, Versioned | None] = {}
        singly: list[str] = []
        for parent, asked in wanted.items():
            listed = self._records_below(parent) if self._is_worth_a_list(parent, len(asked)) else None
            if listed is None:
                singly += asked
            else:
                found.update({path: listed.get(path.rpartition("/")[2]) for path in asked})
        found.update(zip(singly, self._one_by_one(singly), strict=True))
        return [found[path] for path in paths]

    def _is_worth_a_list(self, parent: str, asked: int) -> bool:
        """Are so many of the table's segments requested that the list of all costs the controller less?"""
        if asked < _AS_LIST or not _is_segments(parent):
            return False
        stat = self._ask("/zk/stat", parent)
        children = int(stat.get("numChildren", 0)) if isinstance(stat, dict) else 0
        return asked >= children * _SHARE_AS_LIST

    def children(self, path: str) -> list[str]:
        found = self._ask("/zk/ls", path)
        if found is not None and not isinstance(found, list):
            raise self._unexpected("/zk/ls", found)
        return sorted(map(str, found or ()))

    def children_many(self, paths: Sequence[str]) -> list[list[str]]:
        return [self.children(path) for path in paths]

    def exists(self, path: str) -> int | None:
        stat = self._stat(path)
        return None if stat is None else stat.version

    def watch(self, prefix: str, callback: WatchCallback) -> Watch:
        return self._poller.watch(check_path(prefix), callback)

    def close(self) -> None:
        self._poller.close()
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _one_by_one(self, paths: Sequence[str]) -> list[Versioned | None]:
        if len(paths) <= 1:
            return [self.get(path) for path in paths]
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_TOGETHER, thread_name_prefix="controller-store")
            pool = self._pool
        return list(pool.map(self._of_many, paths))

    def _of_many(self, path: str) -> Versioned | None:
        """A segment's record without its stat, which would be a request more for each."""
        if not _is_segments(parent_of(path)):
            return self.get(path)
        try:
            record = self._record(path)
        except RecordCorrupt:
            return Versioned(None, 0)
        return None if record is None else Versioned(record, 0)

    def _record(self, path: str) -> ZNRecord | None:
        try:
            text = self._controller.text("/zk/get", {"path": self._full(path)})
        except PinotRefused as refused:
            if refused.pinot_status == HTTPStatus.NOT_FOUND:
                return None
            # Helix cannot read what is not a record, and the controller says 500.
            raise RecordCorrupt(
                f"Pinot cannot read {path}: {refused.pinot_message}", remedy="Repair or remove the znode."
            ) from refused
        return None if text.strip() in ("", "null") else decode(text.encode())

    def _records_below(self, parent: str) -> dict[str, Versioned] | None:
        """All records of a parent in one answer; those that are no record are left out by Pinot. None: it has no such
        list.
        """
        found = self._ask("/zk/getChildren", parent, timeout=_LIST_S)
        if found is None:
            return None
        if not isinstance(found, list):
            raise self._unexpected("/zk/getChildren", found)
        records = [record for item in found if (record := _decoded(item)) is not None]
        return {record.id: Versioned(record, 0) for record in records}

    def _stat(self, path: str) -> _Stat | None:
        found = self._ask("/zk/stat", path)
        return None if found is None else self._read_stat(found)

    def _read_stat(self, found: Any) -> _Stat:
        try:
            return _Stat(
                int(found["version"]), int(found["mtime"]), int(found["mzxid"]), int(found["pzxid"]),
                int(found.get("ephemeralOwner", 0)), int(found.get("numChildren", 0)),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._unexpected("/zk/stat", found) from error

    def _stats(self, parent: str) -> dict[str, Stat]:
        found = self._ask("/zk/lsl", parent)
        if found is not None and not isinstance(found, dict):
            raise self._unexpected("/zk/lsl", found)
        stats = {name: self._read_stat(stat) for name, stat in (found or {}).items() if stat is not None}
        return {name: Stat(stat.mzxid, stat.pzxid, stat.children) for name, stat in stats.items()}

    def _current(self, path: str) -> ZNRecord | None:
        node = self.get(path)
        return node.record if node else None

    def _ask(self, endpoint: str, path: str, timeout: float | None = None) -> Any:
        """The answer, None where there is no such znode."""
        try:
            return self._controller.get(endpoint, {"path": self._full(path)}, timeout=timeout)
        except PinotRefused as refused:
            if refused.pinot_status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def _full(self, path: str) -> str:
        root = f"/{self._controller.cluster()}"
        return root if check_path(path) == "/" else root + path

    def _unexpected(self, endpoint: str, found: Any) -> ControllerFault:
        text = f"{self._controller.url}{endpoint} answered {type(found).__name__} where Pinot answers otherwise."
        return ControllerFault(UNEXPECTED, text, remedy="Check its version, and what stands before it.")


def _is_segments(parent: str) -> bool:
    return parent_of(parent) == paths.SEGMENTS


def _decoded(item: Any) -> ZNRecord | None:
    try:
        return record_of(item)
    except (KeyError, TypeError, AttributeError):
        return None
