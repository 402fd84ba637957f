"""``manage.py up``: the whole embedded cluster in the foreground."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from segments.domain.formats.plural import counted
from segments.domain.push.store_uri import is_remote, parse_folder_uri, split_roots
from segments.errors import InvalidInput, PinotAdminError
from segments.processes.machine import storage
from segments.processes.machine.storage import checked_storage
from segments.processes.plan import Options
from segments.processes.roles.web_processes import web_count
from segments.processes.run import Request, run_cluster
from segments.services.backup.backup_file import read_header
from segments.services.clusters.own_tls import check_tls, own_certificate, own_trust


def _text(value: Any, name: str, default: str) -> str:
    """The option, else what the environment says, else the default."""
    return str(value) if value is not None else os.environ.get(name) or default


def _given_port(value: int | None) -> int | None:
    """The option, else PINOTADMIN_PORT; None: the remembered one or 9000."""
    text = os.environ.get("PINOTADMIN_PORT", "")
    if value is not None or not text:
        return value
    try:
        return _port(text)
    except ValueError as error:
        raise CommandError(f"PINOTADMIN_PORT must be a port from 0 to 65535, not {text[:40]!r}.") from error


def _input_roots(options: list[str]) -> tuple[Path | str, ...]:
    """The folders and addresses of the options and of PINOTADMIN_INPUT_ROOTS. CommandError for one that is none."""
    named = split_roots(os.environ.get("PINOTADMIN_INPUT_ROOTS", ""))
    found = [_input_root("--input-root", text) for text in options]
    return tuple(dict.fromkeys(found + [_input_root("PINOTADMIN_INPUT_ROOTS:", text) for text in named]))


def _input_root(source: str, text: str) -> Path | str:
    if is_remote(text):
        try:
            return str(parse_folder_uri(text))
        except InvalidInput as error:
            raise CommandError(f"{source} {error}") from error
    if not Path(text).is_dir():
        raise CommandError(f"{source} {Path(text).absolute()} is not a folder.")
    return Path(text).absolute()


def _server_count(text: str) -> int:
    count = int(text)
    if not 0 <= count <= 16:
        raise ValueError(text)
    return count


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:
        raise ValueError(text)
    return port


def _storage(options: Mapping[str, Any]) -> dict[str, str]:
    return {
        storage.DEEP_STORE: options["deep_store"],
        storage.SEGMENT_STORE: options["segment_store"],
        storage.UPLOAD_TIMEOUT: options["upload_timeout"],
        storage.TO_CONTROLLER: "true" if options["upload_to_controller"] else "",
    }


def _restored(path: Path | None, servers: int) -> dict[str, Any]:
    """What ``Options`` say of a backup. CommandError when it has more servers than ``servers``."""
    if path is None:
        return {}
    known = tuple(read_header(path).get("servers") or ())
    if len(known) > servers:
        raise CommandError(f"The backup has {counted(len(known), 'server')}: add --servers {len(known)}.")
    return {"restore": path.absolute(), "restored_servers": known}


def _add_storage(parser: CommandParser) -> None:
    """Where segments are kept, and how servers get them there."""
    parser.add_argument(
        "--deep-store", default="", metavar="URL", help="where segments are kept; 'none': on servers only"
    )
    parser.add_argument(
        "--segment-store",
        default="",
        metavar="URL",
        help="where servers reach the deep store, when by another address; 'none': they upload through the web process",
    )
    parser.add_argument(
        "--upload-timeout", default="", metavar="SECONDS", help="that a commit waits for an upload (default: 300)"
    )
    parser.add_argument(
        "--upload-to-controller",
        action="store_true",
        help="servers upload what they commit through the web process",
    )


class Command(BaseCommand):
    """Start ZooKeeper, Redis, the servers, web, mirror, worker and beat, and keep them running until Ctrl-C."""

    help = "Starts and supervises the whole embedded cluster in the foreground; Ctrl-C stops it."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """The options that users rely on (rule `documented-options`)."""
        parser.add_argument(
            "--data-dir", type=Path, default=settings.DATA_DIR, help="where all data is kept (default: %(default)s)"
        )
        parser.add_argument(
            "--port",
            type=_port,
            help="of the console and the API (default: PINOTADMIN_PORT, else as before, or 9000; 0: a free one)",
        )
        parser.add_argument(
            "--host", help="address on which the console listens (default: PINOTADMIN_HOST, else 127.0.0.1)"
        )
        parser.add_argument(
            "--servers", type=_server_count, default=2, help="number of embedded servers (default: %(default)s)"
        )
        parser.add_argument(
            "--web-processes",
            type=web_count,
            default=settings.WEB_PROCESSES,
            help="web processes behind the one port (default: PINOTADMIN_WEB_PROCESSES, else 1)",
        )
        parser.add_argument("--demo", action="store_true", help="fill the cluster with the demo once it is healthy")
        parser.add_argument(
            "--input-root", action="append", default=[], metavar="DIR",
            help="folder or address (s3://bucket/a) that pushes may read, besides PINOTADMIN_INPUT_ROOTS; repeat",
        )  # fmt: skip
        _add_storage(parser)
        parser.add_argument("--restore", type=Path, metavar="FILE", help="a backup that this installation begins with")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal; exit status 1 and one clear sentence when it cannot start."""
        host, roots = _text(options["host"], "PINOTADMIN_HOST", "127.0.0.1"), _input_roots(options["input_root"])
        try:
            checked, certificate, trust = checked_storage(_storage(options), os.environ), own_certificate(), own_trust()
            chosen = Options(
                options["data_dir"].absolute(), host, roots, demo=options["demo"], storage=checked,
                trusted_proxies=settings.TRUSTED_PROXIES, silence_s=settings.SILENCE_S,
                zookeeper_heap_bytes=settings.ZOOKEEPER_HEAP_BYTES, certificate=certificate, trust=trust,
                **_restored(options["restore"], options["servers"]),
            )  # fmt: skip
            check_tls(chosen.reached_host)
            port = _given_port(options["port"])
            status = run_cluster(Request(chosen, port, options["servers"], options["web_processes"]), os.environ)
        except PinotAdminError as error:
            raise CommandError(str(error)) from error
        sys.exit(status)
