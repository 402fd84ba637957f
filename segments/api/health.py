"""Is this process alive, and are the parts it needs there? The only addresses open to strangers."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from typing import Any, Final

from django.db import connection
from django.http import HttpResponse
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from segments import wiring
from segments.api.base import ApiView
from segments.store import paths

#: Seconds after which a part that does not answer counts as down.
_PATIENCE_S: Final = 2.0


class Health(ApiView):
    """Is the process up?"""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> HttpResponse:
        """OK as plain text."""
        return HttpResponse("OK", content_type="text/plain")


class Readiness(ApiView):
    """Can requests be served?"""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> Response:
        """200, or 503 when ZooKeeper, the database or Redis does not answer; each part with its time in ms."""
        parts = _ask({"zookeeper": _ask_zookeeper, "database": _ask_database, "redis": wiring.ping_redis})
        is_ready = all(part["ok"] for part in parts.values())
        return Response({"ready": is_ready, "parts": parts}, status=200 if is_ready else 503)


def _ask(checks: dict[str, Callable[[], object]]) -> dict[str, dict[str, Any]]:
    """All checks at once, so that one dead part costs its own patience only."""
    pool = ThreadPoolExecutor(len(checks), thread_name_prefix="readiness")
    try:
        running = {name: pool.submit(_timed, check) for name, check in checks.items()}
        answers = {}
        for name, future in running.items():
            try:
                answers[name] = future.result(_PATIENCE_S)
            except Late:
                answers[name] = {"ok": False, "ms": round(_PATIENCE_S * 1000)}
        return answers
    finally:
        pool.shutdown(wait=False)


def _timed(check: Callable[[], object]) -> dict[str, Any]:
    """Strangers see whether and how fast, not why not: the reason is in the log of the part."""
    started = time.monotonic()
    try:
        check()
        ok = True
    except Exception:  # noqa: BLE001  whatever it is, the part does not answer
        ok = False
    return {"ok": ok, "ms": round((time.monotonic() - started) * 1000, 1)}


def _ask_zookeeper() -> None:
    wiring.store().exists(paths.IDEAL_STATES)


def _ask_database() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        connection.close()  # this thread's own
