"""YAML or JSON text of a job specification as plain values, with the line of every key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import yaml

from segments.errors import InvalidInput

MAX_CHARS: Final = 1_000_000
_MAX_NODES: Final = 20_000


def parse_text(text: str) -> tuple[dict[str, Any], dict[str, int]]:
    """The document and ``{"pushJobSpec.pushAttempts": line}`` (lines from 1, empty for JSON). Raises InvalidInput."""
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"The job specification has {len(text)} characters; at most {MAX_CHARS} are allowed.")
    body, lines = _from_json(text) if text.lstrip().startswith("{") else _from_yaml(text)
    if not isinstance(body, dict):
        raise InvalidInput("A job specification is a map of keys.", remedy="Begin with jobType and inputDirURI.")
    return body, lines


def _from_json(text: str) -> tuple[Any, dict[str, int]]:
    try:
        return json.loads(text, object_pairs_hook=_unique), {}
    except ValueError as error:
        raise InvalidInput(f"The job specification is no valid JSON: {error}.") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInput(f"'{key}' is there twice in the job specification.")
        found[key] = value
    return found


def _from_yaml(text: str) -> tuple[Any, dict[str, int]]:
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        lines: dict[str, int] = {}
        for count, (path, line) in enumerate(_walk(node, "")):
            if path in lines:
                raise InvalidInput(f"'{path}' is there twice in the job specification (line {line}).")
            if count > _MAX_NODES:
                raise InvalidInput("The job specification has too many keys.")
            lines[path] = line
        return (loader.construct_document(node) if node is not None else None), lines
    except yaml.YAMLError as error:
        raise InvalidInput(f"The job specification is no valid YAML: {' '.join(str(error).split())}.") from error


def _walk(node: Any, path: str) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = f"{path}.{key.value}" if path else str(key.value)
            yield below, key.start_mark.line + 1
            yield from _walk(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _walk(value, f"{path}[{index}]")
