"""How long the page of a file ingestion session takes, and its live part, and the mirror for all of its files.

Usage: ``python -m bench.ingestion.session_page [--files 10000]``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    files = parser.parse_args().files
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinotadmin.settings")
    import django

    django.setup()
    from django.test.utils import setup_databases, setup_test_environment, teardown_databases

    setup_test_environment(debug=False)
    before = setup_databases(verbosity=0, interactive=False)
    try:
        measure(files)
    finally:
        teardown_databases(before, verbosity=0)


def measure(files: int) -> None:
    """Print the figures of a session of so many files, in Django's present database."""
    from django.test import Client  # all of these need Django's settings

    from segments.mirror.ingestion import database
    from tests.factories import make_session, make_table, make_user

    session = make_session(make_table(), files_total=files, files_done=files, files_failed=0, state="DONE")
    rows = {}
    for n in range(files):
        values = {
            "uri": f"/in/{n:06}.csv", "fingerprint": "", "state": "DONE", "segments": [f"s{n}"], "rows": 100,
            "bytes": 10_000, "attempts": 1, "error": "", "line": None, "bad_rows": 0, "bad": [],
        }  # fmt: skip
        rows[f"/in/{n:06}.csv"] = tuple(values[column] for column in database.FILE_COLUMNS)
    began = time.perf_counter()
    database.write_files(session.pk, {}, rows)
    print(f"{files:,} files mirrored in {time.perf_counter() - began:.2f} s")
    client = Client()
    client.force_login(make_user("ann", "operate"))
    page = f"/console/tables/flights_OFFLINE/ingestion/sessions/{session.session_id}/"
    for name, address in (("page", page), ("filtered", f"{page}?q=9999&state=DONE"), ("live part", f"{page}live/")):
        assert client.get(address).status_code == 200, address
        print(f"{name}: {1000 * _median(partial(client.get, address)):.0f} ms")


def _median(call: Callable[[], object]) -> float:
    taken = []
    for _ in range(11):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken[1:])


if __name__ == "__main__":
    main()
