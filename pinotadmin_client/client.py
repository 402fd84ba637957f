"""The client: one object per installation, its operations in groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

import httpx
import msgspec

from pinotadmin_client.credentials import Credentials, of_token, of_user
from pinotadmin_client.errors import NoAnswer, TimedOut
from pinotadmin_client.generated import (
    audit,
    consumption,
    installation,
    lineage,
    models,
    pushes,
    queries,
    schemas,
    segments,
    snapshots,
    tables,
)
from pinotadmin_client.prepared_types import prepared
from pinotadmin_client.transport import Transport

T = TypeVar("T")
DEFAULT_TIMEOUT_S: Final = 60.0
#: States in which a push stays until somebody does something.
ENDED: Final = frozenset(("DONE", "FAILED", "CANCELLED", "BLOCKED"))


class Client:
    """``Client(url, token="pinotadmin_...")``, or ``user`` and ``password``. ``timeout_s`` is that of each call, in
    seconds; ``cluster`` names a Pinot cluster that the installation drives.

    All operations raise ``ApiError`` for a refusal, ``NoAnswer`` or ``TimedOut`` where there was no answer.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        user: str = "",
        password: str = "",
        credentials: Credentials | None = None,
        cluster: str = "",
        timeout_s: float = DEFAULT_TIMEOUT_S,
        http: httpx.Client | None = None,
    ) -> None:
        if credentials is None:
            if bool(token) == bool(user):
                raise ValueError("Give either a token, or a user and a password.")
            credentials = of_token(url, token) if token else of_user(url, user, password)
        transport = Transport(
            url,
            credentials.authorization,
            timeout_s=timeout_s,
            cluster=cluster,
            http=http,
            authorities=credentials.authorities,
        )
        self._transport = transport
        self.tables = tables.Tables(transport)
        self.schemas = schemas.Schemas(transport)
        self.segments = segments.Segments(transport)
        self.lineage = lineage.Lineage(transport)
        self.snapshots = snapshots.Snapshots(transport)
        self.pushes = pushes.Pushes(transport)
        self.consumption = consumption.Consumption(transport)
        self.queries = queries.Queries(transport)
        self.audit = audit.Audit(transport)
        self.installation = installation.Installation(transport)

    def __repr__(self) -> str:
        return f"Client({self._transport.url!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def query(self, sql: str, **options: str | int) -> models.QueryAnswer:
        """Run a query. ``options``: Pinot's query options, such as ``timeoutMs=5000``."""
        return self.queries.run(sql=sql, query_options=dict(options) or None)

    def entries(self, table: str, *, type_: str = "OFFLINE") -> dict[str, models.LineageEntry]:
        """The lineage entries of a table by id, oldest first; empty where there never was one."""
        found = self.lineage.entries(table, type_=type_)
        return msgspec.convert(found, prepared(models.TableLineage)).lineage_entries if found else {}

    def call(self, method: str, path: str, *, query: dict[str, Any] | None = None, body: Any = None) -> Any:
        """Any other operation of the API, untyped: its path as it is sent, from the first slash on."""
        if not path.startswith("/"):
            raise ValueError("A path begins with a slash.")
        return self._transport.send(method, path.replace("{", "{{").replace("}", "}}"), Any, query=query, body=body)

    def upload(self, file: Path, *, table: str) -> dict[str, Any]:
        """Send a file of which a table is to be made. The answer's ``upload`` names it for ``/api/v1/tables/infer``.

        It is read in pieces; the time-out bounds each of them, not the whole.
        """
        query = {"name": file.name, "tableName": table}
        found: dict[str, Any] = self._transport.send_file("/api/v1/uploads", file, dict[str, Any], query=query)
        return found

    def wait_for_push(self, push_id: str, *, timeout_s: float, poll_s: float = 1.0) -> models.PushDetails:
        """The push once it is DONE, FAILED, CANCELLED or BLOCKED. Raises TimedOut; the push goes on then.

        An installation that restarts meanwhile is waited for.
        """
        return _poll(lambda: self.pushes.get(push_id), lambda push: push.state in ENDED, timeout_s, poll_s)


def _poll(read: Callable[[], T], is_over: Callable[[T], bool], timeout_s: float, poll_s: float) -> T:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            found = read()
        except NoAnswer:
            if time.monotonic() >= deadline:
                raise
        else:
            if is_over(found):
                return found
            if time.monotonic() >= deadline:
                raise TimedOut(f"It was not over after {timeout_s:g} s.")
        time.sleep(poll_s)
