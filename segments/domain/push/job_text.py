"""YAML or JSON text of a job specification as plain values, with the line of every key."""

from __future__ import annotations

from typing import Any, Final

from segments.domain.formats.bounded_json import parse_json
from segments.domain.formats.bounded_yaml import MAX_CHARS, parse_yaml
from segments.errors import InvalidInput

_WHAT: Final = "The job specification"


def parse_text(text: str) -> tuple[dict[str, Any], dict[str, int]]:
    """The document and ``{"pushJobSpec.pushAttempts": line}`` (lines from 1, empty for JSON). Raises InvalidInput."""
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"{_WHAT} has {len(text)} characters; at most {MAX_CHARS} are allowed.")
    body, lines = (parse_json(text, what=_WHAT), {}) if text.lstrip().startswith("{") else parse_yaml(text, what=_WHAT)
    if not isinstance(body, dict):
        raise InvalidInput("A job specification is a map of keys.", remedy="Begin with jobType and inputDirURI.")
    return body, lines
