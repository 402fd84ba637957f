"""Configs in what passes between a caller and a real Pinot: secrets masked in its answers, kept in what
is sent to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from segments.domain.tables.kept_secrets import has_mask, keep_secrets
from segments.domain.tables.secret_masks import mask
from segments.errors import InvalidInput
from segments.names import split_table_name
from segments.secret_texts import MASK, mask_text

#: Parts of a request's body that are table configs, besides the body itself.
_CONFIGS: Final = ("tableConfig", "offline", "realtime")
#: First parts of paths that take files, in which nothing is masked.
OF_FILES: Final = ("segments", "v2", "ingestFromFile", "segmentUpload", "segmentCommit", "segmentCommitEndWithMetadata")
#: Last parts of paths whose answers hold names, states and sizes; they may be too large to be read whole.
_NUMBERS: Final = frozenset(
    ("idealstate", "externalview", "size", "metadata", "consumingSegmentsInfo", "segmentsStatus", "zkmetadata", "crc")
)


def may_hold_config(parts: Sequence[str]) -> bool:
    """May what Pinot answers under this path hold settings, rather than names and numbers only?"""
    return parts[0] != "segments" and parts[-1] not in _NUMBERS


def masked_answer(body: bytes) -> bytes:
    """An answer's JSON, or other text, with its secrets masked; the same bytes when it holds none, or is not text."""
    try:
        text = body.decode()
    except ValueError:
        return body
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return mask_text(text).encode()
    shown = mask(found)
    return body if shown is found else json.dumps(shown, ensure_ascii=False).encode()


def kept_body(parts: Sequence[str], body: bytes, stored: Callable[[str, str], Any]) -> bytes:
    """A request's JSON with stored secrets in the place of masks. ``stored(raw name, type)`` reads a table's config.

    Raises InvalidInput for a mask that stands for nothing, see ``keep_secrets``.
    """
    if MASK.encode() not in body:
        return body
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        if parts[0] in OF_FILES:
            return body
        text = f"The body holds '{MASK}', which may stand for a secret, but is not JSON in which it could be put."
        raise InvalidInput(text, remedy="Correct the JSON, or give the secret itself.") from error
    if not has_mask(found):
        return body
    kept = {k: _kept(v, stored) if k in _CONFIGS else v for k, v in found.items()} if isinstance(found, dict) else found
    kept = _kept(kept, stored) if parts[0] in ("tables", "tableConfigs") else keep_secrets(kept, None)
    return json.dumps(kept, ensure_ascii=False).encode()


def _kept(config: Any, stored: Callable[[str, str], Any]) -> Any:
    if not isinstance(config, Mapping) or not has_mask(config):
        return config
    name, kind = str(config.get("tableName", "")), config.get("tableType")
    raw, suffix = split_table_name(name)
    if not name or (suffix or kind) not in ("OFFLINE", "REALTIME"):
        return keep_secrets(config, None)
    found = stored(raw, str(suffix or kind))
    if found is None:
        raise InvalidInput(
            f"Table '{name}' has no stored secrets: it does not exist.", remedy="Give the secrets themselves."
        )
    return keep_secrets(config, found)
