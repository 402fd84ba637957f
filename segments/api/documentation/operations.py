"""Completes the OpenAPI document: of each operation a summary, its answer's shape, and an example of body and answer.

Summaries are in ``summaries.toml``. Examples are in ``examples/*.json``: what tests sent, and what they were answered.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from segments.api.documentation import parameters
from segments.api.documentation.answers.of_operations import ANSWERS, MAYBE_EMPTY

_FOLDER: Final = Path(__file__).parent
_REF: Final = "#/components/schemas/{name}"
_SAID: Final = {"200": "Done.", "201": "It was created.", "202": "It was taken on, and goes on in the background."}


@cache
def summaries() -> Mapping[str, str]:
    """{``METHOD /path``: what it does}."""
    with (_FOLDER / "summaries.toml").open("rb") as file:
        return {name: text for group in tomllib.load(file).values() for name, text in group.items()}


@cache
def examples() -> Mapping[str, Mapping[str, Any]]:
    """{``METHOD /path``: {"body": JSON, "answers": {status: JSON or text}}}; both may be missing."""
    found: dict[str, Mapping[str, Any]] = {}
    for file in sorted((_FOLDER / "examples").glob("*.json")):
        found.update(json.loads(file.read_text(encoding="utf-8")))
    return found


def refusals() -> Mapping[str, Any]:
    """{status: the body of such a refusal}."""
    found: Mapping[str, Any] = examples()["refusals"]["answers"]
    return found


def described(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The finished document with all of it."""
    models = sorted({*MAYBE_EMPTY, *(model for shapes in ANSWERS.values() for model in shapes)}, key=repr)
    result["components"]["schemas"].update(msgspec.json.schema_components(models, ref_template=_REF)[1])
    for status, body in refusals().items():
        response = result["components"]["responses"].get(f"Refusal{status}")
        if response is not None:
            [(kind, content)] = response["content"].items()
            response["content"] = {kind: {**content, "example": body}}  # they share their contents
    for name, operation in operations(result):
        _describe(name, operation)
    return result


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each operation with its name, ``METHOD /path``."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _describe(name: str, operation: dict[str, Any]) -> None:
    if name in summaries():
        operation["summary"] = summaries()[name]
    for parameter in operation.get("parameters", ()):
        parameters.complete(name, parameter)
    for status, response in operation["responses"].items():
        if "$ref" not in response:
            response["description"] = response.get("description") or _SAID.get(status, "A part does not answer.")
            if name in ANSWERS and "application/json" in response.get("content", {}):
                response["content"]["application/json"]["schema"] = _shape(ANSWERS[name])
    given = examples().get(name, {})
    for content in operation.get("requestBody", {}).get("content", {}).values():
        if "body" in given:
            content["example"] = given["body"]
    for status, answer in given.get("answers", {}).items():
        for content in operation["responses"].get(status, {}).get("content", {}).values():
            content["example"] = answer


def _shape(models: tuple[Any, ...]) -> dict[str, Any]:
    listed = [{"$ref": _REF.format(name=model.__name__)} for model in models]
    return listed[0] if len(listed) == 1 else {"anyOf": listed}
