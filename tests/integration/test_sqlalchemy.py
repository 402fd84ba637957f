"""The SQLAlchemy dialect of Pinot's Python client, unchanged, against a real installation: what Superset and notebooks
use.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import sqlalchemy as sa

from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = [
    pytest.mark.integration,
    # The dialect leaves its requests to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def engine(installation: Installation, client: Client, table: str) -> Iterator[Any]:
    """An engine as the administrator; its table has two segments of ten rows."""
    client.upload(table, f"{table}_a", f"{table}_b")
    client.online(table, f"{table}_a", f"{table}_b")
    poll(lambda: client.counts(table) == {f"{table}_a": 10, f"{table}_b": 10}, 20, "all rows")
    ends = installation.endpoints
    user, password = base64.b64decode(ends["authorization"].removeprefix("Basic ")).decode().split(":", 1)
    broker = urlsplit(ends["broker"]).netloc
    made = sa.create_engine(
        f"pinot+http://{user}:{quote(password)}@{broker}/query/sql?controller={ends['controller']}/"
    )
    yield made
    made.dispose()


def test_tables_and_columns_are_reflected(engine: Any, table: str) -> None:
    found = sa.inspect(engine)
    assert table in found.get_table_names()
    assert (found.has_table(table), found.has_table("nope")) == (True, False)
    assert [(c["name"], type(c["type"]).__name__) for c in found.get_columns(table)] == [
        ("v", "String"), ("n", "BigInteger"), ("day", "BigInteger"),
    ]  # fmt: skip


def test_expressions_become_queries_and_their_rows(engine: Any, table: str) -> None:
    t = sa.Table(table, sa.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        grouped = sa.select(t.c.v, sa.func.count(), sa.func.max(t.c.n)).where(t.c.n < 5).group_by(t.c.v).order_by(t.c.v)
        assert connection.execute(grouped).all() == [(f"{table}_a", 5, 4.0), (f"{table}_b", 5, 4.0)]
        assert connection.execute(sa.select(sa.func.count()).select_from(t)).scalar() == 20
        some = sa.select(t.c.v, t.c.n).where(t.c.v == sa.bindparam("x")).order_by(t.c.n).limit(2)
        assert connection.execute(some, {"x": f"{table}_b"}).mappings().all() == [
            {"v": f"{table}_b", "n": n} for n in (0, 1)
        ]
        assert connection.execute(sa.text(f"select v from {table} where v = :v limit 1"), {"v": "it's"}).all() == []
        with pytest.raises(sa.exc.DatabaseError, match="nope"):
            connection.execute(sa.text(f"select nope from {table}"))
