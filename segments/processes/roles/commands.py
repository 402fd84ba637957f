"""The command line of each part that is a Python process: the same under ``up`` and under ``pinotadmin run``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from segments.domain.jobs.workers.pools import PASSES, PUSHES, REPAIRS, VALIDATION, Pool
from segments.gateways.tls.certificate import Certificate
from segments.processes.roles.web_port import ALONE

#: The folder of our packages: processes run there.
PROJECT: Final = Path(__file__).resolve().parents[3]
#: Which pools of workers a role has. Spark is where pushes are.
POOLS_OF: Final[dict[str, tuple[Pool, ...]]] = {"worker": (PUSHES,), "upkeep": (REPAIRS, PASSES, VALIDATION)}


def web_command(
    bind_host: str,
    port: int,
    trusted_proxies: Sequence[str],
    shared: int | None = None,
    certificate: Certificate | None = None,
) -> tuple[str, ...]:
    """The web process. ``trusted_proxies``: whose word on who asks is taken; ``shared``: the descriptor of a socket at
    which it listens besides, with others; ``certificate``: with one it speaks TLS.
    """
    module: tuple[str, ...] = ("uvicorn",)
    if shared is not None or certificate is not None:
        module = ("segments.processes.roles.web_port", ALONE if shared is None else str(shared))
    return (
        *(sys.executable, "-m", *module, "pinotadmin.asgi:application"),
        *(("--ssl-certfile", certificate.file, "--ssl-keyfile", certificate.key) if certificate is not None else ()),
        *("--host", bind_host, "--port", str(port), "--log-level", "warning", "--no-access-log"),
        *_proxy_options(trusted_proxies),
        *("--http", "segments.gateways.http_connections:BoundedHttp"),
        # Clients keep connections open between requests; Java's for a minute and more.
        *("--timeout-keep-alive", "75"),
        # Live pages hold their connections open for ever; without a limit a stop would wait for them.
        *("--timeout-graceful-shutdown", "3"),
    )


def _proxy_options(trusted: Sequence[str]) -> tuple[str, ...]:
    """Of uvicorn: nobody's word is taken unless the operator named proxies. Attempts to guess and the audit record go
    by address, and any process of this machine could name another one.
    """
    return ("--proxy-headers", "--forwarded-allow-ips", ",".join(trusted)) if trusted else ("--no-proxy-headers",)


def worker_command(pool: Pool) -> tuple[str, ...]:
    """One pool of workers."""
    return (
        *(sys.executable, "-m", "celery", "-q", "-A", "pinotadmin", "worker"),
        *("-Q", pool.queue, "-n", f"{pool.name}@%h"),
        # Processes can be ended one by one when their time is up; threads share one Spark.
        *("-P", pool.kind, "-c", str(pool.slots), "--without-gossip", "--without-mingle", "--loglevel", "info"),
    )


def beat_command() -> tuple[str, ...]:
    """The process that fires schedules. Its pid file would outlive a kill -9 and stop the next start."""
    return (
        *(sys.executable, "-m", "celery", "-q", "-A", "pinotadmin", "beat"),
        *("--pidfile", "", "--loglevel", "info"),
    )


def server_command(name: str, port: int, admin_port: int) -> tuple[str, ...]:
    """One server of the embedded cluster."""
    return (
        *(sys.executable, "-m", "pinotadmin", "run_server"),
        *("--name", name, "--port", str(port), "--admin-port", str(admin_port)),
    )


def mirror_command() -> tuple[str, ...]:
    """The process that copies ZooKeeper into the database."""
    return (sys.executable, "-m", "pinotadmin", "run_mirror")
