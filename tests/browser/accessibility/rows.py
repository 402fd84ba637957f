"""A row of everything that people make, and what the addresses of pages have in their holes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from segments.models import (
    ApiToken,
    AuditEvent,
    Finding,
    FindingSnooze,
    Grant,
    KeptQuery,
    Push,
    SetAsideMessage,
    SignOnIdentity,
    Webhook,
)
from segments.services.upkeep.periodic_passes import DECLARED
from segments.services.upkeep.schedules import ensure_schedules
from tests.factories import CLUSTER, make_user


def make_rows() -> User:
    """A superuser, and a row of everything that people make."""
    root = make_user("root", is_staff=True, is_superuser=True)
    soon = timezone.now() + timedelta(days=1)
    ensure_schedules(DECLARED)
    Grant.objects.create(user=root, tables="*")
    Group.objects.create(name="people")
    CrontabSchedule.objects.create()
    SignOnIdentity.objects.create(user=root, issuer="https://sso.example", subject="4711")
    ApiToken.objects.create(owner=root, name="nightly", digest="0", scopes=["read"], expires_at=soon)
    FindingSnooze.objects.create(cluster=CLUSTER, table_name="t_OFFLINE", code="x", until=soon, actor="root")
    Webhook.objects.create(name="chat", url="https://chat.example/hook")
    KeptQuery.objects.create(owner=root, cluster=CLUSTER, name="rows", sql="SELECT 1 FROM t", kept_at=timezone.now())
    return root


def values_of(typed: str, segment: str) -> dict[str, Any]:
    """What stands in the holes of addresses."""
    push, finding = Push.objects.first(), Finding.objects.filter(table_name=typed).first()
    message = SetAsideMessage.objects.first()
    return {
        "typed": typed, "segment": segment, "entry_id": "entry-1", "number": message.pk if message else 1,
        "partition": 0, "session": "cp_1_0a0b0c0d", "push_id": push.pk if push else "",
        "finding": finding.pk if finding else 0, "instance": "Server_s_8098", "name": "prod",
        "event_id": AuditEvent.objects.all()[0].pk, "link": KeptQuery.objects.get().link,
        "hook": Webhook.objects.get().pk, "token": ApiToken.objects.get().pk,
        "schedule": PeriodicTask.objects.exclude(task__startswith="celery.")[0].pk,
    }  # fmt: skip


def client_of(person: User) -> Client:
    """Logged in."""
    client = Client()
    client.force_login(person)
    return client
