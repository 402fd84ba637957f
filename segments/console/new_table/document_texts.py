"""Schema and table config as a page's text fields hold them: read, written, and known again when they come back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from segments.domain.formats.bounded_json import parse_json
from segments.errors import InvalidInput

_NAMED: Final = re.compile(r"'([^']*)'")


def read_object(text: str) -> dict[str, Any]:
    """The object that a text field holds. InvalidInput when it holds no JSON, or no object."""
    found = parse_json(text, what="The text")
    if not isinstance(found, dict):
        raise InvalidInput("The text is not an object.", remedy="Write it as {...}.")
    return found


def as_text(body: Mapping[str, Any]) -> str:
    """What a text field shows for a document."""
    return json.dumps(body, indent=2, ensure_ascii=False)


def seen_of(schema: str, config: str) -> str:
    """A fingerprint of both texts."""
    return blake2b(f"{schema}\x00{config}".encode(), digest_size=12).hexdigest()


def names_in(message: str) -> list[str]:
    """What an error names between quotes, in its order."""
    return _NAMED.findall(message)
