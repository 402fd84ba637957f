"""What changes sessions of file ingestion over REST: trigger, dry run, retry, cancel, clear, undo, read again."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar, Final

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import bool_param, text_param
from segments.api.ingestion.sessions import OfATable
from segments.api.permissions import Right
from segments.errors import InvalidInput, StateConflict
from segments.names import shown
from segments.services.ingestion import sessions, undo
from segments.services.ingestion.blocked_switch import finish_blocked
from segments.services.ingestion.forgetting import find_forgettable
from segments.services.ingestion.sessions import TriggerResult
from segments.services.schedules import task_start
from segments.services.schedules.reading_again import read_again

_NAMES: Final = {"to_read": "toRead", "rows_may_duplicate": "rowsMayDuplicate"}


class Trigger(OfATable):
    """Begin a session, or the next run of the one that is open."""

    answers = {"POST": {200: "object", 202: "object"}}
    rights: ClassVar[dict[str, Right]] = {"POST": "operate"}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"POST": ("force", "overrideStop")}

    def post(self, request: Request, table: str) -> Response:
        """202 with the session's id; 200 with ``sessionId`` null and ``why`` when there is nothing to do or a run is
        under way. ``force=true``: a swap is done although nothing changed. 409 while the table's task is stopped;
        ``overrideStop`` is the reason for which it starts anyway.
        """
        forced, override = bool_param(request, "force"), text_param(request, "overrideStop") or ""
        return _answer(task_start.start_now(self.ctx, self.table, self.actor, forced=forced, override_stop=override))


class Preview(OfATable):
    """What a trigger would do now."""

    rights: ClassVar[dict[str, Right]] = {"GET": "query"}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"GET": ("force",)}

    def get(self, request: Request, table: str) -> Response:
        """Files by what would happen to them, segments that would go; changes nothing."""
        found = asdict(sessions.preview(self.ctx, self.table, forced=bool_param(request, "force")))
        return Response({_NAMES.get(key, key): value for key, value in found.items()})


class ClearState(OfATable):
    """Remove the records of all sessions."""

    rights: ClassVar[dict[str, Right]] = {"POST": "operate"}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"POST": ("confirm",)}

    def post(self, request: Request, table: str) -> Response:
        """``confirm`` must be the table's name with its type. An open session is cancelled; what queries see stays."""
        if text_param(request, "confirm") != self.table.typed:
            raise InvalidInput(
                f"Clearing removes the records of all sessions of '{self.table}' and cannot be taken back.",
                remedy=f"Add confirm={self.table.typed}.",
                field="confirm",
            )
        return Response({"removed": sessions.clear_state(self.ctx, self.table, self.actor)})


class _OfASession(OfATable):
    """A change of one session."""

    rights: ClassVar[dict[str, Right]] = {"POST": "operate"}

    def require_current(self, session: str) -> None:
        """Raises StateConflict for a session that is not the table's current one."""
        found = sessions.current(self.ctx, self.table)
        if found is None or found.id != session:
            raise StateConflict(
                f"'{shown(session)}' is not the current session of table '{self.table}'.",
                remedy="Only the current session can be continued or cancelled.",
            )


class Retry(_OfASession):
    """Read failed files again."""

    answers = {"POST": {200: "object", 202: "object"}}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"POST": ("overrideStop",)}

    def post(self, request: Request, table: str, session: str) -> Response:
        """The next run of the session, without waiting for the schedule; answers as a trigger does, 409 included."""
        self.require_current(session)
        override = text_param(request, "overrideStop") or ""
        return _answer(task_start.retry_now(self.ctx, self.table, self.actor, override_stop=override))


class Cancel(_OfASession):
    """Give a session up."""

    def post(self, request: Request, table: str, session: str) -> Response:
        """Stop it and take back what it did. 409 while it switches."""
        self.require_current(session)
        found = sessions.cancel(self.ctx, self.table, self.actor)
        return Response({"id": found.id, "state": found.state.value, "endReason": str(found.end_reason)})


class Finish(_OfASession):
    """Finish a session whose switch the table's checks refused."""

    answers = {"POST": {202: "object"}}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"POST": ("overrideChecks",)}

    def post(self, request: Request, table: str, session: str) -> Response:
        """Try the switch again; with ``overrideChecks=<reason>`` failed checks do not stop it. 409 unless the session
        is blocked.
        """
        self.require_current(session)
        found = finish_blocked(self.ctx, self.table, session, text_param(request, "overrideChecks") or "", self.actor)
        return Response({"id": found.id, "state": found.state.value}, status=202)


class Undo(_OfASession):
    """Take a finished session back."""

    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"POST": ("dryRun",)}

    def post(self, request: Request, table: str, session: str) -> Response:
        """Roll its replacement back, or delete its segments where it replaced none; ``dryRun=true`` shows what would
        go and come back. 409 with the reason when it cannot be done.
        """
        if bool_param(request, "dryRun"):
            return _undone(undo.preview_undo(self.ctx, self.table, session))
        return _undone(undo.undo_session(self.ctx, self.table, session, actor=self.actor))


class ReadAgain(_OfASession):
    """Read the files of an undone session again."""

    answers = {"POST": {200: "object", 202: "object"}}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"POST": ("dryRun", "overrideStop")}

    def post(self, request: Request, table: str, session: str) -> Response:
        """Its files count as not ingested from then on, and a session begins: ``files`` names them, the rest is as of a
        trigger. ``dryRun=true`` only shows ``files`` and ``blockers``. 409 with the reason when they are not read again
        like this.
        """
        if bool_param(request, "dryRun"):
            found = find_forgettable(self.ctx, self.table, session)
            return Response({"files": list(found.files), "blockers": list(found.blockers)})
        override = text_param(request, "overrideStop") or ""
        files, result = read_again(self.ctx, self.table, session, self.actor, override_stop=override)
        return _answer(result, files=list(files))


def _answer(result: TriggerResult, **more: Any) -> Response:
    body: dict[str, Any] = {
        **more,
        "sessionId": result.session_id,
        "why": result.why,
        "isBusy": result.is_busy,
        "notes": list(result.notes),
    }
    return Response(body, status=202 if result.session_id else 200)


def _undone(found: undo.UndoPreview) -> Response:
    body = {"removed": list(found.removed), "restored": list(found.restored), "byRollback": found.by_rollback}
    return Response({**body, "blockers": list(found.blockers)})
