"""``manage.py demo``: the quickstart's table and two pushes, and live tables that it feeds until it is stopped, through
the services that everybody uses; again and again the same end.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from redis import Redis

from segments import wiring
from segments.demo import flights, live_flights
from segments.errors import NotFound, PinotAdminError
from segments.management.commands.push import follow, stored
from segments.models import Push
from segments.names import OFFLINE, REALTIME, TableName
from segments.request_ids import request_of_its_own
from segments.services.core.context import Actor, Context
from segments.services.jobs.queue import enqueue_push
from segments.services.push.pushes import create_push
from segments.services.tables.schemas import create_schema
from segments.services.tables.table_record import read_table_config
from segments.services.tables.tables import create_table

_ACTOR = Actor("demo", "the quickstart's data")
_STEPS = ((flights.FIRST_HALF, "the first half of 2013"), (flights.WHOLE_YEAR, "all of 2013"))


class Command(BaseCommand):
    """Creates table ``flights``, pushes half a year, then the whole year over it, while two live tables consume what it
    sends into streams of the installation's Redis. What is done already is not done again.
    """

    help = "Fill a running 'up' with the flights that left New York in 2013."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to stay."""
        parser.add_argument("--no-stream", action="store_true", help="end after the pushes, without live tables")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare files, create tables, push twice, say what to try next, and send live flights from then on."""
        began, replay = time.monotonic(), None
        try:
            folder = Path(settings.DATA_DIR) / "input" / flights.TABLE
            flights.prepare(folder)
            ctx = wiring.context()
            self._table(ctx)
            if not options["no_stream"]:
                replay = self._live(ctx)
            for name, words in _STEPS:
                self._push(ctx, folder / name, words)
        except PinotAdminError as error:
            raise CommandError(f"The demo stopped: {error}") from error
        self.stdout.write(f"The demo is ready ({time.monotonic() - began:.1f} s): {wiring.own_url()}/ as user admin.")
        self.stdout.write("Roll table flights back under Lineage, or ask in the console or with POST /query/sql:")
        self.stdout.write("  SELECT origin, COUNT(*), AVG(dep_delay) FROM flights GROUP BY origin ORDER BY 2 DESC")

        if replay is not None:
            self.stdout.write(
                "Tables flights_live and flight_status (one row of each flight) get new rows as long as it runs."
            )
            replay.join()

    def _live(self, ctx: Context) -> threading.Thread:
        """Tables that consume, and the thread that feeds them."""
        for name in live_flights.TABLES:
            try:
                read_table_config(ctx, TableName(name, REALTIME))
            except NotFound:
                with request_of_its_own():
                    create_schema(ctx, live_flights.schema(name), override=True, actor=_ACTOR)
                    create_table(ctx, live_flights.table_config(name), actor=_ACTOR)
                self.stdout.write(f"Created table {name}_REALTIME: it consumes a stream.")
        streams = Redis.from_url(settings.REDIS_URL)
        replay = live_flights.Replay(streams, live_flights.read_flights(), threading.Event())
        thread = threading.Thread(target=replay.run, name="live-flights", daemon=True)
        thread.start()
        return thread

    def _table(self, ctx: Context) -> None:
        try:
            read_table_config(ctx, TableName(flights.TABLE, OFFLINE))
            return
        except NotFound:
            pass
        with request_of_its_own():
            create_schema(ctx, flights.schema(), override=True, actor=_ACTOR)
            create_table(ctx, flights.table_config(), actor=_ACTOR)
        self.stdout.write("Created table flights_OFFLINE with 19 columns: a push replaces its whole snapshot.")

    def _push(self, ctx: Context, folder: Path, words: str) -> None:
        """Push a folder, or follow the push of it that is under way; nothing if one is done."""
        own = Push.objects.filter(
            cluster=ctx.cluster, table_name=flights.TABLE, actor=_ACTOR.name, spec__inputDirURI=str(folder)
        )
        push = own.exclude(state__in=(Push.State.FAILED, Push.State.CANCELLED)).first()
        if push is not None and push.state == Push.State.DONE:
            return
        if push is None:
            with request_of_its_own():
                push = create_push(ctx, flights.job_spec(folder), _ACTOR, roots=wiring.input_roots())
                enqueue_push(ctx, str(push.pk))
        self.stdout.write(f"Pushing {words}:")
        found = push
        if follow(lambda: stored(found), self.stdout.write)["state"] != "DONE":
            raise CommandError(f"The push of {words} is {found.state}: {found.error}")
