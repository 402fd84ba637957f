"""Query parameters that are more than optional text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: True or false, on every operation.
_FLAGS: Final = frozenset(
    ("all", "async", "cleanup", "dryRun", "force", "forceCleanup", "forceRevert", "includeHidden", "overwrite")
)
#: Whole numbers, on every operation.
_NUMBERS: Final = frozenset(("limit", "offset"))
_ROLLBACK: Final = "/api/v1/lineage/{table}/rollback"
#: {operation: parameters without which it is refused}
_NEEDED: Final[Mapping[str, frozenset[str]]] = {
    f"GET {_ROLLBACK}": frozenset(("to",)),
    f"POST {_ROLLBACK}": frozenset(("to",)),
    "GET /api/v1/lineage/{table}/diff": frozenset(("from",)),
    "GET /segments/{table}/lineage": frozenset(("type",)),
    "GET /tables/{table}/metadata": frozenset(("type",)),
    "PUT /tables/{table}/state": frozenset(("type", "state")),
    "POST /segments/{table}/startReplaceSegments": frozenset(("type",)),
    "POST /segments/{table}/endReplaceSegments": frozenset(("type", "segmentLineageEntryId")),
    "POST /segments/{table}/revertReplaceSegments": frozenset(("type", "segmentLineageEntryId")),
    "GET /query/sql": frozenset(("sql",)),
}


def complete(name: str, parameter: dict[str, Any]) -> None:
    """Write the type of an operation's query parameter, and whether it is needed, into its description."""
    if parameter["in"] != "query":
        return
    if parameter["name"] in _FLAGS:
        parameter["schema"] = {"type": "boolean"}
    if parameter["name"] in _NUMBERS:
        parameter["schema"] = {"type": "integer"}
    if parameter["name"] in _NEEDED.get(name, ()):
        parameter["required"] = True
