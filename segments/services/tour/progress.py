"""What a person has done of the tour: queries are marked when they are asked, all else is in the audit record."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import Q

from segments.models import AuditEvent, TourMark

QUERY: Final = "query"
_DISMISSED: Final = "dismissed"
#: Steps -> what the audit record shows of one that was done.
_RECORDED: Final[dict[str, Q]] = {
    "rollback": Q(action__in=("rollback", "revertReplaceSegments"))
    | Q(action="restoreSnapshot", detail__partOf__isnull=True),  # a deleted table that comes back is no rollback
    "undo": Q(action__in=("undoRollback", "restoreSwitch")),
    "pause": Q(action="pauseConsumption") & ~Q(reason=""),
    "resume": Q(action="resumeConsumption"),
    "replay": Q(action="replaySetAside"),
}
STEPS: Final = (QUERY, *_RECORDED)


def progress(user: Any) -> frozenset[str] | None:
    """The steps that the person has done; None when the tour is over: all were, or it was dismissed."""
    marks = set(TourMark.objects.filter(user=user).values_list("mark", flat=True))
    if _DISMISSED in marks or marks.issuperset(STEPS):
        return None
    found = {step for step in _RECORDED if step not in marks and _was_done(user, step)}
    for step in found:
        _mark(user, step)
    done = frozenset((marks | found) & set(STEPS))
    return None if done.issuperset(STEPS) else done


def has_queried(user: Any) -> None:
    """The person asked something in the console."""
    if not TourMark.objects.filter(user=user, mark__in=(QUERY, _DISMISSED)).exists():
        _mark(user, QUERY)


def dismiss(user: Any) -> None:
    """The person does not want the tour."""
    _mark(user, _DISMISSED)


def _was_done(user: Any, step: str) -> bool:
    return AuditEvent.objects.filter(_RECORDED[step], actor=user.get_username(), outcome="done").exists()


def _mark(user: Any, mark: str) -> None:
    TourMark.objects.bulk_create([TourMark(user=user, mark=mark)], ignore_conflicts=True)
