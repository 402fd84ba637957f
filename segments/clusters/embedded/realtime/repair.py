"""Pinot's RealtimeSegmentValidationManager: find what is wrong with consumption, repair what is safe, say both.

Each step is tried on its own: a stream that does not answer does not keep replicas from being reset.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from segments.clusters.embedded.realtime import committing, force_commit
from segments.clusters.embedded.realtime.completion.commit_file import remove_left_uploads
from segments.clusters.embedded.realtime.completion.completion_state import remove_left_machines
from segments.clusters.embedded.realtime.lost_segments import forget_old_jobs
from segments.clusters.embedded.realtime.pause import keep_paused
from segments.clusters.embedded.realtime.replica_resets import reset_bad_replicas
from segments.clusters.embedded.realtime.resource_pressure import relieve
from segments.clusters.embedded.segments import deep_store_upload
from segments.domain.formats.plural import counted
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import partition_of
from segments.domain.realtime.pause import PauseState, consuming_segments, is_disabled, pause_of
from segments.domain.realtime.realtime_repair import Case, Kind, diagnose
from segments.domain.realtime.streams import changed_streams
from segments.domain.realtime.streams.stream_config import stream_maps
from segments.domain.segments.ideal_state import CONSUMING
from segments.domain.upkeep.findings import Found
from segments.errors import NotFound, PinotAdminError
from segments.names import REALTIME, TableName
from segments.services.core.context import SYSTEM, Context
from segments.services.engine.consumption import PauseChanged
from segments.services.realtime import consumption, lag
from segments.services.realtime.consuming_segments import Ensured, ensure_consuming
from segments.services.realtime.realtime_state import observe_realtime
from segments.services.replacement.lineage_record import table_not_found
from segments.services.segments.segments import cached_records
from segments.services.set_aside import replay
from segments.services.tables.table_record import read_table_config
from segments.services.upkeep.validation import CONSUMPTION as PREFIX
from segments.services.upkeep.validation import keep_findings
from segments.store import paths
from segments.store.records.data_loss import read_data_loss
from segments.store.records.instances import live_instances

log = logging.getLogger(__name__)

#: Findings of ``keep_copies``.
_OF_COPIES: Final = committing.CODES | {
    PREFIX + code for code in ("no-copy", "deep-store", "uploads", "replay", "ends", "jobs")
}
#: A loss of data is worth a word for this long.
_LOSS_SHOWN_MS: Final = 7 * 86_400_000


def repair(ctx: Context, table: TableName) -> list[str]:
    """All of it that goes on without a deep store."""
    ideal = _ideal(ctx, table)
    if is_disabled(ideal):
        keep_findings(ctx.cluster, table.typed, [], owns=_is_own)
        return [f"{table} is disabled and left alone."]
    steps, ensured = _Steps(table), list[Ensured]()

    def ensure() -> list[str]:
        ensured.append(ensure_consuming(ctx, table, is_patient=True))
        return ensured[0].sentences

    steps.take("resume", lambda: resume_if_due(ctx, table, _ideal(ctx, table)))
    steps.take("pressure", lambda: relieve(ctx, read_table_config(ctx, table), pause_of(_ideal(ctx, table))))
    steps.take("repair", ensure)
    steps.take("pause", lambda: keep_paused(ctx, table, _ideal(ctx, table)))
    steps.take("reset", lambda: steps.with_findings(reset_bad_replicas(ctx, table)))
    found = [*steps.failed, *_findings(ctx, table, ensured[0] if ensured else None)]
    keep_findings(ctx.cluster, table.typed, found, owns=lambda code: _is_own(code) and code not in _OF_COPIES)
    return [*steps.sentences, *(f.message for f in found)] or [f"{table} consumes as it should."]


def keep_copies(ctx: Context, table: TableName) -> list[str]:
    """What needs the deep store: segments that only servers have are copied there, uploads that nobody committed go."""
    if is_disabled(_ideal(ctx, table)):
        return []
    steps = _Steps(table)
    cached = cached_records(ctx, table)
    steps.take("ends", lambda: steps.with_findings(committing.repair_committing(ctx, table, cached)))
    steps.take("jobs", lambda: forget_old_jobs(ctx, table))
    if not ctx.deep_store.exists:
        keep_findings(ctx.cluster, table.typed, steps.failed, owns=lambda code: code in _OF_COPIES)
        stays = f"Segments of {table} stay on servers: this installation has no deep store."
        return [*steps.sentences, *(f.message for f in steps.failed), stays]

    def copy() -> list[str]:
        done, left = deep_store_upload.upload_missing(ctx, table, cached)
        steps.failed += [
            Found(PREFIX + "no-copy", s, "warning", f"Segment {s} is only on servers: {why}") for s, why in left.items()
        ]
        return done

    steps.take("deep-store", copy)
    steps.take("uploads", lambda: _remove_left(ctx, table))
    steps.take("replay", lambda: replay.carry_on(ctx, table))
    keep_findings(ctx.cluster, table.typed, steps.failed, owns=lambda code: code in _OF_COPIES)
    return [*steps.sentences, *(f.message for f in steps.failed)]


class _Steps:
    """What one pass did and could not do; a step that fails does not stop the next ones."""

    def __init__(self, table: TableName) -> None:
        self._table = table
        self.sentences: list[str] = []
        self.failed: list[Found] = []

    def with_findings(self, done: tuple[list[str], list[Found]]) -> list[str]:
        """Keep the findings of a step; returns its sentences."""
        self.failed += done[1]
        return done[0]

    def take(self, code: str, act: Callable[[], list[str]]) -> None:
        """Do it, or make a finding of why not."""
        try:
            self.sentences.extend(act())
        except PinotAdminError as error:
            self.failed.append(Found(PREFIX + code, "", "error" if error.permanent else "warning", str(error)))
        except Exception as error:
            log.exception("%s of %s failed", code, self._table)
            self.failed.append(Found(PREFIX + code, "", "error", f"Repair failed: {error}"))


def keep(ctx: Context) -> list[str]:
    """The quick pass of every few seconds: planned ends, pauses and force commits that are not complete, partitions
    that stand still.

    Streams are asked only when something is to be repaired.
    """
    sentences = force_commit.keep_jobs(ctx)
    for typed in ctx.store.children(paths.TABLE_CONFIGS):
        if not typed.endswith("_" + REALTIME):
            continue
        table = TableName(typed.removesuffix("_" + REALTIME), REALTIME)
        try:
            sentences += _keep(ctx, table)
        except NotFound:
            continue  # it is just being dropped
        except PinotAdminError as error:
            sentences.append(f"{table} could not be repaired: {error}")
        except Exception:
            log.exception("%s could not be repaired", table)
    return sentences


def resume_if_due(ctx: Context, table: TableName, ideal: ZNRecord) -> list[str]:
    """The planned end of a pause has come: resume."""

    def is_due(state: PauseState) -> bool:
        return state.is_due(ctx.clock())

    if not is_due(pause_of(ideal)):
        return []
    try:
        consumption.resume_table(
            ctx, table, comment="The planned end of the pause has come.", expected=is_due, actor=SYSTEM
        )
    except PauseChanged:
        return []
    return [f"{table} was resumed: the planned end of its pause has come."]


def _keep(ctx: Context, table: TableName) -> list[str]:
    ideal = _ideal(ctx, table)
    if is_disabled(ideal):
        return []
    sentences = [*resume_if_due(ctx, table, ideal), *keep_paused(ctx, table, ideal)]
    if pause_of(ideal).paused:
        return sentences
    state = observe_realtime(ctx, table, is_quick=True)
    topics = len(stream_maps(read_table_config(ctx, table)))
    if any(
        c.kind not in (Kind.WAIT, Kind.STUCK, Kind.FAILING)
        for c in diagnose(state.seen(None, topics, is_patient=True), ctx.clock())
    ):
        sentences += ensure_consuming(ctx, table, is_patient=True).sentences
    return sentences


def _findings(ctx: Context, table: TableName, ensured: Ensured | None) -> list[Found]:
    found = [_finding_of(c) for c in ensured.cases if _is_reported(c)] if ensured else []
    if ensured and ensured.stream_error:
        found.append(
            Found(PREFIX + "stream", "", "warning", f"A stream of {table} does not answer: {ensured.stream_error}")
        )
    ideal = _ideal(ctx, table)
    found += [*_unhosted(ctx, ideal), *_in_another_stream(ideal), *_not_moving(ctx, table, ideal)]
    now = ctx.clock()
    for loss in read_data_loss(ctx.store, table.typed):
        if now - loss.at_ms < _LOSS_SHOWN_MS:
            found.append(
                Found(PREFIX + "data-loss", loss.key, "warning" if loss.is_skipped else "error", loss.sentence)
            )
    return found


def _is_reported(case: Case) -> bool:
    return case.kind in (Kind.STUCK, Kind.FAILING) or (case.kind is Kind.WAIT and not case.reason)


def _finding_of(case: Case) -> Found:
    if case.kind is Kind.FAILING and case.latest is not None:
        text = (
            f"Partition {case.partition} cannot be consumed: every replica of {case.latest.name} stopped, for the"
            f" {case.latest.times_again + 1}. time in a row. It is tried again later; the servers' logs say why."
        )
        return Found(PREFIX + "failing", str(case.partition), "error", text)
    if case.kind is Kind.STUCK:
        text = f"Partition {case.partition} stands still: {case.reason}. Reset or delete the segment."
        return Found(PREFIX + "stuck", str(case.partition), "error", text)
    name = (case.orphan or case.latest).name if (case.orphan or case.latest) else ""  # type: ignore[union-attr]  # one of them is there
    text = (
        f"Partition {case.partition}: the commit before or of {name} is half done; it is finished when nobody does "
        "it soon."
    )
    return Found(PREFIX + "half-commit", str(case.partition), "warning", text)


def _unhosted(ctx: Context, ideal: ZNRecord) -> Sequence[Found]:
    """Consuming segments none of whose servers is alive: their partitions stand still until one comes back."""
    live = set(live_instances(ctx.store))
    found = []
    for segment in consuming_segments(ideal):
        servers = sorted(i for i, state in ideal.maps[segment].items() if state == CONSUMING)
        if not live & set(servers):
            text = f"Segment {segment} does not consume: none of {', '.join(servers)} is alive."
            found.append(Found(PREFIX + "no-server", segment, "error", text))
    return found


def _not_moving(ctx: Context, table: TableName, ideal: ZNRecord) -> list[Found]:
    """Partitions that are consumed and did not move for a while although messages wait in the stream."""
    consumed = {partition_of(s) for s in consuming_segments(ideal)}
    return [
        Found(
            PREFIX + "not-moving",
            str(s.partition),
            "error",
            f"Partition {s.partition} is at offset {s.offset} for {lag.STILL_FOR.seconds // 60} minutes although "
            f"at least {counted(s.messages, 'message', 'waits', 'wait')}. The tab Consumption says why its servers "
            "wait; else reset its segment.",
        )
        for s in lag.standing_still(ctx, table)
        if s.partition in consumed
    ]


def _in_another_stream(ideal: ZNRecord) -> list[Found]:
    """Partitions that wait because the table's config names another stream than the one they stopped in."""
    if not (streams := changed_streams.of(ideal)) or pause_of(ideal).paused:
        return []
    partitions = ", ".join(map(str, sorted(streams)[:10]))
    stopped = f"Partitions {partitions} stopped in {min(streams.values())}, which the table does not read any more."
    text = f"{stopped} Choose where to begin in the new stream: resume the table."
    return [Found(PREFIX + "another-stream", "", "error", text)]


def _remove_left(ctx: Context, table: TableName) -> list[str]:
    """What commits left behind: uploads that nobody committed, completion machines of segments that are gone."""
    count = remove_left_uploads(ctx, table)
    remove_left_machines(ctx, table)
    return [f"Removed {count} uploads that nobody committed."] if count else []


def _ideal(ctx: Context, table: TableName) -> ZNRecord:
    node = ctx.store.get(paths.ideal_state(table.typed))
    if node is None or node.record is None:
        raise table_not_found(table)
    return node.record


def _is_own(code: str) -> bool:
    return code.startswith(PREFIX)
