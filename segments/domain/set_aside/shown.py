"""What of a message's payload is shown: secrets are masked, and bytes that are not text are not shown at all."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from segments.domain.tables.secret_masks import mask, parsed_document, without_secrets
from segments.secret_texts import MASK, is_secret_key, mask_text

#: A key of JSON and what begins its value, also where the whole is not JSON.
_KEY: Final = re.compile(r'"([^"\\\r\n]{1,100})"[ \t]{0,20}:[ \t]{0,20}')
#: The end of a value that is a text, and of any other.
_TEXT_END: Final = re.compile(r'(?<!\\)"')
_PLAIN_END: Final = re.compile(r"[,}\]\r\n]")


@dataclass(frozen=True)
class Shown:
    """``text`` is None for bytes that are not text; ``is_masked``: there is more than is shown."""

    text: str | None
    is_masked: bool


def shown_payload(payload: bytes, *, is_cut: bool = False) -> Shown:
    """The payload with the values of keys that name secrets, and passwords in addresses and logins, masked.

    ``is_cut``: the end is missing, and may end within a character.
    """
    try:
        text = payload.decode("utf-8", "ignore" if is_cut else "strict")
    except UnicodeDecodeError:
        return Shown(None, is_masked=True)
    shown = _masked(text)
    return Shown(shown, is_masked=shown != text)


def shown_reason(reason: str, payload: bytes) -> str:
    """Why a message gave no row, without the secrets of its payload that the reason may repeat."""
    document: Any = parsed_document(payload.decode("utf-8", "replace"))
    return without_secrets(reason, document) if document is not None else mask_text(reason)


def _masked(text: str) -> str:
    document = parsed_document(text)
    if document is None:
        return mask_text(_without_values(text))
    shown = mask(document)
    return text if shown is document else json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _without_values(text: str) -> str:
    """A text that is not JSON as a whole, without the values behind keys of JSON that name secrets; one step for each
    character.
    """
    parts, at = [], 0
    while (found := _KEY.search(text, at)) is not None:
        parts.append(text[at : found.end()])
        at = found.end()
        if is_secret_key(found[1]):
            is_text = text.startswith('"', at)
            end = (_TEXT_END if is_text else _PLAIN_END).search(text, at + is_text)
            at = end.start() + is_text if end else len(text)
            parts.append(f'"{MASK}"' if is_text else MASK)
    return "".join([*parts, text[at:]])
