"""The switch of a session: its staged segments take the place of what they replace, in one replacement (rule
`nothing-before-the-switch`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from segments.domain.ingestion.plan import replaced_segments, replaces_files, split_segments
from segments.domain.ingestion.registry import IngestedFiles, registry_after
from segments.domain.ingestion.replaced_part import Selector
from segments.domain.ingestion.selection import Extent, is_inside
from segments.domain.ingestion.session import MOST_LISTED, FileRecord, FileState, SessionState
from segments.domain.push.push_plan import Step
from segments.domain.tables.table_config import TableConfig
from segments.errors import StateConflict, Unavailable
from segments.gateways.deep_store.deepstore import STAGING
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.ingestion.files.reading import staged_parts
from segments.services.ingestion.held_session import HeldSession, with_files
from segments.services.ingestion.manifest import read_registry
from segments.services.ingestion.session_store import read_task
from segments.services.ingestion.situation import Setup, read_visible
from segments.services.ingestion.slices.kept_rows import keep_rows, staged_kept
from segments.services.loading.replacement import open_replacement, step_of
from segments.services.replacement.ends.end_readiness import NotWhole
from segments.services.replacement.protocol import end_replace, revert_replace
from segments.services.tables.quota import check_quota
from segments.spark.build_part import Built

_TAKEN_BACK: Final = "The switch was reverted by somebody else; the next trigger drives it again."


class SessionLoad:
    """``segments.services.loading.load.Load`` of a session: its progress is in ZooKeeper, its segments in the lineage
    entry, so registration has nothing else to write down.
    """

    def __init__(self, held: HeldSession, config: TableConfig, *, entry_id: str = "", fenced: bool = True) -> None:
        self.ctx: Context = held.ctx
        self._held, self._config, self._entry_id, self._fenced = held, config, entry_id, fenced

    @property
    def id(self) -> str:
        """The session's id."""
        return self._held.session.id

    @property
    def config(self) -> TableConfig:
        """The table's config."""
        return self._config

    @property
    def entry_id(self) -> str:
        """Of one file's own replacement, or of the session's."""
        return self._entry_id or self._held.session.entry_id

    @property
    def is_fenced(self) -> bool:
        """Always for the session's switch."""
        return self._fenced

    @property
    def overwrites(self) -> bool:
        """Never: names hold the session's id."""
        return False

    @property
    def keeps_staged(self) -> bool:
        """A switch that was reverted begins again from the staged files."""
        return True

    def check(self) -> None:
        """Conflict when the lease is lost."""
        self._held.check()

    def save_entry(self, entry_id: str) -> None:
        """Into the session's record; that of one file's replacement is found again by the id it was given."""
        if self._entry_id:
            self._entry_id = entry_id
        else:
            self._held.change(entry_id=entry_id)

    def in_doubt(self, names: Sequence[str]) -> None:
        """All names are in the manifest."""

    def placed(self, name: str, uri: str) -> None:
        """The file is staged, too."""

    def registered(self, names: Sequence[str], done: int) -> None:
        """The cluster knows."""


def begin_switch(held: HeldSession, setup: Setup) -> bool:
    """Freeze both sides; False when staged files are gone and are to be read again. Raises StateConflict for what
    cannot be replaced.
    """
    parts = list(staged_parts(held, held.manifest))
    if _reads_again(held, parts):
        return False
    _check_inside(setup, parts)
    visible = read_visible(held.ctx, held.table, setup.task.selector)
    registry = read_registry(held.ctx, read_task(held.ctx, held.table).registry_uri).shown(visible.segments)
    old = replaced_segments(setup.task, held.manifest.files, held.manifest.vanished, registry, visible)
    kept = keep_rows(held, setup, split_segments(setup.task, visible))
    names = [*(one.name for _, one in parts if one is not None), *(k.name for k in kept if k.name)]
    free = max((k.ordinal + 1 for k in kept), default=held.manifest.next_ordinal)
    manifest = replace(
        held.manifest, segments_from=old, segments_to=tuple(dict.fromkeys(names)), kept=kept,
        next_ordinal=max(free, held.manifest.next_ordinal),
    )  # fmt: skip
    fresh = {
        "entry_id": held.ctx.new_id(),
        "started": False,
        "error": "",
        "override": "",
        "override_by": "",
        "uncovered": (),
    }
    held.save(manifest, state=SessionState.SWITCH, **fresh)
    return True


def _check_inside(setup: Setup, parts: Sequence[tuple[FileRecord, Built | None]]) -> None:
    """New rows outside of a replaced part would stand next to the old ones there. Raises StateConflict."""
    selector = setup.task.selector
    if selector is None or not selector.has_edges:
        return
    for file, one in parts:
        if one is not None and not is_inside(selector, _extent(one, selector)):
            raise StateConflict(
                f"File '{file.uri}' has rows outside of the replaced {selector.what}.",
                remedy=f"Widen {selector.keys}, or take the file out of the folder.",
            )


def _extent(one: Built, selector: Selector) -> Extent:
    info, wanted = one.info, selector.partitions
    column = info.columns.get(wanted.column) if wanted is not None else None
    ids = frozenset(column.partitions) if column is not None and column.partition_function else None
    return Extent(info.start_time_ms, info.end_time_ms, ids)


def carry_out_switch(held: HeldSession, setup: Setup, actor: Actor) -> bool:
    """Start, register, end, then write down what is ingested; each first reads what is done. False when staged files
    are gone, or the switch was taken back: the session is IN_PROGRESS again.
    """
    ctx, table, manifest = held.ctx, held.table, held.manifest
    if manifest.segments_from or manifest.segments_to:
        load = SessionLoad(held, setup.config)
        ctx.engine.push.find_entry(load, table)
        step = step_of(load, table, started=held.session.started)
        if step is Step.GIVE_UP and not _is_shown(held):
            _begin_again(held)
            return False
        if step in (Step.START, Step.UPLOAD):
            built = _whole(held)
            if built is None:
                return False
            if step is Step.START:
                check_quota(ctx, setup.config, 0)
                open_replacement(load, table, manifest.segments_from, built, actor, cleans_up=False)
            held.change(started=True)
            ctx.engine.push.register(load, table, actor, built)
            if not _end(held, setup, actor):
                return False
    finish(held, setup, actor)
    return True


def _end(held: HeldSession, setup: Setup, actor: Actor) -> bool:
    """Switch; False when a strict swap would leave segments next to its own: it is taken back, and the next trigger
    switches with these among what it replaces.
    """
    ctx, table, session = held.ctx, held.table, held.session
    decider = Actor(session.override_by, session.override) if session.override else actor
    strict = session.swap and setup.task.strict_snapshot
    try:
        next_to_it = end_replace(ctx, table, session.entry_id, actor=decider, override=session.override, strict=strict)
    except NotWhole as error:
        revert_replace(ctx, table, session.entry_id, force=True, actor=actor)
        _begin_again(held, f"{error.message} The next trigger replaces them, too.")
        return False
    if session.swap and next_to_it:
        held.change(uncovered=tuple(next_to_it[:MOST_LISTED]))
    return True


def finish(held: HeldSession, setup: Setup, actor: Actor) -> None:
    """Everything is visible: what is ingested, DONE, and staging goes."""
    ctx, manifest = held.ctx, held.manifest
    known = read_registry(ctx, read_task(ctx, held.table).registry_uri)
    is_swap = held.session.swap and setup.task.selector is None
    kept = {k.segment: k.name for k in manifest.kept if k.name}
    after = registry_after(
        known.files, manifest.files, manifest.segments_from,
        is_swap=is_swap, replaces=replaces_files(setup.task), kept=kept,
    )  # fmt: skip
    for uri in manifest.vanished:
        after.pop(uri, None)
    ingested = IngestedFiles(after) if is_swap else known.after(after)  # the next swap replaces whatever comes back
    done = [replace(f, state=FileState.DONE) for f in manifest.files if f.state is FileState.BUILT]
    held.finish(with_files(manifest, done), ingested, state=SessionState.DONE, end_ms=ctx.clock(), error="")
    audit.record(
        actor, "ingestionSessionEnd", cluster=ctx.cluster, target=held.table.typed, session=held.session.id,
        entry=held.session.entry_id, files=held.session.counts.done, rows=held.session.rows,
        segmentsFrom=len(manifest.segments_from), segmentsTo=len(manifest.segments_to),
    )  # fmt: skip
    drop_staging(ctx, held.session.id)
    held.end_run()


def drop_staging(ctx: Context, session_id: str) -> None:
    """Delete what is staged of a session."""
    ctx.deep_store.delete_folder(f"{STAGING}/{session_id}")


def staged_files(held: HeldSession, files: Sequence[FileRecord]) -> list[Built]:
    """What is staged of these files. Unavailable when some of it is gone."""
    wanted = {f.uri for f in files}
    found = [one for f, one in staged_parts(held, replace(held.manifest, files=tuple(files))) if f.uri in wanted]
    if None in found:
        raise Unavailable("A staged file is gone.", remedy="It is built again.")
    return [one for one in found if one is not None]


def _whole(held: HeldSession) -> list[Built] | None:
    """All that the switch shows; None when some of it is gone: then the session reads those files again."""
    parts = list(staged_parts(held, held.manifest))
    kept = staged_kept(held)
    if _reads_again(held, parts, forced=None in kept):
        return None
    wanted = set(held.manifest.segments_to)
    found = (*(one for _, one in parts), *kept)
    return list({one.name: one for one in found if one is not None and one.name in wanted}.values())


def _reads_again(held: HeldSession, parts: Sequence[tuple[FileRecord, Built | None]], *, forced: bool = False) -> bool:
    """Have the session read files again of which something staged is gone; False when all is there. ``forced``: the
    session goes back although its files are all there.
    """
    again = [f.emptied(FileState.PENDING) for f, one in parts if one is None]
    if again or forced:
        held.save(with_files(held.manifest, again), state=SessionState.IN_PROGRESS)
    return bool(again) or forced


def _is_shown(held: HeldSession) -> bool:
    """The entry left the lineage; do queries see the new side, and so was it switched before?"""
    visible = read_visible(held.ctx, held.table).segments
    new, old = set(held.manifest.segments_to), set(held.manifest.segments_from)
    return new <= visible.keys() and old.isdisjoint(visible)


def _begin_again(held: HeldSession, why: str = _TAKEN_BACK) -> None:
    manifest = replace(held.manifest, segments_from=(), segments_to=())
    held.save(manifest, state=SessionState.IN_PROGRESS, entry_id="", started=False)
    held.end_run(why)
