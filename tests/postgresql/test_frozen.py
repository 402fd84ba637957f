"""A PostgreSQL that is frozen (SIGSTOP): whoever waits for it gets an error soon, others at once, and it comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pinotadmin.postgresql import watched
from pinotadmin.postgresql.watched import WatchedConnection, watch_of
from tests.postgresql.server import MISSING, PostgreSQL, running_postgresql
from tests.waiting import poll


@pytest.fixture(scope="module")
def database() -> Iterator[PostgreSQL]:
    with running_postgresql() as found:
        if found is None:
            pytest.skip(MISSING)
        yield found


def connected(database: PostgreSQL) -> WatchedConnection:
    return WatchedConnection.connect(**conninfo_to_dict(database.url), connect_timeout=2, autocommit=True)


def test_a_statement_that_takes_long_is_waited_for(database: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "SILENCE_S", 0.1)
    with connected(database) as connection:
        assert connection.execute("select 7 from pg_sleep(0.8)").fetchall() == [(7,)]


def test_waits_for_a_frozen_server_end_all_others_are_refused_at_once_and_it_comes_back(database: PostgreSQL) -> None:
    ends: list[tuple[float, bool]] = []
    open_ones = [connected(database) for _ in range(4)]
    database.freeze()
    try:

        def ask(connection: WatchedConnection) -> None:
            began = time.monotonic()
            with pytest.raises(psycopg.OperationalError, match="frozen"):
                connection.execute("select 1")
            ends.append((time.monotonic() - began, connection.closed))

        threads = [threading.Thread(target=ask, args=(connection,)) for connection in open_ones]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [is_closed for _, is_closed in ends] == [True] * 4
        assert max(seconds for seconds, _ in ends) < 10.0
        began = time.monotonic()
        for _ in range(100):
            with pytest.raises(psycopg.OperationalError, match="frozen"):
                connected(database)
        assert time.monotonic() - began < 1.0
    finally:
        database.thaw()
    watch = watch_of({**conninfo_to_dict(database.url)})
    poll(lambda: not watch.is_frozen, 20, "the database that answers again")
    with connected(database) as connection:
        assert connection.execute("select 1").fetchall() == [(1,)]
