"""Snooze a finding: nobody is notified of it for a while; it stays where it is seen, with who wanted that and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from segments.errors import InvalidInput, NotFound
from segments.models import Finding, FindingSnooze
from segments.services.core import audit
from segments.services.core.context import Actor, Context

#: Longer than this nobody remembers why.
LONGEST: Final = timedelta(days=90)
_LONGEST_REASON: Final = 2_000

Key = tuple[str, str, str, str]


def snooze(ctx: Context, finding: Finding, until: datetime, *, actor: Actor) -> FindingSnooze:
    """No notices of the finding before ``until`` (aware); a new one replaces the one that holds.

    InvalidInput: no reason, an end that has passed or is more than 90 days away, a finding that is closed.
    """
    with audit.recorded(ctx, actor, "snoozeFinding", finding.table_name, **_named(finding)) as detail:
        _check(finding, until, actor)
        where = dict(zip(_KEYS, _key(finding), strict=True))
        with transaction.atomic():
            FindingSnooze.objects.filter(**where).delete()
            row = FindingSnooze.objects.create(**where, until=until, actor=actor.name, reason=actor.reason.strip())
        detail["until"] = until.isoformat()
    return row


def lift(ctx: Context, finding: Finding, *, actor: Actor) -> None:
    """End the snooze of a finding now. NotFound: it has none."""
    with audit.recorded(ctx, actor, "liftSnooze", finding.table_name, **_named(finding)):
        where = dict(zip(_KEYS, _key(finding), strict=True))
        count, _ = FindingSnooze.objects.filter(**where, until__gt=timezone.now()).delete()
        if not count:
            raise NotFound(f"Finding {finding.pk} is not snoozed.", remedy="It may have ended meanwhile.")


def snoozes_of(findings: Iterable[Finding]) -> Mapping[int, FindingSnooze]:
    """{finding's id: the snooze that holds now}. One query."""
    listed = list(findings)
    if not listed:
        return {}
    rows = FindingSnooze.objects.filter(
        until__gt=timezone.now(), cluster__in={f.cluster for f in listed}, table_name__in={f.table_name for f in listed}
    )
    by_key = {(r.cluster, r.table_name, r.code, r.subject): r for r in rows}
    return {f.pk: by_key[_key(f)] for f in listed if _key(f) in by_key}


def snoozed(findings: QuerySet[Finding], *, are: bool) -> QuerySet[Finding]:
    """Those of the findings that are snoozed now, or those that are not."""
    holds = FindingSnooze.objects.filter(until__gt=timezone.now(), **{key: OuterRef(key) for key in _KEYS})
    return findings.filter(Exists(holds) if are else ~Exists(holds))


_KEYS: Final = ("cluster", "table_name", "code", "subject")


def _key(finding: Finding) -> Key:
    return finding.cluster, finding.table_name, finding.code, finding.subject


def _named(finding: Finding) -> dict[str, str]:
    return {"code": finding.code, "subject": finding.subject}


def _check(finding: Finding, until: datetime, actor: Actor) -> None:
    if not actor.reason.strip():
        raise InvalidInput("A snooze needs a reason.", remedy="Give it as 'reason' or in the header X-Reason.")
    if len(actor.reason) > _LONGEST_REASON:
        raise InvalidInput(f"The reason has more than {_LONGEST_REASON:,} characters.", remedy="Shorten it.")
    if finding.closed_at is not None:
        raise InvalidInput(f"Finding {finding.pk} is closed.", remedy="There is nothing to snooze.")
    if not timezone.now() < until <= timezone.now() + LONGEST:
        raise InvalidInput(
            f"A snooze cannot end at {until.isoformat(timespec='minutes')}.",
            remedy=f"Choose an end within the next {LONGEST.days} days.",
            field="until",
        )
