"""``manage.py push SPEC.yaml``: start a push from Pinot's ingestion job specification and follow it to its end."""

from __future__ import annotations

import argparse
import getpass
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from segments.domain.formats.plural import counted
from segments.errors import PinotAdminError
from segments.gateways.tls.trust import Trust
from segments.request_ids import request_of_its_own

_POLL_S = 0.1
#: Seconds for which a web process that does not answer is asked again: `up` restarts it well within.
_PATIENCE_S = 60.0
_FINISHED = ("DONE", "FAILED", "CANCELLED", "BLOCKED")


class Command(BaseCommand):
    """Exit status 0 when the new snapshot is queryable, 1 when the push failed, was refused, or is blocked by the
    table's checks.

    With a running ``up`` it talks to that one's REST API; otherwise to the parts that the environment names.
    """

    help = "Push the files that an ingestion job specification names."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The specification's file, the reason, the running ``up``, and whether to wait."""
        parser.add_argument("spec", help="Ingestion job specification, YAML or JSON")
        parser.add_argument("--reason", default="", help="Why; goes into the audit record")
        parser.add_argument(
            "--override-checks", default="", metavar="REASON", help="Switch also when the table's checks fail"
        )
        parser.add_argument(
            "--overwrite", action="store_true", help="Replace segments of the same names; what is replaced is kept"
        )
        parser.add_argument(
            "--data-dir", type=Path, default=Path(settings.DATA_DIR), help="Data directory of the running 'up'"
        )
        parser.add_argument(
            "--wait", action=argparse.BooleanOptionalAction, default=True, help="Follow the push to its end"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Start it, and follow it."""
        try:
            text = Path(options["spec"]).read_text(encoding="utf-8")
            endpoints = options["data_dir"] / "endpoints.json"
            remote = _Remote(json.loads(endpoints.read_text())) if endpoints.is_file() else None
        except (OSError, ValueError) as error:
            raise CommandError(f"'{options['spec']}' cannot be read: {error}.") from error
        try:
            given = text, options["reason"], options["override_checks"], options["overwrite"]
            read_state = remote.start(*given) if remote else _start_here(*given)
            push = read_state()
            self.stdout.write(f"Push {push['id']} of {push['tableName']}: {counted(push['filesTotal'], 'file')}.")
            if options["wait"] and (push := follow(read_state, self.stdout.write))["state"] != "DONE":
                raise CommandError(f"The push is {push['state']}: {push['error']}")
        except (PinotAdminError, httpx.HTTPError) as error:
            raise CommandError(str(error)) from error


class _Remote:
    """The REST API of a running ``up``."""

    def __init__(self, endpoints: dict[str, Any]) -> None:
        authorities = endpoints.get("authorities", "")
        self.http = httpx.Client(
            base_url=endpoints["controller"],
            headers={"Authorization": endpoints["authorization"]},
            timeout=30,
            verify=Trust(authorities).context if authorities else True,
        )
        self.patience_s = _PATIENCE_S

    def start(
        self, text: str, reason: str, override: str = "", overwrite: bool = False
    ) -> Callable[[], dict[str, Any]]:
        """Create the push; returns a function that reads its state."""
        body = json.dumps({"spec": text, "reason": reason, "overrideChecks": override, "overwrite": overwrite})
        made = self._call("POST", "/api/v1/pushes", content=body, headers={"Content-Type": "application/json"})
        return lambda: self._read(f"/api/v1/pushes/{made['id']}")

    def _read(self, path: str) -> dict[str, Any]:
        """GET; the push goes on without the web process, so a web process that is restarted is waited for."""
        deadline = time.monotonic() + self.patience_s
        while True:
            try:
                return self._call("GET", path)
            except httpx.TransportError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_S)

    def _call(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        response = self.http.request(method, path, **more)
        try:
            body: dict[str, Any] = response.json()
        except ValueError:
            body = {"error": response.text[:300]}
        if response.is_error:
            raise CommandError(str(body.get("error")))
        return body


def _start_here(text: str, reason: str, override: str = "", overwrite: bool = False) -> Callable[[], dict[str, Any]]:
    from segments import wiring  # heavy, and not needed next to a running `up`
    from segments.services.core.context import Actor
    from segments.services.jobs.queue import enqueue_push
    from segments.services.push.pushes import create_push

    actor = Actor(getpass.getuser(), reason)
    ctx = wiring.context()
    with request_of_its_own():
        push = create_push(ctx, text, actor, roots=wiring.input_roots(), override_checks=override, overwrite=overwrite)
        enqueue_push(ctx, str(push.pk))
    return lambda: stored(push)


def stored(push: Any) -> dict[str, Any]:
    """A push of our own database as the REST API shows it, as it is now."""
    from segments.services.push.push_document import push_document  # see _start_here

    push.refresh_from_db()
    return push_document(push)


def follow(read_state: Callable[[], dict[str, Any]], say: Callable[[str], Any]) -> dict[str, Any]:
    """Say how far a push is whenever that changes, until it is finished; returns it as it is then."""
    last, began = "", time.monotonic()
    while True:
        push = read_state()
        line = progress_line(push, time.monotonic() - began)
        if line != last:
            say(line)
            last = line
        if push["state"] in _FINISHED:
            return push
        time.sleep(_POLL_S)


def progress_line(push: dict[str, Any], seconds: float) -> str:
    """One line: state, stage and figures."""
    figures = (
        f"{push['filesDone']}/{push['filesTotal']} files, {push['segmentsBuilt']}/{push['segmentsTotal']} "
        "segments built, "
        f"{push['segmentsUploaded']} registered, {counted(push['rows'], 'row')}, {counted(push['bytes'], 'byte')}"
    )
    if push["state"] == "DONE":
        return f"  done after {seconds:.1f} s: {figures}"
    return f"  {push['stage'] if push['state'] == 'RUNNING' else push['state']}: {figures}"
