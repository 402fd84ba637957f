"""Carries a push out, stage by stage: LIST, BUILD, START, UPLOAD, END. Each reads what is already done and does the
rest.

Truth per stage: the plan in the database (LIST), notes in the deep store (BUILD), the lineage (START, END), segment
records (UPLOAD); so an attempt may stop anywhere and the next repeats nothing. Only this driver starts, ends and
reverts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, Protocol

from django.db import transaction

from segments import traces
from segments.domain.formats.plural import counted
from segments.domain.push.parts_by_size import MOST_BYTES, files_to_cut, parts_by_size
from segments.domain.push.push_plan import (
    InputFile,
    Part,
    Step,
    next_step,
    part_from_json,
    parts_by_rows,
    still_to_build,
)
from segments.domain.push.sequence_ids import numbered
from segments.domain.tables import table_config
from segments.errors import InvalidInput, PinotAdminError, StateConflict, Unavailable
from segments.gateways.deep_store.bounded_calls import NoAnswer
from segments.gateways.deep_store.deepstore import STAGING
from segments.gateways.input_files.access import FileAccess
from segments.gateways.pinot import ControllerFault
from segments.models import Push, PushSegment
from segments.names import OFFLINE, TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.loading.builder import Builder
from segments.services.loading.replacement import open_replacement
from segments.services.loading.staged_files import is_there
from segments.services.push.push_load import PushLoad
from segments.services.push.push_revert import take_back
from segments.services.push.push_session import Session, acquire, now
from segments.services.push.replaced_files import ReplacedFiles
from segments.services.push.reports.gather import InputReports
from segments.services.replacement.checks.snapshot_checks import ChecksFailed
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import end_replace, read_lineage
from segments.services.segments.online import wait_until_online
from segments.services.segments.replaced.by_push import check_names
from segments.services.tables.quota import check_quota
from segments.spark.build_part import BuildJob, Built, read_notes
from segments.spark.executors import ExecutorsLost, SparkUnavailable
from segments.store import paths

log = logging.getLogger(__name__)
#: How often a push is tried before it is taken back, and how often taking it back is tried.
MAX_ATTEMPTS: Final = 4
_PAUSE_S: Final = 2.0
#: Names of segments that came in next to a push, in its row.
MOST_LISTED: Final = 200
#: Between two attempts while a Pinot controller is down, and how long after its beginning a push still waits for it.
_RETRY_UNREACHABLE_S: Final = 15.0
_PATIENCE: Final = timedelta(hours=1)


class CountingBuilder(Builder, Protocol):
    """One that counts rows beforehand, too."""

    def count_rows(
        self, paths: Sequence[str], reader: dict[str, Any], on_tick: Callable[[], None], access: dict[str, Any]
    ) -> dict[str, int]:
        """Rows per file."""


def run_push(ctx: Context, push_id: str, owner: str, *, builder: CountingBuilder, attempts: int | None = None) -> str:
    """Do what is left of a push; returns one sentence. StateConflict while another runner holds it, or when there were
    not so many ``attempts``.

    Bad input and refusals take the push back and leave it FAILED with the reason; refused by the table's checks it is
    BLOCKED, with everything uploaded and hidden, until somebody decides (``push_blocked``). A lost part of the system
    leaves it RUNNING without a runner, for ``resume_lost``; after MAX_ATTEMPTS it is taken back too.
    """
    session = acquire(ctx, push_id, owner, attempts)
    if session is None:
        return f"Push {push_id} is finished already."
    push = session.push
    try:
        with session.heartbeat(), traces.span("push", push=str(push.pk), table=push.table_name):
            if push.stage == Push.Stage.REVERT:
                take_back(session)
            elif push.attempts > MAX_ATTEMPTS:
                _fail(session, f"Given up after {MAX_ATTEMPTS} attempts. {push.error}".strip())
            else:
                _Run(session, builder).go()
    except PinotAdminError as error:
        return _stopped(session, error)
    except Exception as error:
        log.exception("Push %s stopped unexpectedly.", push_id)
        return _stopped(session, Unavailable(f"Unexpected {type(error).__name__}: {error}"))
    return f"Push {push_id} of {push.table_name} is {push.state}."


def _stopped(session: Session, error: PinotAdminError) -> str:
    """After an error: give way, wait for the next attempt, or take the push back."""
    push = session.push
    if session.is_lost:
        _sweep(session)
        return f"Push {push.pk} was left to its new runner."
    if isinstance(error, ChecksFailed):
        session.update(state=Push.State.BLOCKED, error=str(error), lease_owner="", lease_until=None)
        return f"Push {push.pk} of {push.table_name} is blocked: {error}"
    if error.permanent and push.stage != Push.Stage.REVERT:
        try:
            _fail(session, str(error))
        except PinotAdminError as second:
            return _stopped(session, second)
        return f"Push {push.pk} of {push.table_name} failed: {error}"
    if isinstance(error, ControllerFault | NoAnswer | SparkUnavailable) and _is_young(session):
        # Nothing was tried: a controller or a Spark cluster that is down, or a deep store that hangs, for some minutes
        # costs no push an attempt.
        session.release(
            _PAUSE_S if isinstance(error, ExecutorsLost) else _RETRY_UNREACHABLE_S,
            error=push.error if push.stage == Push.Stage.REVERT else str(error),
            attempts=max(push.attempts - 1, 0),
        )
        return f"Push {push.pk} waits for {_unavailable_part(error, push.cluster)}: {error}"
    if push.attempts > 2 * MAX_ATTEMPTS:
        session.update(
            state=Push.State.FAILED,
            finished_at=now(session.ctx),
            error=f"{push.error} It could not be taken back: {error}",
        )
        return f"Push {push.pk} could not be taken back: {error}"
    text = push.error if push.stage == Push.Stage.REVERT else str(error)
    session.release(_PAUSE_S, error=text)
    return f"Push {push.pk} waits for its next attempt: {error}"


def _unavailable_part(error: PinotAdminError, cluster: str) -> str:
    if isinstance(error, SparkUnavailable):
        return "Spark"
    return "the deep store" if isinstance(error, NoAnswer) else f"the controller of cluster '{cluster}'"


def _is_young(session: Session) -> bool:
    began = session.push.started_at
    return began is None or now(session.ctx) - began < _PATIENCE


def _fail(session: Session, message: str) -> None:
    session.update(stage=Push.Stage.REVERT, error=message)
    take_back(session)


def _sweep(session: Session) -> None:
    """A cancelled push may have had tasks that staged files after its folder was removed."""
    if Push.objects.filter(pk=session.push.pk, state__in=Push.TERMINAL).exists():
        session.ctx.deep_store.delete_folder(f"{STAGING}/{session.push.pk}")


class _Run:
    """One attempt."""

    def __init__(self, session: Session, builder: CountingBuilder) -> None:
        self.session, self.builder = session, builder
        self.ctx, self.push = session.ctx, session.push
        self.table = TableName(session.push.table_name, OFFLINE)
        self.actor = Actor(session.push.actor, session.push.reason or f"push {session.push.pk}")
        self.config = table_config.parse_table_config(session.push.plan["config"])
        self.built: dict[int, Built] = {}
        self.found = InputReports(session)
        self.replaced = ReplacedFiles(session)

    def go(self) -> None:
        """All stages in order, then DONE."""
        stages = Push.Stage
        for stage, run in (
            (stages.LIST, self.plan), (stages.BUILD, self.build), (stages.START, self.start),
            (stages.UPLOAD, self.upload), (stages.END, self.end),
        ):  # fmt: skip
            with self.session.stage(stage):
                run()
        self.ctx.deep_store.delete_folder(f"{STAGING}/{self.push.pk}")
        self.session.update(state=Push.State.DONE, finished_at=now(self.ctx), error="")
        audit.record(
            self.actor,
            "pushEnd",
            cluster=self.ctx.cluster,
            target=self.table.typed,
            push=str(self.push.pk),
            entry=self.push.entry_id,
            rows=self.push.rows,
            segments=len(self.built),
        )

    @property
    def parts(self) -> list[Part]:
        """The frozen parts."""
        return [part_from_json(p) for p in self.push.plan["parts"]]

    def plan(self) -> None:
        """Cut by rows if asked, and large files in any case, and write down one row per segment."""
        if not self.push.plan["parts"]:
            parts = numbered(self._cut(), self.push.plan["names"]["configs"])
            if not parts:
                raise InvalidInput("The input files have no rows.", remedy="Check the input folder.")
            self.session.save_plan(parts=[p.to_json() for p in parts])
        if PushSegment.objects.filter(push=self.push).count() != len(self.push.plan["parts"]):
            with transaction.atomic():
                PushSegment.objects.filter(push=self.push).delete()
                PushSegment.objects.bulk_create(
                    [
                        PushSegment(push=self.push, ordinal=p.ordinal, name=f"part-{p.ordinal}", source=p.source[:2000])
                        for p in self.parts
                    ],
                    batch_size=500,
                )
        self.session.update(segments_total=len(self.push.plan["parts"]))

    def _cut(self) -> list[Part]:
        plan, reader = self.push.plan, self.push.plan["reader"]
        files = [InputFile(**f) for f in plan["files"]]
        if plan.get("target_rows"):
            rows = self.builder.count_rows([f.path for f in files], reader, self.session.check, self._access())
            return parts_by_rows(files, rows, plan["target_rows"])
        large = files_to_cut(files, reader["format"], MOST_BYTES)
        cuts = self.builder.find_cuts(large, reader, MOST_BYTES, self.session.check, self._access())
        return parts_by_size(files, reader["format"], MOST_BYTES, cuts=cuts, most_files=1)

    def build(self) -> None:
        """Build what is not staged yet, and check that every segment has a name of its own. A push has all of its files
        or none: the first that cannot be read ends it.
        """
        if self._is_past_building():
            return
        notes = read_notes(self.ctx.deep_store, str(self.push.pk))
        self.on_built([b for b in notes if is_there(self.ctx, self.table, str(self.push.pk), b)], is_retry=True)
        plan = self.push.plan
        job = BuildJob(
            str(self.push.pk),
            self.ctx.deep_store.url,
            plan["schema"],
            plan["config"],
            plan["reader"],
            plan["names"],
            plan["start_ms"],
            plan["fail_on_empty"],
            plan.get("error_rate", 0.0),
            access=self._access(),
            store_access=self.ctx.deep_store.access.to_json(),
        )
        try:
            self.builder.build(job, still_to_build(self.parts, self.built), self.on_built, self.replaced.take)
            while self.replaced.freeze_again(job.access):
                self.builder.build(job, still_to_build(self.parts, self.built), self.on_built, self.replaced.take)
        finally:
            self.found.save(is_complete=len(self.found.parts) == len(plan["parts"]))
        self.found.check()
        missing = still_to_build(self.parts, self.built)
        if missing:
            raise Unavailable(
                f"{counted(len(missing), 'segment', 'was', 'were')} not built, first of '{missing[0].source}'."
            )
        names = [b.name for b in self.built.values()]
        twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise InvalidInput(
                f"Two input files give segment name '{twice[0]}'.", remedy="Change segmentNameGeneratorSpec."
            )

    def _access(self) -> dict[str, Any]:
        """How executors read the input: by the settings and logins as they are now; where no roots are set, as listed.
        An upload has a folder of its own. Plans of earlier versions have local files only.
        """
        plan = self.push.plan
        if plan.get("is_upload"):
            return FileAccess((plan["input_dir"],)).to_json()
        if not self.ctx.inputs.roots:
            return {}
        access = self.ctx.inputs.access(plan.get("input_dir", "/"), plan.get("file_system", {}), table=self.table.raw)
        return access.to_json()

    def _is_past_building(self) -> bool:
        """After a lost reply of the very last step nothing is staged any more, and nothing needs to be."""
        lineage = read_lineage(self.ctx, self.table) if self.push.plan["replaces"] else None
        entry = lineage.entries.get(self.push.entry_id) if lineage else None
        return entry is not None and next_step(entry, started=True) is Step.NOTHING

    def on_built(self, fresh: list[Built], *, is_retry: bool = False) -> None:
        """Write down parts that were staged; called with [] between, to notice that the lease was lost."""
        self.found.add({b.ordinal: b.report for b in fresh if b.report})
        fresh = [b for b in fresh if b.name]
        if not fresh and not is_retry:
            self.session.check()
            return
        self.built.update({b.ordinal: b for b in fresh})
        known = {
            s.ordinal: s for s in PushSegment.objects.filter(push=self.push, ordinal__in=[b.ordinal for b in fresh])
        }
        for one in fresh:
            row = known[one.ordinal]
            row.name, row.rows, row.bytes, row.crc = one.name, one.rows, one.size_bytes, one.crc
            row.state = row.state if row.state == PushSegment.State.UPLOADED else PushSegment.State.STAGED
        PushSegment.objects.bulk_update(known.values(), ["name", "rows", "bytes", "crc", "state"], batch_size=200)
        waiting = {p.file.path for part in self.parts if part.ordinal not in self.built for p in part.pieces}
        self.session.update(
            segments_built=len(self.built), rows=sum(b.rows for b in self.built.values()),
            bytes=sum(b.size_bytes for b in self.built.values()),
            files_done=sum(1 for f in self.push.plan["files"] if f["path"] not in waiting),
        )  # fmt: skip

    def start(self) -> None:
        """Open the replacement, unless it is open."""
        if not self.push.plan["replaces"]:
            check_quota(self.ctx, self.config, sum(b.size_bytes for b in self.built.values()))
            if not self.push.plan.get("overwrite"):
                check_names(self.ctx, self.config, {b.name: (b.crc, b.rows) for b in self.built.values()})
            return
        lineage = read_lineage(self.ctx, self.table)
        step = self._step()
        if step is Step.START:
            ideal = self.ctx.store.get(paths.ideal_state(self.table.typed))
            present = list(ideal.record.maps) if ideal and ideal.record else []
            visible = (lineage.visible(present) if lineage else sorted(present)) if self.push.plan["covers_all"] else []
            built = [self.built[i] for i in sorted(self.built)]
            load, cleans_up = PushLoad(self.session), bool(self.push.plan["covers_all"])
            open_replacement(load, self.table, visible, built, self.actor, cleans_up=cleans_up)
        self.session.save_plan(started=True)

    def upload(self) -> None:
        """Register all segments that are not registered yet."""
        if not self.push.plan["replaces"] or self._step() is Step.UPLOAD:
            built = [self.built[i] for i in sorted(self.built)]
            self.ctx.engine.push.register(PushLoad(self.session), self.table, self.actor, built)

    def end(self) -> None:
        """Switch queries to the new segments, unless that is done; returns when they are queryable."""
        self.session.update(stage=Push.Stage.END)
        if not self.push.plan["replaces"]:
            wait_until_online(self.ctx, self.table, [b.name for b in self.built.values()])
        elif self._step() is Step.UPLOAD:
            plan = self.push.plan
            actor = Actor(plan["override_by"], self.actor.reason) if plan.get("override_by") else self.actor
            uncovered = end_replace(
                self.ctx,
                self.table,
                self.push.entry_id,
                actor=actor,
                override=plan.get("override_checks", ""),
                strict=bool(plan.get("strict_snapshot")),
            )
            self._note_uncovered(uncovered)
        elif not self.push.uncovered:  # the reply to the switch was lost
            seen = observe(self.ctx, self.table)
            self._note_uncovered(seen.lineage.uncovered(self.push.entry_id, seen.ideal.maps))

    def _note_uncovered(self, segments: Sequence[str]) -> None:
        """Write down what queries see next to a snapshot that was to be the whole table."""
        if self.push.plan["covers_all"]:
            self.session.update(uncovered=list(segments[:MOST_LISTED]))

    def _step(self) -> Step:
        lineage = read_lineage(self.ctx, self.table)
        step = next_step(
            lineage.entries.get(self.push.entry_id) if lineage else None, started=bool(self.push.plan.get("started"))
        )
        if step is Step.GIVE_UP:
            raise StateConflict(
                f"Lineage entry '{self.push.entry_id}' of this push was reverted or removed by somebody else.",
                remedy="Push again.",
            )
        return step
