"""Follow one cluster: watches mark tables and segments dirty, one thread reads what is dirty and writes the rows."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from operator import ne
from typing import Any, Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.pause import is_disabled, pause_of
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import Lineage
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.secret_masks import mask
from segments.errors import PinotAdminError, Unavailable
from segments.metrics import installation as metrics
from segments.mirror import database
from segments.mirror.config_history import ConfigHistory
from segments.mirror.odd_texts import OddTexts
from segments.mirror.pending import Dirty, Pending, Work, pieces_of
from segments.mirror.progress import FirstReading
from segments.mirror.rows import Changes, TableState, recompute
from segments.mirror.segment_rows import Rows, has_record
from segments.mirror.snapshots import TableHistory
from segments.models import Cluster
from segments.names import REALTIME, split_table_name
from segments.services.core.database_faults import UNREACHABLE
from segments.services.core.database_outage import database_outage
from segments.services.tables.stored_documents import read_config, read_schema
from segments.store import paths
from segments.store.base import Store, Watch

log = logging.getLogger(__name__)

_PREFIXES = (
    paths.TABLE_CONFIGS,
    paths.SCHEMAS,
    paths.SEGMENTS,
    paths.LINEAGE,
    paths.IDEAL_STATES,
    paths.EXTERNAL_VIEWS,
)
#: Seconds between two attempts while the cluster is unreachable: the first pause and the longest.
_PAUSES_S: Final = (1.0, 30.0)
#: A full check reads all records of tables up to so many segments; those of larger ones after so many seconds
#: only.
_LARGE, _REREAD_S = 1_000, 3_600.0
#: Seconds between two full checks, watches or not; where reading is costly the longer.
_SWEEP_S: Final = (300.0, 1_800.0)
#: Seconds in which changes gather. Whoever makes them and waits for their outcome needs processor and database more
#: than the mirror does; where changes are polled for, all that one poll found comes together anyway.
_GATHER_NOTIFIED_S, _GATHER_ASKED_S = 0.15, 0.02
#: Records that are read in one step of such a check, and that are in memory at once.
_PIECE: Final = 2_000
_AT_ONCE: Final = 5_000


class ClusterFollower:
    """The mirror of one cluster. ``run`` blocks until ``stop``; ``on_synced`` is called after the first full sync,
    ``report`` after every try, with what is wrong or an empty text.
    """

    def __init__(
        self,
        store: Store,
        cluster: Cluster,
        on_synced: Callable[[], None] = lambda: None,
        report: Callable[[str], None] = lambda error: None,
    ) -> None:
        self._store, self._cluster, self._on_synced, self._report = store, cluster, on_synced, report
        self._is_pinot = cluster.is_pinot
        self._is_costly = bool(getattr(store, "is_costly", False))
        self._prefixes = (*_PREFIXES, paths.ENTRY_NOTES) if self._is_pinot else _PREFIXES
        self._documents = tuple(prefix for prefix in self._prefixes if prefix != paths.SEGMENTS)
        gather = _GATHER_ASKED_S if self._is_costly else _GATHER_NOTIFIED_S
        self._pending = Pending(self._prefixes, _SWEEP_S[self._is_costly], gather)
        self._unreadable: dict[str, str] = {}
        self._read_at: dict[str, float] = {}
        self._tables: dict[str, TableState] = {}
        self._written: dict[str, database.Written] = {}
        self._histories: dict[str, TableHistory] = {}
        self._configs = ConfigHistory(cluster.name)
        self._odd_texts = OddTexts(cluster.name)
        self._watches: list[Watch] = []

    def run(self) -> None:
        """Follow until stopped; what cannot be read or written now is tried again."""
        self._watches = [self._store.watch(p, self._pending.mark) for p in self._prefixes]
        self._pending.await_first_calls()
        synced, pause = False, _PAUSES_S[0]
        while not self._pending.is_stopped:
            work = self._pending.next(wait=synced)
            try:
                database_outage.before_use()
                if work.everything and not synced:
                    self.sync_all()
                    synced = True
                    self._on_synced()
                else:
                    with metrics.MIRROR_SECONDS.timed(self._cluster.name):
                        self._do(work)
                self._report(next(iter(self._unreadable.values()), ""))
                pause = _PAUSES_S[0]
            except Unavailable as error:
                metrics.MIRROR_ERRORS.add(self._cluster.name)
                log.warning("The mirror of %s waits: %s", self._cluster, error)
                self._report(str(error))
                self._pending.again(work, pause)
                pause = min(pause * 2, _PAUSES_S[1])
            except UNREACHABLE as error:
                metrics.MIRROR_ERRORS.add(self._cluster.name)
                database_outage.note(error)
                self._begin_again()
            except Exception as error:
                metrics.MIRROR_ERRORS.add(self._cluster.name)
                log.exception("The mirror of %s could not follow; everything is read again.", self._cluster)
                self._report(f"{type(error).__name__}; see the mirror's log.")
                self._begin_again()

    def _begin_again(self) -> None:
        """What was written is not known."""
        self._tables.clear()
        self._written.clear()
        self._histories.clear()
        self._configs.forget()
        self._odd_texts.forget()
        self._pending.again(Work(everything=True), _PAUSES_S[0])

    def stop(self) -> None:
        """Make ``run`` return."""
        self._pending.stop()
        for watch in self._watches:
            watch.close()

    def sync_all(self) -> None:
        """Check every table, now."""
        tables, progress = self._list_tables(), FirstReading(self._cluster)
        for number, name in enumerate(tables, 1):
            self._sync_table(name, None)
            progress.note(number, len(tables))
        progress.end()

    def _list_tables(self) -> list[str]:
        """Tables that there are; what is known of others is forgotten."""
        tables = set(self._store.children(paths.TABLE_CONFIGS))
        for name in (database.known_tables(self._cluster) | set(self._tables)) - tables:
            self._forget(name)
        return sorted(tables)

    def _do(self, work: Work) -> None:
        if work.everything or work.is_sweep:
            pieces = [
                piece for name in self._list_tables() for piece in self._pieces(name, is_doubtful=work.everything)
            ]
            # Documents first: what changed in them is shown before all records are read.
            self._pending.sweep(sorted(pieces, key=lambda piece: not piece[1].documents))
        for name, dirty in work.tables.items():
            for stage in self._stages(name, dirty):
                self._sync_table(name, stage if name in self._tables else None)

    def _stages(self, name: str, dirty: Dirty) -> list[Dirty]:
        """Where each document of a large table takes its controller long, what is wanted is shown before what
        servers made of it.
        """
        known, view = self._tables.get(name), {paths.EXTERNAL_VIEWS}
        if not self._is_costly or known is None or len(known.ideal) <= _LARGE or not view < dirty.documents:
            return [dirty]
        return [Dirty(dirty.documents - view, dirty.segments), Dirty(view)]

    def _pieces(self, name: str, *, is_doubtful: bool) -> list[tuple[str, Dirty]]:
        """All of a table again, but records of large ones seldom: watches report them, unless they were lost. Where
        reading is costly its documents are compared in each round, all of them by a few requests.
        """
        known = self._tables.get(name)
        documents = () if known is not None and self._is_costly and not is_doubtful else self._documents
        is_large = known is not None and len(known.ideal) > _LARGE and (self._is_costly or not is_doubtful)
        if known is None or (is_large and time.monotonic() - self._read_at.get(name, 0.0) <= _REREAD_S):
            return pieces_of(name, documents, (), _PIECE)
        self._read_at[name] = time.monotonic()
        if is_large and self._is_costly:
            threading.Thread(target=self._compare, args=(name, known), name=f"compare-{name}", daemon=True).start()
            return pieces_of(name, documents, (), _PIECE)
        return pieces_of(name, documents, list(known.ideal), _LARGE if self._is_costly else _PIECE)

    def _compare(self, name: str, known: TableState) -> None:
        """Have those records of a table read again that are not as they are known. The list of all may take its
        controller half a minute, in which changes are followed as ever.
        """
        names = list(known.ideal)
        try:
            nodes = self._store.get_many([paths.segment(name, segment) for segment in names])
        except PinotAdminError as error:
            log.info("The segment records of %s could not be compared: %s", name, error)
            self._read_at.pop(name, None)
            return
        for segment, node in zip(names, nodes, strict=True):
            record = segment_metadata.from_record(node.record) if node and node.record else None
            if not has_record(known.segments.get(segment), record):
                self._pending.mark(paths.segment(name, segment))

    def _sync_table(self, name: str, dirty: Dirty | None) -> None:
        """Bring one table up to date; ``dirty``: what is to be read again of it, None: all, whatever is known."""
        before = self._tables.get(name)
        try:
            state = self._read_table(name, before, dirty)
        except Unavailable:
            raise
        except PinotAdminError as error:
            log.error("Table %s cannot be mirrored: %s", name, error)
            self._unreadable[name] = f"Table {name} cannot be mirrored: {error}"
            self._tables.pop(name, None)  # what could not be read is read again, whatever changes next
            return
        self._unreadable.pop(name, None)
        if state is None:
            self._forget(name)
            return
        try:
            changes = self._read_segments(before, state, None if dirty is None else dirty.segments)
            self._write(name, state, changes, is_first=before is None)
        except Unavailable:
            self._tables.pop(name, None)  # rows may be known now that were not written
            raise
        self._configs.see(state)
        self._tables[name] = state

    def _write(self, name: str, state: TableState, changes: Changes, *, is_first: bool) -> None:
        """The table's rows, and with them the snapshot that queries see now where that is another one."""
        if name not in self._written:
            self._written[name] = database.load(self._cluster, state)
        written, kept = self._written[name], self._history(name)
        found = kept.differences(state, None if is_first else {*changes.upserts, *changes.deletes})
        if not found:
            database.write_table(written, state, changes)
        elif not kept.is_of_one_moment(found) and not self._is_settled(name, state):
            kept.put_off(found)
            database.write_table(written, state, changes)
            self._pending.mark(_document(paths.LINEAGE, name))
            self._pending.mark(_document(paths.IDEAL_STATES, name))
        else:
            row = kept.next(state, found)
            database.write_table(written, state, changes, lambda: kept.keep(row))
            kept.is_kept(row, found)
        self._odd_texts.note(name, written.odd)

    def _history(self, name: str) -> TableHistory:
        if name not in self._histories:
            self._histories[name] = TableHistory(self._cluster, name, self._store)
        return self._histories[name]

    def _is_settled(self, name: str, state: TableState) -> bool:
        """Are lineage and ideal state still as they were read, so that they belong together?"""
        wanted = (paths.LINEAGE, paths.IDEAL_STATES)
        nodes = self._store.get_many([_document(prefix, name) for prefix in wanted])
        return all(
            (node.record if node else None) == state.documents[prefix]
            for prefix, node in zip(wanted, nodes, strict=True)
        )

    def _read_segments(self, before: TableState | None, state: TableState, dirty: set[str] | None) -> Changes:
        """Bring the rows of the table's segments up to date; ``dirty``: whose records may be others, None: all."""
        if before is None:
            state.put_segments(database.load_segments(self._cluster, state.name))
            changed, wanted = {*state.ideal, *state.segments}, set(state.ideal)
            self._read_at[state.name] = time.monotonic()
        else:
            state.keep_segments_of(before)
            changed, wanted = self._changed(before, state, dirty)
        found, listed = recompute(state, changed - wanted), sorted(wanted)
        # A list of all costs a controller less than any part of it.
        size = len(listed) if self._is_costly else _AT_ONCE
        for start in range(0, len(listed), size or 1):
            names = listed[start : start + size]
            found.add(recompute(state, names, self._read_records(state, names)))
        return found

    def _changed(self, before: TableState, state: TableState, dirty: set[str] | None) -> tuple[set[str], set[str]]:
        """The segments whose row may be another one, and those of them whose record has to be read."""
        rows = _differing_rows(before.ideal, state.ideal)
        here = rows & state.ideal.keys()
        state.unread -= rows - here
        # Not every way of watching a Pinot reports records that were written in place, as a commit does.
        new = here if self._is_pinot else here - state.segments.keys()
        wanted = new | state.unread | (state.ideal.keys() if dirty is None else dirty & state.ideal.keys())
        moved = _differing_rows(before.view, state.view) | (before.hidden ^ state.hidden)
        return wanted | rows | moved, wanted

    def _read_records(self, state: TableState, names: Sequence[str]) -> dict[str, SegmentMetadata | None]:
        """None for those that have no record; these are asked for again."""
        nodes = self._store.get_many([paths.segment(state.name, s) for s in names])
        found = {
            name: segment_metadata.from_record(node.record) if node and node.record else None
            for name, node in zip(names, nodes, strict=True)
        }
        missing = {name for name, record in found.items() if record is None}
        state.unread.difference_update(found)
        state.unread.update(missing)
        return found

    def _forget(self, name: str) -> None:
        self._unreadable.pop(name, None)
        self._read_at.pop(name, None)
        self._tables.pop(name, None)
        self._written.pop(name, None)
        self._histories.pop(name, None)
        database.delete_table(self._cluster, name)
        self._configs.see_deleted(name)

    def _read_table(self, name: str, before: TableState | None, dirty: Dirty | None) -> TableState | None:
        """The table with the documents that changed read again; None when it has no config."""
        known = before.documents if before is not None and dirty is not None else {}
        wanted = [
            prefix
            for prefix in self._documents
            if prefix not in known or (dirty is not None and prefix in dirty.documents)
        ]
        nodes = self._store.get_many([_document(prefix, name) for prefix in wanted]) if wanted else []
        documents = {
            **known,
            **{prefix: node.record if node else None for prefix, node in zip(wanted, nodes, strict=True)},
        }
        config, ideal = documents[paths.TABLE_CONFIGS], documents[paths.IDEAL_STATES]
        if config is None:
            return None
        body, parsed = read_config(config, is_foreign=self._is_pinot)
        schema = documents[paths.SCHEMAS]
        if schema is None and self._is_pinot:
            schema = self._schema_named_otherwise(body)
        lineage, hidden = _lineage(name, documents, before)
        return TableState(
            name=name,
            documents=documents,
            config=mask(body),
            schema=read_schema(schema, is_foreign=self._is_pinot) if schema else {},
            replication=parsed.replication if parsed else 1,
            ingestion_type=parsed.ingestion_type if parsed else "APPEND",
            ideal=_rows(ideal),
            pause=pause_of(ideal).to_json() if ideal and split_table_name(name)[1] == REALTIME else {},
            is_disabled=bool(ideal and is_disabled(ideal)),
            view=_rows(documents[paths.EXTERNAL_VIEWS]),
            lineage=lineage,
            hidden=hidden,
        )

    def _schema_named_otherwise(self, config: Mapping[str, Any]) -> ZNRecord | None:
        """Before 1.3 a table could name a schema that is not called as the table is."""
        named = (config.get("segmentsConfig") or {}).get("schemaName")
        node = self._store.get(paths.schema(named)) if isinstance(named, str) and named and "/" not in named else None
        return node.record if node else None


def _document(prefix: str, table: str) -> str:
    """Path of the table's document below ``prefix``."""
    return f"{prefix}/{split_table_name(table)[0] if prefix == paths.SCHEMAS else table}"


def _lineage(
    name: str, documents: Mapping[str, ZNRecord | None], before: TableState | None
) -> tuple[Lineage, set[str]]:
    """The lineage with our notes, and what it hides; as before where neither was written again."""
    record, notes = documents[paths.LINEAGE], documents.get(paths.ENTRY_NOTES)
    if (
        before is not None
        and before.documents[paths.LINEAGE] is record
        and before.documents.get(paths.ENTRY_NOTES) is notes
    ):
        return before.lineage, before.hidden
    entries = lineages.with_notes(lineages.from_record(record) if record else lineages.empty(name), notes)
    return entries, entries.hidden()


def _rows(record: ZNRecord | None) -> dict[str, dict[str, str]]:
    return record.maps if record else {}


def _differing_rows(before: Rows, now: Rows) -> set[str]:
    """A record that was not written again is the very same object (large records are decoded once)."""
    if before is now:
        return set()
    differ = map(ne, now.values(), map(before.get, now))  # without a line of Python for each of 100,000 rows
    return set(compress(now, differ)) | (before.keys() - now.keys())
