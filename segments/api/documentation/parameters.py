"""Parameters of operations: what each means (``parameters.toml``), its type, and whether an operation needs it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(__file__).with_name("parameters.toml")
_TYPES: Final = {"flags": "boolean", "numbers": "integer", "texts": "string"}
_ROLLBACK: Final = "/api/v1/lineage/{table}/rollback"
_DIFF: Final = "/api/v1/lineage/{table}/diff"
#: {operation: parameters without which it is refused}
NEEDED: Final[Mapping[str, frozenset[str]]] = {
    f"GET {_ROLLBACK}": frozenset(("to",)),
    f"POST {_ROLLBACK}": frozenset(("to",)),
    f"GET {_DIFF}": frozenset(("from",)),
    f"GET {_DIFF}/days": frozenset(("from",)),
    f"GET {_DIFF}/values": frozenset(("from", "column")),
    "GET /segments/{table}/lineage": frozenset(("type",)),
    "DELETE /segments/{table}": frozenset(("type",)),
    "DELETE /segments/{table}/choose": frozenset(("startTimestamp", "endTimestamp")),
    "GET /tables/{table}/metadata": frozenset(("type",)),
    "PUT /tables/{table}/state": frozenset(("type", "state")),
    "POST /segments/{table}/startReplaceSegments": frozenset(("type",)),
    "POST /segments/{table}/endReplaceSegments": frozenset(("type", "segmentLineageEntryId")),
    "POST /segments/{table}/revertReplaceSegments": frozenset(("type", "segmentLineageEntryId")),
    "POST /segments/batchUpload": frozenset(("tableName", "tableType")),
    "POST /ingestFromFile": frozenset(("tableNameWithType",)),
    "POST /ingestFromURI": frozenset(("tableNameWithType", "sourceURIStr")),
    "POST /api/v1/uploads": frozenset(("name",)),
    "POST /api/v1/tables/{table}/ingestion/clear": frozenset(("confirm",)),
    "GET /periodictask/run": frozenset(("taskname",)),
    "POST /periodictask/run": frozenset(("taskname",)),
    "GET /tasks/scheduler/jobDetails": frozenset(("tableName", "taskType")),
    "GET /tasks/subtask/workers/progress": frozenset(("subTaskState",)),
    "GET /query": frozenset(("sql",)),
    "GET /query/sql": frozenset(("sql",)),
    "GET /sql": frozenset(("sql",)),
}


@dataclass(frozen=True)
class Meaning:
    """What a parameter is: in words, and the type of a query's parameter as OpenAPI names it."""

    text: str
    type: str | None = None


@cache
def _file() -> Mapping[str, Any]:
    with _FILE.open("rb") as file:
        return tomllib.load(file)


@cache
def everywhere() -> Mapping[tuple[str, str], Meaning]:
    """{(path or query, name): what it means where nothing else is written}."""
    found = {("path", name): Meaning(text) for name, text in _file()["path"].items()}
    for group, kind in _TYPES.items():
        found |= {("query", name): Meaning(text, kind) for name, text in _file()[group].items()}
    return found


@cache
def of_operations() -> Mapping[tuple[str, str], Meaning]:
    """{(operation, name): what it means there}."""
    return dict(_of_operations())


def _of_operations() -> Iterator[tuple[tuple[str, str], Meaning]]:
    for group in _file()["operations"]:
        for operation in group["for"]:
            for name, given in group.items():
                if name != "for":
                    yield (operation, name), Meaning(given) if isinstance(given, str) else Meaning(**given)


def complete(operation: str, parameter: dict[str, Any]) -> None:
    """Write meaning and type of a parameter, and whether it is needed, into its description."""
    name, kind = parameter["name"], parameter["in"]
    usual, special = everywhere().get((kind, name)), of_operations().get((operation, name))
    found = special or usual
    if found is None:
        return
    parameter["description"] = found.text
    if kind == "query":
        parameter["schema"] = {"type": found.type or (usual.type if usual else None) or "string"}
        if name in NEEDED.get(operation, ()):
            parameter["required"] = True
