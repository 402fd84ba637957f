"""Every list and every form of the admin with U+0000, with texts of any length and with nonsense, in each of their
fields, filters and addresses: shown again with what is wrong, or refused; never a fault of ours.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Group
from django.test import Client
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from segments.models import FindingSnooze, Grant
from tests.console.conftest import logged_in
from tests.factories import (
    make_entry,
    make_event,
    make_files,
    make_finding,
    make_push,
    make_push_segment,
    make_run,
    make_segments,
    make_session,
    make_table,
    make_user,
)

LONG: Final = "x" * 5000
NONSENSE: Final = ("\U0001f600" * 300, "-1", "9" * 400, "%", "\\", "'", "1,2", "nan", "__", "9999-99-99")
#: What is refused before a form is looked at.
NUL: Final = "a\0b"


@pytest.fixture
def root(world: Any, db: None) -> Client:
    """A superuser, with one row of nearly everything there; a fault is answered as in a web process."""
    table = make_table()
    make_segments(table, "s")
    make_entry(table)
    make_push_segment(make_push())
    make_event()
    make_finding()
    make_run()
    make_files(make_session(table), "PUBLISHED", "file:///a")
    group = Group.objects.create(name="readers")
    Grant.objects.create(group=group, cluster="*", tables="sales_*", right="operate")
    every = IntervalSchedule.objects.create(every=5, period="minutes")
    CrontabSchedule.objects.get_or_create(minute="5")
    PeriodicTask.objects.get_or_create(name="mine", task="segments.tasks.run_pass", defaults={"interval": every})
    make_user("ann")
    client = logged_in("root", is_superuser=True)
    client.raise_request_exception = False
    return client


def pages() -> list[str]:
    """The list of every model that the admin has."""
    import_module(settings.ROOT_URLCONF)  # which loads them
    return sorted(f"/admin/{m._meta.app_label}/{m._meta.model_name}/" for m in admin.site._registry)


def _fields(page: str) -> dict[str, str]:
    """Names of what a form sends, with what stands in it."""
    form = max(re.findall(r"<form.*?</form>", page, re.S), key=len)
    found = dict.fromkeys(re.findall(r'<(?:select|textarea)[^>]* name="([^"]+)"', form), "")
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = (re.search(rf' {key}="([^"]*)"', tag) for key in ("name", "value"))
        if name is not None and 'type="submit"' not in tag:
            found[name[1]] = value[1] if value is not None else ""
    return {name: text for name, text in found.items() if not name.startswith("_")}


def _filters(address: str) -> list[str]:
    """Parameters that the list takes, and some that it does not."""
    app, model = address.strip("/").split("/")[1:]
    shown = admin.site._registry[apps.get_model(app, model)]
    named = [one if isinstance(one, str) else getattr(one, "parameter_name", None) for one in shown.list_filter]
    given = [f"{name}__exact" for name in named if name] + [str(name) for name in named if name]
    return ["q", "o", "p", "all", "_changelist_filters", "no_such_field", "pk", "id__in", *given]


@pytest.mark.parametrize("address", pages())
def test_a_list_takes_or_refuses_any_search_filter_and_number(root: Client, address: str) -> None:
    for parameter in _filters(address):
        for text in (NUL, LONG, *NONSENSE):
            answer = root.get(f"{address}?{urlencode({parameter: text})}")
            assert answer.status_code in ((400,) if text == NUL else (200, 302, 400, 404)), (parameter, text[:20])
    for key in (LONG, *NONSENSE):
        answer = root.get(f"{address}{urlencode({'': key})[1:]}/change/")
        assert answer.status_code in (200, 302, 404), key[:20]


@pytest.mark.parametrize("address", pages())
def test_a_form_takes_or_refuses_any_text_in_each_of_its_fields(root: Client, address: str) -> None:
    app, model = address.strip("/").split("/")[1:]
    row = apps.get_model(app, model).objects.order_by("pk").last()
    for form in [f"{address}add/", *([f"{address}{row.pk}/change/"] if row is not None else [])]:
        page = root.get(form)
        assert page.status_code in (200, 403), form
        fields = _fields(page.content.decode()) if page.status_code == 200 else {"name": "a"}
        for name in fields:
            for text in (NUL, LONG, *NONSENSE):
                answer = root.post(form, {**fields, name: text})
                wanted = (400,) if text == NUL else (200, 302, 400, 403)
                assert answer.status_code in wanted, (form, name, text[:20], answer.content[-500:])


def test_the_forms_that_write_are_among_them(root: Client) -> None:
    written = [address for address in pages() if root.get(f"{address}add/").status_code == 200]
    assert {"/admin/auth/group/", "/admin/auth/user/", "/admin/segments/grant/"} <= set(written)
    fields = _fields(root.get("/admin/segments/grant/add/").content.decode())
    assert {"user", "group", "cluster", "tables", "right"} <= set(fields)
    assert FindingSnooze._meta.model in admin.site._registry
