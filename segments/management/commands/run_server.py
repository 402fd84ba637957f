"""Run one embedded server until stopped."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from segments import traces, wiring
from segments.dataplane.server import Server, ServerSettings
from segments.dataplane.server.consuming import ConsumingSettings
from segments.errors import InvalidInput
from segments.gateways.deep_store.no_deep_store import is_none
from segments.gateways.outgoing.fetch import FetchRules
from segments.names import check_segment_name
from segments.processes.interpreter import collect_seldom, take_short_turns
from segments.services.access.server_people import ServerPeople
from segments.services.clusters.own_deep_store import own_deep_store
from segments.services.clusters.own_tls import check_tls, own_certificate, own_trust

#: Bytes and seconds of one segment from outside of the cluster; whole fetches, not silences.
_LARGEST: Final = 100 << 30
_FETCH_S: Final = 3600.0


class Command(BaseCommand):
    """``manage.py run_server --name server-1 --port 8098 --admin-port 8097``."""

    help = "Run one embedded server until stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name of the data folder, and the two ports of Pinot's servers."""
        parser.add_argument("--name", required=True, help="folder below DATA_DIR that holds this server's segments")
        parser.add_argument("--host", default=settings.HOST, help="address that brokers and other servers reach it at")
        parser.add_argument("--port", type=int, default=8098, help="part of the instance's name: Server_<host>_<port>")
        parser.add_argument(
            "--admin-port", type=int, default=8097, help="port it listens on (HTTP); 0 takes a free one"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Block until SIGTERM or SIGINT. CommandError for a shared secret that is too weak, and for a
        certificate that others would not believe.
        """
        try:
            wiring.check_secrets()
            check_tls(options["host"])
        except InvalidInput as error:
            raise CommandError(str(error)) from error
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        server = Server(wiring.store(), own_deep_store(), _settings(options))
        traces.begin("server", settings.TRACES)
        take_short_turns()
        server.start()
        collect_seldom()
        stopped.wait()
        server.stop()
        wiring.close()
        traces.end()


def _settings(options: dict[str, Any]) -> ServerSettings:
    return ServerSettings(
        host=options["host"],
        port=options["port"],
        admin_port=options["admin_port"],
        data_dir=settings.DATA_DIR / "servers" / check_segment_name(options["name"]),
        secret=settings.CLUSTER_SECRET,
        controller_url=wiring.own_url(),
        people=ServerPeople(settings.CLUSTER_NAME),
        has_open_metrics=wiring.is_metrics_open(),
        certificate=own_certificate(),
        trust=own_trust(),
        max_segment_bytes=settings.MAX_UNPACKED_BYTES,
        segment_store_url="" if is_none(settings.SEGMENT_STORE_URL) else settings.SEGMENT_STORE_URL,
        deep_store_timeout_s=settings.DEEP_STORE_TIMEOUT_S,
        consuming=ConsumingSettings(
            upload_s=float(settings.UPLOAD_TIMEOUT_S),
            uploads_through_controller=settings.UPLOAD_TO_CONTROLLER,
            ahead_bytes=settings.READ_AHEAD_BYTES,
        ),
        streams=wiring.stream_access(),
        elsewhere=FetchRules(
            settings.URI_PUSH_ROOTS, wiring.serves_this_machine_only(), max_bytes=_LARGEST, timeout_s=_FETCH_S
        ),
        # A process that died silently is taken for dead after this; wait longer before giving up on its name.
        join_patience_s=settings.ZOOKEEPER_SESSION_S + 10.0,
    )
