"""``pinotadmin run ROLE``: one part of a cluster in the foreground, on any host."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any, Final, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections

from segments import wiring
from segments.errors import PinotAdminError
from segments.management.commands.setup_database import has_pending_migrations
from segments.processes.machine.java import find_java, spark_java_home
from segments.processes.roles import commands
from segments.processes.roles.together import become, run_together
from segments.processes.roles.web_processes import run_web_processes, web_count
from segments.services.clusters.own_tls import check_tls, own_certificate

log = logging.getLogger(__name__)
ROLES: Final = ("web", "server", "worker", "beat", "mirror", "upkeep")
#: What has no default that fits more than one host.
_SHARED: Final = (
    "PINOTADMIN_CLUSTER_SECRET", "PINOTADMIN_SECRET_KEY", "ZOOKEEPER_URL", "REDIS_URL", "DATABASE_URL",
    "DEEP_STORE_URL",
)  # fmt: skip
#: Whom others call.
_CALLED: Final = ("web", "server")
_PURPOSES: Final = (
    "web: console, REST API and queries; server: segments and streams; worker: pushes, with Spark; upkeep: periodic "
    "passes and repairs; beat: schedules; mirror: ZooKeeper into the database. Of beats and mirrors one works, and "
    "another one takes over when it is gone."
)


class Command(BaseCommand):
    """Checks what is set, and becomes the part."""

    help = "Runs one part of a cluster in the foreground until SIGTERM or Ctrl-C, with the settings of the environment."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """The role; of servers their name and ports."""
        parser.add_argument("role", choices=ROLES, help=_PURPOSES)
        parser.add_argument("--name", default="server-1", help="of a server: folder below DATA_DIR with its segments")
        parser.add_argument(
            "--port", type=int, default=8098,
            help="of a server: part of its name Server_HOST_PORT; nothing listens at it",
        )  # fmt: skip
        parser.add_argument(
            "--web-processes", type=web_count, default=settings.WEB_PROCESSES,
            help="of the role web: processes behind the one port, each also at one of the ports behind it (default: "
            "PINOTADMIN_WEB_PROCESSES, else 1)",
        )  # fmt: skip
        parser.add_argument("--admin-port", type=int, default=8097, help="of a server: the port it listens on")

    def handle(self, *args: Any, **options: Any) -> None:
        """CommandError, one sentence with what to do, when it cannot join."""
        role = str(options["role"])
        try:
            _check(role)
            (settings.DATA_DIR / "run").mkdir(parents=True, exist_ok=True, mode=0o700)
            environment = {**os.environ, **_more(role)}
        except PinotAdminError as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"The database of DATABASE_URL does not answer: {str(error).strip()}") from error
        finally:
            connections.close_all()
        log.info("The %s of cluster %s starts, reached at %s.", role, settings.CLUSTER_NAME, settings.HOST)
        if role == "web" and options["web_processes"] > 1:
            self._run_webs(options["web_processes"], environment)
        lines = _lines(role, options)
        if len(lines) > 1:
            wiring.close()
            sys.exit(run_together(lines, environment))
        become(lines[0], environment)

    def _run_webs(self, count: int, environment: dict[str, str]) -> NoReturn:
        wiring.close()
        if not 0 < settings.PORT <= 65_535 - count:
            raise CommandError(f"{count} web processes take PINOTADMIN_PORT and the {count} ports behind it.")
        try:
            sys.exit(
                run_web_processes(
                    settings.BIND_HOST, settings.PORT, count, settings.TRUSTED_PROXIES, environment, own_certificate()
                )
            )
        except OSError as error:
            raise CommandError(
                f"Port {settings.PORT} of {settings.BIND_HOST} cannot be listened at: {error.strerror}"
            ) from error


def _check(role: str) -> None:
    """Is everything there that it needs, and does the cluster have the same secrets?"""
    missing = [name for name in _SHARED if not os.environ.get(name)]
    if missing:
        raise CommandError(
            f"{missing[0]} is not set, so this {role} cannot join a cluster. All parts need the same "
            f"{', '.join(_SHARED)}; docs/deployment.md lists them."
        )
    wiring.check_secrets()
    check_tls(settings.HOST if role in _CALLED else None)
    wiring.store()
    if role != "server" and has_pending_migrations():
        raise CommandError("The database lacks tables of this version: run 'pinotadmin setup_database' once.")


def _more(role: str) -> dict[str, str]:
    """What its processes find in their environment besides."""
    found = {"PYTHONUNBUFFERED": "1", "CELERY_SKIP_CHECKS": "1", "PINOTADMIN_DATA_DIR": str(settings.DATA_DIR)}
    if role != "worker":
        return found
    java = spark_java_home(find_java(os.environ), settings.DATA_DIR / "run" / "java-home")
    return {**found, "JAVA_HOME": str(java), "PYSPARK_PYTHON": sys.executable, "PINOTADMIN_WARM_SPARK": "1"}


def _lines(role: str, options: dict[str, Any]) -> list[tuple[str, ...]]:
    if role == "web":
        return [
            commands.web_command(
                settings.BIND_HOST, settings.PORT, settings.TRUSTED_PROXIES, certificate=own_certificate()
            )
        ]
    if role == "server":
        return [commands.server_command(options["name"], options["port"], options["admin_port"])]
    if role == "beat":
        return [commands.beat_command()]
    if role == "mirror":
        return [commands.mirror_command()]
    return [commands.worker_command(pool) for pool in commands.POOLS_OF[role]]
