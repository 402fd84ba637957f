"""Pinot's own Python client, unchanged, against a real installation."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pinotdb
import pytest
from pinotdb.db import Type

from tests.integration.running import DAY0, Client, Installation
from tests.waiting import poll


@pytest.fixture
def cursor(installation: Installation, client: Client, table: str) -> Iterator[Any]:
    """A cursor of a connection as the administrator; its table has two segments of ten rows."""
    client.upload(table, f"{table}_a", f"{table}_b")
    client.online(table, f"{table}_a", f"{table}_b")
    poll(lambda: client.counts(table) == {f"{table}_a": 10, f"{table}_b": 10}, 20, "all rows")
    connection = connect(installation)
    yield connection.cursor()
    connection.close()


def connect(installation: Installation, password: str | None = None) -> Any:
    """Log in; with another password than the right one if given."""
    where = urlsplit(installation.endpoints["broker"])
    credentials = base64.b64decode(installation.endpoints["authorization"].removeprefix("Basic ")).decode()
    user, right = credentials.split(":", 1)
    return pinotdb.connect(
        host=where.hostname,
        port=where.port,
        path="/query/sql",
        scheme="http",
        username=user,
        password=password or right,
    )


def test_rows_types_and_parameters_are_as_the_client_expects(cursor: Any, table: str) -> None:
    cursor.execute(f"select v, count(*) c, avg(n) a, max(day) d from {table} group by v order by v")
    assert [(c[0], c[1]) for c in cursor.description] == [
        ("v", Type.STRING), ("c", Type.NUMBER), ("a", Type.NUMBER), ("d", Type.NUMBER),
    ]  # fmt: skip
    assert cursor.fetchall() == [[f"{table}_a", 10, 4.5, DAY0 + 4.0], [f"{table}_b", 10, 4.5, DAY0 + 4.0]]
    cursor.execute(
        f"select n from {table} where v = %(v)s and n in (%(n)s) order by n", {"v": f"{table}_a", "n": [3, 1, 99]}
    )
    assert list(cursor) == [[1], [3]]
    cursor.execute(f"select count(*) from {table} where v = %(v)s", {"v": "it's -- none; drop table x"})
    assert cursor.fetchone() == [0]
    cursor.execute(f'select v, n as "größe" from {table} limit 100')
    assert [c[0] for c in cursor.description] == ["v", "größe"]
    assert (len(cursor.fetchmany(7)), len(cursor.fetchall())) == (7, 13)


def test_an_empty_answer_still_has_its_columns(cursor: Any, table: str) -> None:
    cursor.execute(f"select v, n from {table} where n > 1000")
    assert [c[0] for c in cursor.description] == ["v", "n"]
    assert cursor.fetchall() == []


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("select nothing from {table}", "Unknown column 'nothing'"),
        ("select count(*) from no_such_table", "Table 'no_such_table' does not exist"),
        ("selec count(*)", "SELEC is not supported"),
        ("select a.v from {table} a natural join {table} b", "NATURAL JOIN"),
    ],
)
def test_what_is_wrong_with_a_query_arrives_as_a_database_error(cursor: Any, table: str, sql: str, words: str) -> None:
    with pytest.raises(pinotdb.exceptions.DatabaseError, match=words):
        cursor.execute(sql.format(table=table))


def test_a_wrong_password_is_an_error_and_no_empty_answer(installation: Installation, table: str) -> None:
    connection = connect(installation, password="wrong")
    cursor = connection.cursor()
    with pytest.raises(pinotdb.exceptions.Error):
        cursor.execute(f"select count(*) from {table}")
    connection.close()
