"""Snooze: nobody is notified for a while, everybody sees it, it holds over re-opening, and it can be lifted."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from segments.errors import InvalidInput, NotFound
from segments.models import AuditEvent, Finding, FindingSnooze
from segments.services.alerts.events import announce
from segments.services.core.context import Actor, Context
from segments.services.upkeep.snooze import LONGEST, lift, snooze, snoozed, snoozes_of
from tests.factories import make_finding
from tests.services.realtime_world import ANN, RealtimeWorld

pytestmark = pytest.mark.django_db


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    return RealtimeWorld(tmp_path).ctx


def test_nobody_is_notified_until_it_ends(ctx: Context) -> None:
    finding = make_finding()
    snooze(ctx, finding, timezone.now() + timedelta(hours=1), actor=ANN)
    assert announce(timezone.now(), by_mail=None) == 0
    FindingSnooze.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert announce(timezone.now(), by_mail=None) == 1


def test_it_holds_when_the_finding_closes_and_opens_again(ctx: Context) -> None:
    snooze(ctx, make_finding(), timezone.now() + timedelta(hours=1), actor=ANN)
    Finding.objects.update(closed_at=timezone.now())
    again, other = make_finding(), make_finding(subject="new_2")
    assert set(snoozes_of([again, other])) == {again.pk}
    assert list(snoozed(Finding.objects.filter(closed_at=None), are=True)) == [again]
    assert list(snoozed(Finding.objects.filter(closed_at=None), are=False)) == [other]


def test_it_is_on_record_and_a_new_one_replaces_it(ctx: Context) -> None:
    finding = make_finding()
    for hours in (1, 2):
        snooze(ctx, finding, timezone.now() + timedelta(hours=hours), actor=ANN)
    [held] = FindingSnooze.objects.all()
    assert (held.actor, held.reason) == ("ann", "because")
    assert held.until > timezone.now() + timedelta(minutes=90)
    event = AuditEvent.objects.filter(action="snoozeFinding").latest("id")
    assert (event.reason, event.detail["code"], event.detail["until"]) == (
        "because",
        finding.code,
        held.until.isoformat(),
    )


def test_it_is_lifted_once_on_record(ctx: Context) -> None:
    finding = make_finding()
    snooze(ctx, finding, timezone.now() + timedelta(hours=1), actor=ANN)
    lift(ctx, finding, actor=ANN)
    assert not snoozes_of([finding])
    assert announce(timezone.now(), by_mail=None) == 1
    with pytest.raises(NotFound):
        lift(ctx, finding, actor=ANN)
    assert [e.outcome for e in AuditEvent.objects.filter(action="liftSnooze").order_by("id")] == ["done", "refused"]


@pytest.mark.parametrize("wait", [timedelta(0), timedelta(seconds=-1), LONGEST + timedelta(minutes=1)])
def test_an_end_that_has_passed_or_is_far_away_is_refused(ctx: Context, wait: timedelta) -> None:
    with pytest.raises(InvalidInput, match="cannot end"):
        snooze(ctx, make_finding(), timezone.now() + wait, actor=ANN)


def test_it_needs_a_reason_and_an_open_finding(ctx: Context) -> None:
    until = timezone.now() + timedelta(hours=1)
    with pytest.raises(InvalidInput, match="needs a reason"):
        snooze(ctx, make_finding(), until, actor=Actor("ann", " "))
    with pytest.raises(InvalidInput, match="is closed"):
        snooze(ctx, make_finding(closed_at=timezone.now()), until, actor=ANN)
    assert not FindingSnooze.objects.exists()
