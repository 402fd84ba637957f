"""Generated requests over the whole OpenAPI document, and beyond what it says: odd names, mutated documents, raw bytes,
headers, forms.

``python -m pytest tests/security/test_campaign.py`` sends 2,000; ``make fuzz`` sends 20,000. The seed is printed and
chosen by FUZZ_SEED.
"""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import schemathesis
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from segments import wiring
from segments.models import Grant
from tests.api.cluster import ApiCluster, basic
from tests.security.odd_requests import KNOWN, known_bodies, odd_bodies, odd_headers, odd_values
from tests.services.realtime_world import RealtimeWorld

#: Seconds that an answer may take.
LONGEST_ANSWER_S: Final = 2.0
_CONFORMANCE: Final = (status_code_conformance, content_type_conformance, response_schema_conformance)
_REALTIME: Final = (
    "onsum",
    "forceCommit",
    "pauseStatus",
    "segmentCommit",
    "segmentStopped",
    "extendBuild",
    "segmentUpload",
    "segmentBuild",
    "Partitions",
)
_PASSWORD: Final = "a long enough secret"


@dataclass
class Findings:
    """What a campaign found: {operation and kind of fault: the first request that showed it}."""

    requests: int = 0
    faults: dict[str, str] = field(default_factory=dict)
    statuses: dict[int, int] = field(default_factory=dict)

    def add(self, label: str, kind: str, told: str) -> None:
        """One more; only the first of each kind per operation is kept."""
        self.faults.setdefault(f"{label}: {kind}", told)


class _Log(logging.Handler):
    """Keeps the last traceback that was logged."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.last = "".join(traceback.format_exception(*record.exc_info)[-6:])


class Campaign:
    """Requests to an installation in memory, as an administrator and as a user with rights on one table."""

    def __init__(self, folder: Path, first_seed: int) -> None:
        self.folder, self.first_seed = folder, first_seed
        self.findings = Findings()
        self.app = WSGIHandler()
        self._log = _Log()
        self._worlds = 0
        self._tar: Path | None = None

    def run(self, count: int, only: str = "") -> Findings:
        """Send about ``count`` requests, spread over all operations (or those whose label has ``only`` in it)."""
        logging.getLogger().addHandler(self._log)
        try:
            with self._world("") as world:
                document = json.loads(world.http.get("/api/schema/?format=json").content)
            schema = schemathesis.openapi.from_dict(document)
            schema.app = self.app
            operations = [found.ok() for found in schema.get_all_operations()]
            chosen = [o for o in operations if only in o.label]
            for index, operation in enumerate(chosen):
                with self._world(operation.label):
                    self._attack(operation, -(-count // len(chosen)), self.first_seed + index)
        finally:
            logging.getLogger().removeHandler(self._log)
        return self.findings

    @contextmanager
    def _world(self, label: str) -> Iterator[ApiCluster]:
        """A fresh cluster with a table and a segment; where consumption is requested, one that consumes."""
        self._worlds += 1
        folder = self.folder / str(self._worlds)
        folder.mkdir()
        made = ApiCluster(folder)
        made.as_user("operator")
        Grant.objects.get_or_create(
            user=User.objects.get(username="operator"), cluster="", tables="t", defaults={"right": "administer"}
        )
        if any(word in label for word in _REALTIME):
            world = RealtimeWorld(folder, partitions=2)
            with wiring.use(world.ctx, made.broker):
                yield made
            return
        with wiring.use(made.ctx, made.broker):
            made.create()
            self._tar = self._tar or made.build("a")
            assert made.post_tar(self._tar, "a").status_code == 200
            made.serve()
            yield made

    def _attack(self, operation: Any, count: int, number: int) -> None:
        bodies = st.one_of(known_bodies(operation.label), odd_bodies())

        @seed(number)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(), data=st.data())
        def attack(case: Case, data: st.DataObject) -> None:
            is_plain = _make_odd(case, data)
            more: dict[str, Any] = {}
            if case.method in ("POST", "PUT") and data.draw(st.booleans()):
                more["data"] = data.draw(bodies)
            headers = {"Authorization": basic(data.draw(st.sampled_from(["root", "root", "operator"])), _PASSWORD)}
            headers |= data.draw(odd_headers())
            self._send(case, headers, more, is_plain=is_plain)

        attack()

    def _send(self, case: Case, headers: dict[str, str], more: dict[str, Any], *, is_plain: bool) -> None:
        label, began = case.operation.label, _clock()
        self._log.last = ""
        told = f"{case.method} {case.formatted_path} {case.query} {headers} {more.get('data', case.body)!r}"[:1500]
        try:
            with _open_connection():
                answer = case.call(app=self.app, headers=headers, **more)
        except Exception as error:  # noqa: BLE001  # whatever comes out of the application is a finding
            self.findings.add(label, f"raised {type(error).__name__}", f"{told}\n{traceback.format_exc()[-1500:]}")
            return
        took = _clock() - began
        self.findings.requests += 1
        self.findings.statuses[answer.status_code] = self.findings.statuses.get(answer.status_code, 0) + 1
        if took > LONGEST_ANSWER_S:
            self.findings.add(label, "slow", f"{took:.1f} s: {told}")
        if answer.status_code == 400 and answer.headers.get("content-type", [""])[0].startswith("text/html"):
            is_plain = False
        # A probe that says 503 has done its work.
        is_probe = label == "GET /health/readiness"
        checks = [*(() if is_probe else (not_a_server_error,)), *(_CONFORMANCE if is_plain else ())]
        try:
            case.validate_response(answer, checks=checks)
        except FailureGroup as group:
            for failure in group.exceptions:
                what = f"{type(failure).__name__} {answer.status_code}"
                said = f"{str(failure)[:600]}\n{answer.content[:300]!r}\n{self._log.last}"
                self.findings.add(label, what, f"{told}\n{said}")


def _clock() -> float:
    """Seconds, without those in which this thread could have run but other programs had the processors."""
    waited_ns = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    return time.perf_counter() - waited_ns / 1e9


@contextmanager
def _open_connection() -> Iterator[None]:
    """As around Django's test client: the connection with the test's transaction is not closed after the request."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


def _make_odd(case: Case, data: st.DataObject) -> bool:
    """Names of things that are there, or odd ones, in path and query; False: the path may lead to another operation."""
    for name in list(case.path_parameters or {}):
        drawn = data.draw(st.one_of(st.sampled_from(KNOWN.get(name, ["t"])), odd_values()))
        case.path_parameters[name] = quote(drawn, safe="") if "?" in drawn or "#" in drawn else drawn
    declared = [p.definition["name"] for p in case.operation.query]
    for name in declared:
        if data.draw(st.integers(0, 3)):
            case.query[name] = data.draw(st.one_of(st.sampled_from(KNOWN.get(name, ["true"])), odd_values()))
    if not data.draw(st.integers(0, 9)):
        case.query[data.draw(st.sampled_from(["format", "reason", "type", "x"]))] = data.draw(odd_values())
    return not any("/" in str(v) or str(v) in (".", "..", "") for v in (case.path_parameters or {}).values())
