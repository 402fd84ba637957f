"""One id for what a person did: in log lines, with tasks, and to servers."""

from __future__ import annotations

import json
import logging
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from pinotadmin.celery import _task_begins
from pinotadmin.log_lines import JsonLines, settings
from segments.gateways.celery_queue import REQUEST_ID, CeleryQueue
from segments.request_ids import begin_for, current_request, request_of, request_of_its_own

ID = "0123456789abcdef0123456789abcdef"


def line(message: str, *arguments: object, error: bool = False) -> dict[str, Any]:
    found = logging.LogRecord(
        "a.b", logging.WARNING, __file__, 1, message, arguments, sys.exc_info() if error else None
    )
    text = JsonLines().format(found)
    assert "\n" not in text
    document: dict[str, Any] = json.loads(text)
    return document


def test_a_json_line_has_the_request_and_no_secret() -> None:
    with request_of(ID):
        found = line("first\nsecond of %s", "postgresql://ann:pass@host/db")
    assert (found["request_id"], found["level"], found["logger"]) == (ID, "WARNING", "a.b")
    assert found["message"] == "first\nsecond of postgresql://ann:*****@host/db"
    assert line("outside")["request_id"] == ""


def test_a_json_line_has_the_traceback_of_an_error() -> None:
    try:
        raise ValueError("redis://:pass@host/0")
    except ValueError:
        found = line("failed", error=True)
    assert found["error"].splitlines()[-1] == "ValueError: redis://:*****@host/0"


def test_the_form_of_lines_is_a_setting() -> None:
    assert settings("INFO", "json")["handlers"]["console"]["formatter"] == "json"


@pytest.mark.parametrize("given", [None, "", "short", ID + "0", "0123456789ABCDEF0123456789ABCDEF", "x\n" * 16])
def test_an_id_that_is_not_one_of_ours_is_replaced(given: str | None) -> None:
    with request_of(given) as request_id:
        assert request_id != given
        assert len(request_id) == 32
    begin_for(given)
    assert current_request() == ""


def test_a_task_is_done_for_the_request_that_queued_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: dict[str, Any] = {}
    monkeypatch.setattr(
        "segments.gateways.celery_queue.current_app.send_task", lambda name, **options: sent.update(options)
    )
    with request_of_its_own() as request_id:
        CeleryQueue().send("segments.tasks.run_push", "id")
    assert sent["headers"] == {REQUEST_ID: request_id}
    task = SimpleNamespace(request=SimpleNamespace(headers=None, get=sent["headers"].get), pool=None)
    _task_begins("t1", task, (), {})
    assert current_request() == request_id
    _task_begins("t2", SimpleNamespace(request=SimpleNamespace(headers={}, get={}.get), pool=None), (), {})
    assert current_request() == "", "the next task is none of this request"
