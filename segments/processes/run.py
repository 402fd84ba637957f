"""Runs a whole cluster in the foreground: what ``manage.py up`` does."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from segments.processes.child import ChildSpec
from segments.processes.endpoints import FILE_NAME, EndpointsFile
from segments.processes.lock import DataDirectoryLock, wait_until_unlocked
from segments.processes.logs import Terminal
from segments.processes.machine.credentials import ADMIN_USER, Credentials, load_credentials
from segments.processes.machine.database_file import DatabaseFile
from segments.processes.machine.java import find_java
from segments.processes.machine.ports import Wanted, choose_ports
from segments.processes.machine.private_folder import make_private
from segments.processes.plan import METRICS_FOLDER, Options, Plan, Planner
from segments.processes.roles.joining import check_secrets_to_join
from segments.processes.roles.shared_port import SharedPort
from segments.processes.supervisor import Callbacks, Supervisor

#: Seconds that the guardian of a killed run may take to end what that run left.
_GUARDIAN_WAIT_S = 40.0


@dataclass(frozen=True)
class Request:
    """What the person typed; ``port`` None: the remembered one or 9000. ``web_processes`` share it."""

    options: Options
    port: int | None
    servers: int
    web_processes: int = 1


def run_cluster(request: Request, environ: Mapping[str, str]) -> int:
    """Start, supervise, stop; returns the exit status. Raises PinotAdminError when it cannot even begin.

    StateConflict: another ``up`` has the data directory, or a port that must be kept is in use. Unavailable: no Java or
    no Redis.
    """
    folder = request.options.data_dir
    make_private(folder)
    lock = DataDirectoryLock(folder / "up.lock")
    try:
        began = time.monotonic()
        for name in ("run", "logs", "input", "deepstore", "servers"):
            (folder / name).mkdir(exist_ok=True, mode=0o700)
        wait_until_unlocked(folder / "run" / "guardian.lock", _GUARDIAN_WAIT_S)
        shutil.rmtree(folder / "run" / METRICS_FOLDER, ignore_errors=True)  # counters begin again with their processes
        return _run(request, environ, began)
    finally:
        lock.release()


def _run(request: Request, environ: Mapping[str, str], began: float) -> int:
    options = request.options
    check_secrets_to_join(options.data_dir / "secrets.json", environ)
    credentials = load_credentials(options.data_dir / "secrets.json", environ)
    wanted = Wanted(
        web=request.port,
        servers=request.servers,
        host=options.host,
        zookeeper=not environ.get("ZOOKEEPER_URL"),
        redis=not environ.get("REDIS_URL"),
        web_processes=request.web_processes,
    )
    ports = choose_ports(options.data_dir / "ports.json", wanted)
    shared = SharedPort(options.host, ports.web, ports.own_web) if ports.own_web else None
    plan = Planner(options, ports, credentials, find_java(environ), environ, shared).plan()
    terminal = Terminal()
    terminal.line("up", f"starting {len(plan.specs)} processes; data in {options.data_dir}")

    def healthy() -> ChildSpec | None:
        terminal.plain(format_banner(plan, credentials, options.data_dir, time.monotonic() - began))
        return plan.demo

    endpoints = EndpointsFile(options.data_dir / FILE_NAME, plan.endpoints)
    database = None if environ.get("DATABASE_URL") else DatabaseFile(options.data_dir)
    supervisor = Supervisor(options.data_dir, plan.specs, endpoints, terminal, Callbacks(healthy), database)
    try:
        return asyncio.run(supervisor.run())
    finally:
        terminal.close()
        if shared is not None:
            shared.close()


def format_banner(plan: Plan, credentials: Credentials, folder: Path, seconds: float) -> str:
    """What a person needs to know once all is healthy; the password only on the run that made it."""
    password = credentials.admin_password if credentials.created else f"see admin_password in {folder / 'secrets.json'}"
    return f"""
  pinotadmin is ready ({seconds:.1f} s)
    console    {plan.endpoints.web}/
    user       {ADMIN_USER}
    password   {password}
    logs       {folder / "logs"}
  Ctrl-C stops everything.
"""
