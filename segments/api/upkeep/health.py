"""Is this process alive, and are the parts it needs there? The first two are the only addresses open to strangers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from segments import wiring
from segments.api.base import ApiView
from segments.models import Cluster
from segments.store import paths

#: Seconds after which a part that does not answer counts as down.
_PATIENCE_S: Final = 2.0
#: The database answered this process once.
_answered: Final = threading.Event()


class Health(ApiView):
    """Is the process up?"""

    answers = {"GET": {200: "text"}}

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> HttpResponse:
        """OK as plain text."""
        return HttpResponse("OK", content_type="text/plain")


class Readiness(ApiView):
    """Can requests be served?"""

    answers = {"GET": {200: "object", 503: "object"}}

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> Response:
        """200, or 503 when queries cannot be answered; each part with its time in ms.

        Without Redis only what workers do waits. Without the database people who are known go on querying, so it counts
        until it answered this process for the first time.
        """
        parts = _ask({"zookeeper": _ask_zookeeper, "database": _ask_database, "redis": wiring.ping_redis})
        if parts["database"]["ok"]:
            _answered.set()
        is_ready = bool(parts["zookeeper"]["ok"]) and _answered.is_set()
        return Response({"ready": is_ready, "parts": parts}, status=200 if is_ready else 503)


class ClustersHealth(ApiView):
    """Are the clusters there that this installation drives?"""

    def get(self, request: Request) -> Response:
        """State of each Pinot, since when, why not, and the age of what is shown of it. 200 also when one is down."""
        now = timezone.now()
        found = [_cluster(row, now) for row in Cluster.objects.filter(kind=Cluster.Kind.PINOT)]
        return Response({"ok": all(c["ok"] for c in found), "clusters": found})


class WorkersHealth(ApiView):
    """Do the workers do their work?"""

    def get(self, request: Request) -> Response:
        """Each pool with what is wrong with it and what it is at, in seconds. 200 also when one does not work."""
        states = wiring.worker_states()
        now_ms = wiring.clock_ms()
        return Response({"ok": all(s.ok for s in states), "workers": [s.to_json(now_ms) for s in states]})


def _cluster(row: Cluster, now: datetime) -> dict[str, Any]:
    age = None if row.mirrored_at is None else round((now - row.mirrored_at).total_seconds(), 1)
    since = row.state_since.isoformat() if row.state_since else None
    return {
        "name": row.name,
        "ok": not row.is_trouble,
        "state": row.state,
        "since": since,
        "error": row.last_error or row.mirror_error,
        "version": row.version,
        "mirrorAgeSeconds": age,
    }


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
