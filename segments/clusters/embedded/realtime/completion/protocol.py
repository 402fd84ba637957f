"""The controller's side of the segment completion protocol: load the machine, take one step, write, answer.

Every message is one compare-and-set over what it was decided from, so any web process may answer any message (rule
`any-process-answers`). A commit is one transaction: both segments' records, the ideal state and the machine's end (rule
`one-transaction`); a pauseless one is two, its start and its end. A repeated message finds its own trace (rule
`repeats-are-harmless`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from segments.clusters.embedded.realtime.completion.commit_file import CommitFile, ForeignLocation, finish_left
from segments.clusters.embedded.realtime.completion.commit_start import is_crowded, start_writes
from segments.clusters.embedded.realtime.completion.completion_actions import (
    built_of,
    commit_writes,
    is_same_content,
    lower_limit_writes,
    restart_replicas,
    stop_writes,
)
from segments.clusters.embedded.realtime.completion.completion_state import (
    Observed,
    awaited_replicas,
    current_machine,
    machine_writes,
    observe,
    remember,
)
from segments.clusters.embedded.realtime.completion.skipped_rows import SkippedRows
from segments.domain.realtime import completion
from segments.domain.realtime.commit.end import Built
from segments.domain.realtime.commit.plan import Commit
from segments.domain.realtime.commit.start import CommitStart
from segments.domain.realtime.completion import Action, Answer, Kind, Message, Status, Step, may_start
from segments.domain.realtime.llc_name import LLCName, parse_llc_name
from segments.domain.realtime.streams.stream_offset import parse_offset
from segments.domain.segments.store_address import recorded
from segments.errors import InvalidInput, PinotAdminError, Rejected, StateConflict, Unavailable
from segments.metrics.consumption import LOWERED_LIMITS
from segments.names import REALTIME, TableName
from segments.services.core.context import Context
from segments.services.engine.commits import FAILED, Received
from segments.services.segments.upload_files import temporary_path
from segments.services.tables.table_record import read_table_config
from segments.store.base import Write
from segments.store.update import update_transaction

log = logging.getLogger(__name__)

_INSTANCE: Final = re.compile(r"[^/\x00]{1,255}")


def answer(ctx: Context, received: Received) -> Answer:
    """As ``CommitEngine.answer``."""
    name = parse_llc_name(received.segment)
    if not _INSTANCE.fullmatch(received.instance):
        raise InvalidInput(f"'{received.instance}' is not an instance.", remedy="It looks like Server_host_8098.")
    conversation = _Conversation(ctx, received, name)
    try:
        return conversation.run()
    except Unavailable as error:
        log.warning("%s of %s by %s is not answered now: %s", received.kind.value, name, received.instance, error)
        return Answer(Status.NOT_LEADER)
    except ForeignLocation:
        raise
    except Rejected as error:
        if received.kind is not Kind.COMMIT_END and not isinstance(error, StateConflict):
            raise
        log.warning("%s of %s by %s is refused: %s", received.kind.value, name, received.instance, error)
        return FAILED
    except PinotAdminError as error:
        log.error("%s of %s by %s failed: %s", received.kind.value, name, received.instance, error)
        return FAILED


def upload(ctx: Context, segment: str, tar: Path, offset: str | None) -> Answer:
    """As ``CommitEngine.upload``."""
    try:
        name = parse_llc_name(segment)
        read_table_config(ctx, TableName(name.raw, REALTIME))
        path = temporary_path(ctx, name.raw, name.text)
        ctx.deep_store.put(tar, path)
    except (PinotAdminError, OSError) as error:
        log.warning("The file of segment %s was not taken in: %s", segment, error)
        return FAILED
    return Answer(Status.UPLOAD_SUCCESS, offset, location=recorded(path))


class _Conversation:
    """One message: ``_attempt`` decides from fresh reads, as often as others get in between."""

    def __init__(self, ctx: Context, received: Received, name: LLCName) -> None:
        self._ctx, self._received, self._name = ctx, received, name
        self._table = TableName(name.raw, REALTIME)
        self._step = Step(None, FAILED)
        self._attempts = 0
        self._refusal: Rejected | None = None
        self._file: CommitFile | None = None
        self._built: Built | None = None
        self._seen: Observed | None = None
        self._skipped = SkippedRows(ctx, self._table, name)

    def run(self) -> Answer:
        """The answer, with everything written that it rests on."""
        self._prepare()
        self._finish(update_transaction(self._ctx.store, self._attempt, turn=self._turn()).changed)
        if self._refusal is not None:
            log.warning(
                "%s of %s by %s failed: %s",
                self._received.kind.value,
                self._name,
                self._received.instance,
                self._refusal,
            )
            return FAILED
        found = self._step.answer
        return replace(found, controller=self._ctx.controller_url) if found.status is Status.COMMIT else found

    def _turn(self) -> str:
        """Starts and ends of commits all change the table's ideal state, other messages only their segment's round."""
        changes_table = self._received.kind in (Kind.COMMIT_START, Kind.COMMIT_END)
        return self._table.typed if changes_table else f"{self._table.typed}/{self._name}"

    def _prepare(self) -> None:
        """Check what a commit end brings before anything is decided."""
        received = self._received
        if received.kind is not Kind.COMMIT_END:
            return
        if received.info is None or received.offset is None:
            raise InvalidInput("A commit end needs metadata.properties, creation.meta and an offset.")
        self._built = built_of(self._name, received.offset, received.info, received.size_bytes)
        self._file = CommitFile(self._ctx, self._table, self._name.text, received.location, received.info.crc)

    def _attempt(self) -> Sequence[Write]:
        self._attempts += 1
        self._refusal = None
        seen, now_ms = observe(self._ctx, self._name, self._received.instance), self._ctx.clock()
        self._seen = seen
        message = self._message(seen)
        machine = current_machine(self._ctx, seen, message, now_ms)
        message = replace(
            message,
            awaited=awaited_replicas(self._ctx, seen, machine, message),
            is_crowded=may_start(machine, message) and is_crowded(self._ctx, seen),
        )
        self._step = completion.step(machine, message, now_ms)
        try:
            writes = self._writes(seen, machine)
            self._skipped.planned(writes)
            return writes
        except Rejected as error:
            self._refusal = error
            return machine_writes(seen, None)

    def _writes(self, seen: Observed, machine: completion.Machine) -> list[Write]:
        match self._step.action:
            case Action.COMMIT:
                writes = commit_writes(self._ctx, seen, self._commit(seen, machine), is_repeated=self._attempts > 1)
                if self._file is not None:
                    self._file.stage()
                return writes
            case Action.START:
                start = self._start(seen, machine)
                return start_writes(self._ctx, seen, start, self._step.machine, is_repeated=self._attempts > 1)
            case Action.STOP_REPLICA:
                return [
                    *stop_writes(self._ctx, seen, self._received.instance),
                    *machine_writes(seen, self._step.machine),
                ]
            case Action.LOWER_LIMIT:
                return lower_limit_writes(seen, self._received.rows)
            case Action.NOTHING:
                return machine_writes(seen, self._step.machine)

    def _message(self, seen: Observed) -> Message:
        received = self._received
        offset = parse_offset(seen.stream.type, received.offset) if received.offset is not None else None
        same = received.info is not None and is_same_content(seen, received.info)
        return Message(
            received.kind, received.instance, offset, received.reason, received.extra_s, seen.session, same,
            has_read_on=received.has_read_on,
        )  # fmt: skip

    def _commit(self, seen: Observed, machine: completion.Machine) -> Commit:
        assert self._built is not None  # only a commit end leads here
        assert self._file is not None
        return Commit(self._start(seen, machine), self._file.url, self._built)

    def _start(self, seen: Observed, machine: completion.Machine) -> CommitStart:
        received = self._received
        is_last = machine.is_end_of_partition
        has_rows = self._step.has_rows_behind
        # Rows that queries saw behind the end are not skipped (rule `never-backwards`).
        skips = None if is_last or has_rows else self._skipped.behind(seen, received.offset or "")
        return CommitStart(
            self._name, received.offset or "", received.rows, received.reason, is_last=is_last,
            has_rows_behind=has_rows, skips=skips,
        )  # fmt: skip

    def _finish(self, has_written: bool) -> None:
        """What follows the writes and may fail without harm."""
        table, done = self._table, self._step
        try:
            if self._refusal is not None:
                return
            if done.answer.status is Status.COMMIT_SUCCESS and self._file is not None:
                self._file.finish()
                log.info(
                    "Segment %s is committed by %s at %s.", self._name, self._received.instance, self._received.offset
                )
            elif done.answer.status is Status.KEEP and self._seen is not None and self._seen.metadata.download_url:
                finish_left(self._ctx, table, self._name.text, self._seen.metadata.crc)
            elif done.action is Action.LOWER_LIMIT and has_written:
                LOWERED_LIMITS.add(self._ctx.cluster, table.typed)
                restart_replicas(self._ctx, table, self._name.text)
            if has_written:
                self._skipped.done()
            if done.remember_ms is not None:
                remember(self._ctx, table, done.remember_ms)
        except (PinotAdminError, OSError) as error:
            log.warning(
                "After %s of %s by %s: %s", self._received.kind.value, self._name, self._received.instance, error
            )
