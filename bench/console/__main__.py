"""Times the console's pages over a database with the figures of a large installation, and counts what each costs.

Usage: ``python -m bench.console [--tables 10000] [--segments 1000000] [--events 100000] [--snapshots 10000]
[--visits 40] [--only TEXT] [--keep FOLDER]``. One table has half of the segments, another one 10,000 of them and all
the snapshots. Rows are put into the database as the mirror would; the cluster is in memory. A visit is a request of
somebody who is logged in, without a network in between. Then, where Chromium is installed, what a browser gets that has
never been there: bytes, and milliseconds until something is painted. Fails when a page is over an aim: 300 ms for 95 of
100 visits, 30 SQL statements, 200 kB; cold, 350 kB with style and scripts, and one second. The column of the processor
is this process's own time, which other work on the machine changes less. ``--only``: pages whose address contains the
text. ``--keep``: the database stays in that folder, and is not filled again when it is there.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

from bench.console.filling import Figures


def main() -> int:
    """Fill, visit, print; the exit status is 1 when a page is over an aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tables", "segments", "events", "snapshots"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Figures, name))
    parser.add_argument("--visits", type=int, default=40)
    parser.add_argument("--only", default="", help="pages whose address contains this")
    parser.add_argument("--keep", type=Path, help="the database stays there, and is used again")
    options = parser.parse_args()
    figures = Figures(options.tables, options.segments, options.events, options.snapshots)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        return _measure(options.keep, figures, options.visits, options.only)
    with tempfile.TemporaryDirectory(prefix="bench-console-") as folder:
        return _measure(Path(folder), figures, options.visits, options.only)


def _measure(folder: Path, figures: Figures, visits: int, only: str) -> int:
    filled = folder / "filled"
    is_filled = filled.exists()
    _settle(folder)
    from bench.console.filling import fill

    if not is_filled:
        began = time.perf_counter()
        fill(figures)
        print(f"  filled in {time.perf_counter() - began:.0f} s", flush=True)
        filled.touch()
    return _visit_all(folder, visits, only)


def _settle(folder: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinotadmin.settings")
    os.environ["DATA_DIR"] = str(folder)
    os.environ["DATABASE_URL"] = f"sqlite:///{folder}/bench.sqlite3"
    import django

    django.setup()
    logging.disable(logging.INFO)
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def _visit_all(folder: Path, visits: int, only: str) -> int:
    from django.contrib.auth.models import User
    from django.test import Client

    from bench.console import painting, visiting
    from segments.processes.interpreter import collect_seldom

    client = Client()
    if not User.objects.exists():
        User.objects.create_superuser("bench", password=painting.PASSWORD)
    client.force_login(User.objects.get())
    print(f"  {'page':<46}{'p50 ms':>8}{'p95 ms':>8}{'CPU ms':>8}{'SQL':>5}{'kB':>7}")
    with (
        tempfile.TemporaryDirectory(prefix="bench-console-store-") as store,
        visiting.cluster_in_memory(Path(store)),
    ):
        collect_seldom()  # as every process of an installation does once it serves
        pages = [page for page in visiting.pages() if only in page]
        is_over = max((visiting.visit(client, page, visits) for page in pages), default=0)
        return is_over if only else max(is_over, painting.paint_all())


if __name__ == "__main__":
    sys.exit(main())
