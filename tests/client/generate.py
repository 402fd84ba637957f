"""``python -m tests.client.generate``: writes ``pinotadmin_client/generated/`` from the OpenAPI document.

A generator of our own: openapi-python-client 0.29 makes 604 files of 97,000 lines out of the document, returns refusals
as values next to answers, and shows the token in the repr of its client.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.client.python_types import SHARED, Types, docstring, snake

ROOT: Final = Path(__file__).parents[2]
TARGET: Final = ROOT / "pinotadmin_client" / "generated"
_METHODS: Final = Path(__file__).parent / "methods.toml"
_HEAD: Final = "{title}\n\nGenerated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.\n"
#: Parameters that the client fills itself, or that have a method of their own.
_LEFT_OUT: Final = frozenset(("reason", "dryRun"))
#: Names in a path that are numbers.
_NUMBERED: Final = frozenset(("token", "number"))
#: Bodies that are documents of Pinot, or that hold what a caller has as a whole.
_WHOLE: Final = frozenset(("TableModel", "SchemaModel"))


def generated(document: Mapping[str, Any]) -> dict[str, str]:
    """{path of the file: its text}, formatted."""
    types = Types(document["components"]["schemas"])
    groups = tomllib.loads(_METHODS.read_text())
    files = {}
    for name, methods in groups.items():
        types.group = name
        text = _text(f"Operations about {name}.", _IMPORTS + "\n".join(_group(name, methods, document, types)))
        files[f"{name}.py"] = _formatted(text)
    for place, models in types.texts("pinotadmin_client.generated.models").items():
        files[f"models/{place}.py"] = _formatted(_text(_TITLES.get(place) or f"Models of {place}.", models))
    return files


#: Modules of models that are no group's.
_TITLES: Final = {
    SHARED: "Models that more than one group of methods needs.",
    "__init__": "Answers of the API, and what they consist of, as typed models.",
}
_IMPORTS: Final = """
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport

"""


def _text(title: str, rest: str) -> str:
    return f'"""{_HEAD.format(title=title)}"""\n{rest}\n'


def _formatted(text: str) -> str:
    for command in (["check", "--fix-only", "-q", "--select", "I,F401"], ["format", "-q"]):
        call = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET / "x.py"), "-"]
        text = subprocess.run(call, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


def _group(name: str, methods: Mapping[str, str], document: Mapping[str, Any], types: Types) -> Iterator[str]:
    yield f"\n\nclass {name.title()}:"
    yield f'    """Operations about {name}."""'
    yield "\n    def __init__(self, transport: Transport) -> None:\n        self._transport = transport"
    for method, operation in methods.items():
        verb, path = operation.split()
        yield from _method(method, verb, path, document["paths"][path][verb.lower()], types)


def _method(name: str, verb: str, path: str, operation: Mapping[str, Any], types: Types) -> Iterator[str]:
    listed = [p for p in operation.get("parameters", ()) if p["name"] not in _LEFT_OUT]
    in_path = sorted((p["name"] for p in listed if p["in"] == "path"), key=lambda n: path.index(f"{{{n}}}"))
    queries = sorted((p for p in listed if p["in"] == "query"), key=lambda p: not p.get("required"))
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    fields, is_whole = _fields(body, types)
    taken = {snake(p["name"]) for p in queries}
    fields = {k: v for k, v in fields.items() if snake(k) not in taken and k != "reason"}
    keywords = [f"{snake(k)}: {v}" for k, v in fields.items()]
    keywords.sort(key=lambda text: "=" in text)
    keywords = [
        *(f"{snake(p['name'])}: {types.of(p['schema'])}" for p in queries if p.get("required")),
        *keywords,
        *(f"{snake(p['name'])}: {types.of(p['schema'])} | None = None" for p in queries if not p.get("required")),
        *(["reason: str | None = None"] if verb != "GET" else []),
    ]
    arguments = [
        "self",
        *(f"{snake(n)}: str | int" if n in ("token", "number") else f"{snake(n)}: str" for n in in_path),
    ]
    arguments += ["body: Mapping[str, Any]"] if is_whole else []
    arguments += ["*", *keywords] if keywords else []
    answer = types.answer(operation)
    yield f"\n    def {name}({', '.join(arguments)}) -> {answer}:"
    yield docstring(f"{operation['summary']}.\n\n{operation['description']}", "        ")
    sent = [f'"{verb}"', f'"{path}"', answer]
    sent += [f"names={_mapping(in_path)}"] if in_path else []
    sent += [f"query={_mapping(p['name'] for p in queries)}"] if queries else []
    sent += ["body=body"] if is_whole else [f"body={_mapping(fields)}"] if fields else []
    sent += ["reason=reason"] if verb != "GET" else []
    yield f"        return self._transport.send({', '.join(sent)})"


def _fields(body: Mapping[str, Any] | None, types: Types) -> tuple[dict[str, str], bool]:
    """{field: its type, and its default} of a body, or none where it is given as a whole."""
    if body is None:
        return {}, False
    name = body.get("$ref", "").rpartition("/")[2]
    if not name or name in _WHOLE:
        return {}, True
    schema = types.schemas[name]
    needed = schema.get("required", ())
    return {
        key: types.of(value) if key in needed else f"{types.optional(value)} = None"
        for key, value in schema["properties"].items()
    }, False


def _mapping(names: Any) -> str:
    return "{" + ", ".join(f'"{n}": {snake(n)}' for n in names) + "}"


def main() -> None:
    """Write the files, in place of all that were there."""
    import django  # its settings are named here

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinotadmin.settings")
    django.setup()
    from tests.client.document import openapi_document  # needs the settings

    made = generated(openapi_document())
    for path in TARGET.rglob("*.py"):
        if str(path.relative_to(TARGET)) not in {*made, "__init__.py"}:
            path.unlink()
    for name, text in made.items():
        (TARGET / name).parent.mkdir(exist_ok=True)
        (TARGET / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
