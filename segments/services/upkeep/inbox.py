"""What waits for somebody: findings that are open and not snoozed, how many there are, and who takes care of each."""

from __future__ import annotations

from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from segments.errors import InvalidInput
from segments.models import Finding
from segments.services.access.read_rights import readable_rows
from segments.services.access.rights import has_right
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.upkeep.snooze import snoozed

#: Counted exactly up to here.
COUNTED: Final = 99


def findings_for(user: Any, cluster: str) -> QuerySet[Finding, Finding]:
    """Findings of the cluster about tables that the person may read, open and closed."""
    return readable_rows(Finding.objects.filter(cluster=cluster), user, cluster="cluster", table="table_name")


def waiting(user: Any, cluster: str) -> int:
    """How many open findings that are not snoozed the person may read, at most ``COUNTED`` + 1. One query."""
    rows = snoozed(findings_for(user, cluster).filter(closed_at=None), are=False)
    return rows.order_by()[: COUNTED + 1].count()


def assign(ctx: Context, finding: Finding, person: str, *, actor: Actor) -> None:
    """Note who takes care of an open finding; an empty name: nobody does.

    InvalidInput: the finding is closed, or nobody of this name may read its table. The same for a name that does not
    exist, so that nobody learns which do.
    """
    detail = {"code": finding.code, "subject": finding.subject, "before": finding.assignee, "after": person}
    with audit.recorded(ctx, actor, "assignFinding", finding.table_name, **detail):
        if finding.closed_at is not None:
            raise InvalidInput(f"Finding {finding.pk} is closed.", remedy="There is nothing to take care of.")
        if person and not _reads(ctx, finding, person):
            raise InvalidInput(
                f"Nobody named '{person[:150]}' may read {finding.table_name or 'what it is about'}.",
                remedy="Give the name with which the person signs in.",
                field="person",
            )
        Finding.objects.filter(pk=finding.pk).update(assignee=person)


def _reads(ctx: Context, finding: Finding, person: str) -> bool:
    found = get_user_model().objects.filter(username=person, is_active=True).first()
    return found is not None and has_right(found, "read", ctx.cluster, finding.table_name or None)
