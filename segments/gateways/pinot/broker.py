"""SQL to a real Pinot: to a broker where its address is known, else through the controller's ``/sql``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote

from segments.gateways.pinot.controller import PinotController
from segments.gateways.pinot.refusals import UNEXPECTED, ControllerFault
from segments.gateways.pinot.whole_answer import AnswerTooLarge

#: Where a broker takes queries.
_OF_BROKER: Final = "/query/sql"
#: Seconds for an answer; Pinot's own limit of a query is 10 s unless it names another.
_PATIENCE_S: Final = 65.0
_CODE: Final = re.compile(r"errorCode:(\d+)")
#: Pinot's QUERY_EXECUTION.
_QUERY_EXECUTION: Final = 200
#: Pinot's QUERY_VALIDATION, which our own broker gives an answer that is too large.
_QUERY_VALIDATION: Final = 700
_LONGEST: Final = 4000


class SqlBroker(Protocol):
    """What a query page needs of a broker; the embedded one has the same method."""

    def query(self, sql: str, options: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Pinot's broker response; what goes wrong in the query is in its ``exceptions``."""


class PinotSqlBroker(SqlBroker, Protocol):
    """A broker of a real Pinot."""

    def rebuild_routing(self, table: str) -> bool:
        """Have it read the lineage of a typed table again; False where only the controller is known, which cannot do
        it.
        """

    def routed_segments(self, table: str) -> set[str] | None:
        """Segments that the next query of this typed table goes to, by the routing of the broker that answers; None
        where only the controller is known, or the answer is none that Pinot gives. PinotRefused: it has none.
        """


class PinotBroker:
    """SQL to one cluster. ``path`` is ``/sql`` of a controller, or ``/query/sql`` of a broker."""

    def __init__(self, target: PinotController, path: str = "/sql") -> None:
        self._target, self._path = target, path

    def rebuild_routing(self, table: str) -> bool:
        """``PUT /routing/{table}`` of the broker that answers; it changes nothing but what that broker remembers."""
        if self._path != _OF_BROKER:
            return False
        self._target.send("PUT", f"/routing/{quote(table, safe='')}")
        return True

    def routed_segments(self, table: str) -> set[str] | None:
        """``GET /debug/routingTable/{table}`` of the broker that answers."""
        if self._path != _OF_BROKER:
            return None
        found = self._target.read("GET", f"/debug/routingTable/{quote(table, safe='')}")
        servers = found.get(table) if isinstance(found, dict) else None
        if not isinstance(servers, dict) or not all(isinstance(names, list) for names in servers.values()):
            return None
        return {str(name) for names in servers.values() for name in names}

    def query(self, sql: str, options: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Pinot's broker response; an answer that is too large is one of its ``exceptions``.

        ControllerFault when nobody answers, PinotRefused for what is not an answer of a broker.
        """
        body: dict[str, Any] = {"sql": sql}
        if options:
            body["queryOptions"] = ";".join(f"{key}={value}" for key, value in options.items())
        try:
            found = self._target.read("POST", self._path, body=body, timeout=_PATIENCE_S)
        except AnswerTooLarge as error:
            text = f"QueryValidationError:\n{error.message} Ask for fewer rows, or for fewer columns."
            return {"exceptions": [{"errorCode": _QUERY_VALIDATION, "message": text}]}
        if isinstance(found, str):  # older controllers print what went wrong instead
            code = _CODE.search(found)
            return {
                "exceptions": [{"errorCode": int(code[1]) if code else _QUERY_EXECUTION, "message": found[:_LONGEST]}]
            }
        if not isinstance(found, dict):
            text = f"{self._target.url} did not answer a query as Pinot does."
            raise ControllerFault(UNEXPECTED, text, remedy="Check the address of the broker.")
        return found
