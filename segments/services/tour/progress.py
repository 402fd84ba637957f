"""What a person has done of the tour: queries are marked when they are asked, all else is in the audit record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db.models import Q, QuerySet

from segments.models import AuditEvent, SetAsideMessage, TourMark
from segments.services.core.page_addresses import default_cluster

QUERY: Final = "query"
_DISMISSED: Final = "dismissed"
_UNDO: Final = "undo"
#: Returns to snapshots among which one that was undone is sought.
_MOST_RETURNS: Final = 200
#: Steps -> what the audit record shows of one that was done.
_RECORDED: Final[dict[str, Q]] = {
    "rollback": Q(action__in=("rollback", "revertReplaceSegments"))
    | Q(action="restoreSnapshot", detail__partOf__isnull=True),  # a deleted table that comes back is no rollback
    _UNDO: Q(action__in=("undoRollback", "restoreSwitch")),
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


def with_messages(tables: Sequence[str]) -> list[str]:
    """Those of the installation's own tables (typed names) of which messages wait to be replayed."""
    waiting = SetAsideMessage.objects.filter(cluster=default_cluster(), table_name__in=tables, replay=None)
    return sorted(waiting.order_by().values_list("table_name", flat=True).distinct())


def has_queried(user: Any) -> None:
    """The person asked something in the console."""
    if not TourMark.objects.filter(user=user, mark__in=(QUERY, _DISMISSED)).exists():
        _mark(user, QUERY)


def dismiss(user: Any) -> None:
    """The person does not want the tour."""
    _mark(user, _DISMISSED)


def _was_done(user: Any, step: str) -> bool:
    done = AuditEvent.objects.filter(actor=user.get_username(), outcome="done")
    return done.filter(_RECORDED[step]).exists() or (step == _UNDO and _came_back(done))


def _came_back(done: QuerySet[AuditEvent]) -> bool:
    """Did the person go to a snapshot that they had left for another? That is the *Undo* of *Go back to this*."""
    left = set()
    returns = done.filter(action="restoreSnapshot").order_by("pk").values_list("target", "detail")
    for table, detail in returns[:_MOST_RETURNS]:
        if (table, detail.get("snapshot")) in left:
            return True
        left.add((table, detail.get("from")))
    return False


def _mark(user: Any, mark: str) -> None:
    TourMark.objects.bulk_create([TourMark(user=user, mark=mark)], ignore_conflicts=True)
