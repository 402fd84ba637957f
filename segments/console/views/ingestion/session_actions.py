"""Buttons of file ingestion: trigger, retry, cancel, clear state, undo a session, read its files again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django import forms
from django.template.defaultfilters import filesizeformat

from segments import models
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.domain.formats.plural import counted
from segments.domain.ingestion.session import IngestionSession
from segments.errors import PinotAdminError
from segments.services.core.context import Actor
from segments.services.ingestion import forgetting, sessions, undo
from segments.services.ingestion.sessions import Preview, TriggerResult
from segments.services.schedules.reading_again import read_again
from segments.services.schedules.task_start import retry_now, start_now, stopped_sentence

#: The box that lets one run start although the task is stopped.
_OVERRIDE: Final = "override_stop"
#: Files that a page lists.
_FILES: Final = 100
_CONTINUES: Final = (
    "This is the next trigger, only sooner: it goes on with files that the last run left, because the task limits its "
    "runs. It is no retry, and the schedule stays as it is."
)
#: What a preview's counts are called on a page.
_FATES: Final = {
    "read": ("is read", "are read"),
    "deferred": ("is left to the triggers after it", "are left to the triggers after it"),
    "kept": ("is ready from an earlier run and kept", "are ready from an earlier run and kept"),
    "dropped": ("left the folder", "left the folder"),
    "unchanged": ("was ingested before", "were ingested before"),
}


def _to_trigger(target: Target, plain: Operation) -> Operation:
    """What a session would do now."""
    try:
        found = sessions.preview(target.ctx, target.name)
        if_stopped = _if_stopped(target)
    except PinotAdminError as error:
        return replace(plain, why_not=str(error))
    nothing = not (found.files.get("read") or found.files.get("kept") or found.segments or found.vanished)
    return replace(
        plain,
        explain=[*plain.explain, *_sentences(found)],
        **if_stopped,
        lists=_lists(found),
        why_not=_nothing_to_do(target, found) if nothing else "",
        why_not_title="There is nothing to do." if nothing and not found.crossing else plain.why_not_title,
    )


def _nothing_to_do(target: Target, found: Preview) -> str:
    undone = models.IngestionSession.objects.filter(table=target.row, end_reason="UNDONE")
    hint = " The files of a session that was undone are read with Read its files again, on its page."
    return f"{found.what}{hint if undone.exists() else ''}"


def _sentences(found: Preview) -> list[str]:
    counts = [
        f"{number:,} {'file' if number == 1 else 'files'} {words[number != 1]}"
        for fate, words in _FATES.items()
        if (number := found.files.get(fate, 0))
    ]
    files = [f"As the folder is now: {', '.join(counts)}."] if counts else []
    if not found.segments:
        return files
    stay = sum(split.stay for split in found.splits)
    kept = f", of which {stay:,} stay in segments of their own" if found.splits else ""
    return [
        *files,
        f"The segments that it replaces have {counted(found.rows, 'row')}{kept}, in {filesizeformat(found.bytes)}.",
    ]


def _lists(found: Preview) -> Sequence[tuple[str, Sequence[str]]]:
    return [
        ("Files that are read", found.to_read),
        ("Changed files whose earlier rows stay, too, so that rows may be there twice", found.rows_may_duplicate),
        ("Ingested files that left the folder", found.vanished),
        ("Segments that queries no longer see afterwards", found.segments),
        ("Segments at the edge of the replaced part", found.crossing),
        (
            "Segments that are split at the edge of the replaced part",
            [f"{s.segment}: {s.stay:,} of {s.rows:,} rows stay" for s in found.splits],
        ),
    ]


def _begun(target: Target, result: TriggerResult) -> Outcome:
    if result.session_id is None:
        return Outcome(f"No session was begun: {result.why}")
    page = target.address("ingestion_session", result.session_id)
    return Outcome("The files are being read now.", page, "Watch the session")


def _trigger(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    return _begun(target, start_now(target.ctx, target.name, actor, override_stop=_override(values, actor)))


def _retry(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    return _begun(target, retry_now(target.ctx, target.name, actor, override_stop=_override(values, actor)))


def _if_stopped(target: Target) -> dict[str, Any]:
    """Warning and field of a page whose button begins a run: both empty unless the table's task is stopped."""
    stopped = stopped_sentence(target.ctx, target.name)
    return {
        "warnings": [f"{stopped} Schedules are held back until it is resumed."] if stopped else [],
        "fields": {_OVERRIDE: _override_field()} if stopped else {},
    }


def _override_field() -> forms.BooleanField:
    return forms.BooleanField(
        label="Start this one run anyway",
        error_messages={"required": "It is stopped: tick this to start this one run anyway, or resume it first."},
    )


def _override(values: Mapping[str, Any], actor: Actor) -> str:
    """The reason for which a stop is passed over: the one that was typed, where the box is ticked."""
    return actor.reason if values.get(_OVERRIDE) else ""


def _to_change_open(target: Target, plain: Operation) -> Operation:
    """Only the session that is open can be continued or cancelled."""
    return replace(plain, why_not=_not_open(target, sessions.current(target.ctx, target.name)))


def _not_open(target: Target, session: IngestionSession | None) -> str:
    if session is None or session.id != target.arguments["session"]:
        return "It is not the table's current session."
    return "" if session.is_open else f"The session is over: {session.end_reason or session.state}."


def _to_retry(target: Target, plain: Operation) -> Operation:
    """What the retry would read, or why there is none."""
    session = sessions.current(target.ctx, target.name)
    if why_not := _not_open(target, session):
        return replace(plain, why_not=why_not)
    counts = session.counts if session is not None else None
    if counts is not None and counts.deferred and not (counts.failed or counts.pending):
        plain = replace(plain, title="Continue the session now", button="Continue now", explain=[_CONTINUES])
    return _to_trigger(target, plain)


def _cancel(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    sessions.cancel(target.ctx, target.name, actor)
    return Outcome("The session is cancelled; nothing of it became visible.")


def _to_clear(target: Target, plain: Operation) -> Operation:
    """Which sessions go."""
    kept = sessions.history(target.ctx, target.name)
    goes = [
        f"{session.id}: {session.end_reason or session.state}, {counted(session.counts.total, 'file')}"
        for session in kept
    ]
    return replace(
        plain,
        lists=[("Sessions that are removed", goes)],
        confirm=target.table.name,
        why_not="" if kept else "No session of this table is on record.",
    )


def _clear(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    removed = sessions.clear_state(target.ctx, target.name, actor)
    return Outcome(f"{len(removed)} session{'' if len(removed) == 1 else 's'} removed.")


def _to_undo(target: Target, plain: Operation) -> Operation:
    """What queries see no longer, and what comes back."""
    try:
        found = undo.preview_undo(target.ctx, target.name, target.arguments["session"])
    except PinotAdminError as error:
        return replace(plain, why_not=str(error))
    return replace(
        plain,
        lists=[("Segments that leave the table", found.removed), ("Segments that come back", found.restored)],
        why_not=" ".join(found.blockers),
        confirm=target.table.name,
    )


def _undo(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    undo.undo_session(target.ctx, target.name, target.arguments["session"], actor=actor)
    return Outcome(
        "The session is undone: queries do not see its rows any more.", target.address("deleted"), "Its files are kept"
    )


def _to_read_again(target: Target, plain: Operation) -> Operation:
    """Which files are read again."""
    try:
        found = forgetting.find_forgettable(target.ctx, target.name, target.arguments["session"])
        if_stopped = _if_stopped(target)
    except PinotAdminError as error:
        return replace(plain, why_not=str(error))
    return replace(
        plain,
        **if_stopped,
        lists=[("Files that are read again", found.files[:_FILES])],
        why_not=" ".join(found.blockers),
        confirm=target.table.name,
    )


def _read_again(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    override = _override(values, actor)
    session = target.arguments["session"]
    return _begun(target, read_again(target.ctx, target.name, session, actor, override_stop=override)[1])


TRIGGER: Final = Operation(
    action="triggerIngestionSession",
    title="Trigger a session now",
    button="Trigger now",
    tab="ingestion",
    explain=[
        "The folder is listed, and what is to be read is built into hidden segments; queries see all of it at once, at "
        "the end. It can be cancelled until then, and undone afterwards.",
    ],
    preview=_to_trigger,
    run=_trigger,
    back=back_to("ingestion"),
)
RETRY: Final = Operation(
    action="retryIngestionSession",
    title="Retry failed files now",
    button="Retry now",
    tab="ingestion",
    explain=["This is the next trigger, only sooner: it counts as a retry, and the schedule stays as it is."],
    preview=_to_retry,
    run=_retry,
    back=back_to("ingestion_session", "session"),
)
CANCEL: Final = Operation(
    action="cancelIngestionSession",
    title="Cancel the session",
    button="Cancel the session",
    tab="ingestion",
    is_danger=True,
    explain=[
        "Its run stops, and all that it built is deleted. Queries see what they see now.",
        "The next trigger begins a new session with all files that are not in the table.",
    ],
    preview=_to_change_open,
    run=_cancel,
    back=back_to("ingestion_session", "session"),
)
CLEAR: Final = Operation(
    action="clearIngestionSessions",
    title="Clear the state of file ingestion",
    button="Clear the state",
    tab="ingestion",
    is_danger=True,
    explain=[
        "The open session, if there is one, is cancelled: all that it built is deleted.",
        "The records of all sessions are removed; the page goes on showing them as history, without their buttons.",
        "Rows that queries see stay, and their files still count as ingested. This cannot be taken back.",
    ],
    preview=_to_clear,
    run=_clear,
    back=back_to("ingestion"),
    confirm_what="the table's name",
)
UNDO: Final = Operation(
    action="undoIngestionSession",
    title="Undo the session",
    button="Undo the session",
    symbol="undo",
    tab="ingestion",
    is_danger=True,
    explain=[
        "Queries see what they saw before this session; its segments leave the table, and their files are kept for the "
        "table's retention.",
        "In append mode its input files still count as ingested: each is read again when it changes, or all of them by "
        "Read its files again.",
        "A table in sync or swap mode reads the folder again at the next trigger: fix the folder first, or switch "
        "file ingestion off.",
    ],
    preview=_to_undo,
    run=_undo,
    back=back_to("ingestion_session", "session"),
    confirm_what="the table's name",
)
READ_AGAIN: Final = Operation(
    action="readAgain",
    title="Read the files of this session again",
    button="Read them again",
    tab="ingestion",
    explain=[
        "Its files count as not ingested from then on, and a session begins that reads them as they are now, and what "
        "else is new in the folder.",
    ],
    preview=_to_read_again,
    run=_read_again,
    back=back_to("ingestion_session", "session"),
    confirm_what="the table's name",
)
