"""A session whose switch the table's checks refused: switch anyway with a reason, or have the checks decide
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.presenters.checks import entry_report, failures
from segments.domain.ingestion.session import IngestionSession
from segments.services.core.context import Actor
from segments.services.ingestion import sessions
from segments.services.ingestion.blocked_switch import finish_blocked


def _session(target: Target) -> IngestionSession | None:
    """The table's current session, if the page is about that one."""
    found = sessions.current(target.ctx, target.name)
    return found if found is not None and found.id == target.arguments["session"] else None


def _why_not(session: IngestionSession | None) -> str:
    if session is None:
        return "It is not the table's current session."
    if not session.is_open:
        return f"The session is over: {session.end_reason or session.state}."
    return "" if session.blocked and not session.task else "Only a session that is blocked by checks can be finished."


def _to_check(target: Target, plain: Operation) -> Operation:
    """What the checks found, or why there is nothing to decide."""
    session = _session(target)
    failed = failures(entry_report(target.ctx, target.name, session.entry_id)) if session is not None else []
    return replace(plain, lists=[("Failed checks", failed)], why_not=_why_not(session))


def _to_override(target: Target, plain: Operation) -> Operation:
    return replace(_to_check(target, plain), confirm=target.table.name)


def _check(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    finish_blocked(target.ctx, target.name, target.arguments["session"], "", actor)
    return Outcome("The checks run again.")


def _override(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    finish_blocked(target.ctx, target.name, target.arguments["session"], actor.reason, actor)
    return Outcome("Queries are being switched. The way back is to undo the session.")


#: The checks decide again: for when they, or the data that they compare with, were changed.
CHECK_AGAIN: Final = Operation(
    action="finishIngestionSession",
    title="Check again and switch",
    button="Check again",
    tab="ingestion",
    explain=[
        "The table's checks run again on the segments of this session, which queries do not see. No file is read.",
        "If none of them blocks now, queries switch to the session; else it stays blocked and nothing changes.",
    ],
    preview=_to_check,
    run=_check,
    back=back_to("ingestion_session", "session"),
)
#: The switch happens although checks failed; the reason is on record.
OVERRIDE: Final = replace(
    CHECK_AGAIN,
    title="Switch in spite of failed checks",
    button="Switch anyway",
    is_danger=True,
    explain=[
        "Queries switch to this session although the checks below refuse it.",
        "Your reason stays with the result of the checks and in the audit record. The way back is to undo the session.",
    ],
    preview=_to_override,
    run=_override,
    confirm_what="the table's name",
)
