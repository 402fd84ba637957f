"""Which values of a config or a text are secrets, and what is shown in their place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from segments.secret_texts import MASK, is_secret_key, mask_address, mask_text

#: Maps whose keys are columns: a column may be called whatever it likes.
_BY_COLUMN: Final = frozenset(
    (
        "columnPartitionMap",
        "noDictionaryConfig",
        "partialUpsertStrategies",
        "bloomFilterConfigs",
        "jsonIndexConfigs",
        "columnNameMap",
    )
)
#: What a document as text begins with, blanks before it included; also of an empty text, which is in every one.
_DOCUMENTS: Final = "{[ \t\r\n"
_NO_SECRET: Final = frozenset(("", "true", "false", "null"))
#: Characters of what is searched for in messages; shorter words stand in them by chance.
_SHORTEST: Final = 4
#: Deeper than any config; what lies deeper is not shown.
_DEEPEST: Final = 64


def mask(value: Any) -> Any:
    """The value with every secret in it masked; the very same object when it holds none."""
    return _masked(value, is_secret=False, by_column=False, depth=0)


def parsed_document(text: str) -> Any:
    """The object or list that a text spells as JSON; None for any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def secret_leaves(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """(path, value) of everything that ``mask`` hides, in order; of a text with a secret in it the whole text."""
    return _differences(value, mask(value), ())


def without_secrets(text: str, config: Any) -> str:
    """A text in which nothing is left of the secrets of this config, even where it repeats them word by word, or is cut
    within one.
    """
    for _, secret in secret_leaves(config):
        for form in (str(secret), json.dumps(str(secret))[1:-1]):
            if len(form) >= _SHORTEST:
                text = text.replace(form, MASK)
            cut = next((n for n in range(min(len(form), len(text)) - 1, _SHORTEST, -1) if text.endswith(form[:n])), 0)
            text = text[: len(text) - cut] + (MASK if cut else "")
    return mask_text(text)


def _masked(value: Any, *, is_secret: bool, by_column: bool, depth: int) -> Any:
    if isinstance(value, str):
        return _masked_text(value, is_secret=is_secret, depth=depth)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return MASK if is_secret else value
    if depth >= _DEEPEST:
        return MASK
    if isinstance(value, Mapping):
        pairs = {
            k: _masked_entry(str(k), v, is_secret=is_secret, by_column=by_column, depth=depth) for k, v in value.items()
        }
        return value if all(pairs[k] is v for k, v in value.items()) else pairs
    if isinstance(value, list | tuple):
        if not is_secret and _are_plain_names(value):
            return value
        items = [_masked(v, is_secret=is_secret, by_column=False, depth=depth + 1) for v in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


def _are_plain_names(values: Sequence[Any]) -> bool:
    """Are these texts in which no secret can be, such as names of segments? Checked as one text: audit records hold
    hundreds.
    """
    try:
        together = "".join(values)
    except TypeError:
        return False
    return not any(mark in together for mark in ("://", "=", "{", "["))


def _masked_entry(key: str, value: Any, *, is_secret: bool, by_column: bool, depth: int) -> Any:
    named = not by_column and is_secret_key(key)
    if named and isinstance(value, int | float) and not isinstance(value, bool) and key.lower().endswith("tokens"):
        named = False  # a number of tokens
    return _masked(value, is_secret=is_secret or named, by_column=key in _BY_COLUMN, depth=depth + 1)


def _masked_text(text: str, *, is_secret: bool, depth: int) -> str:
    if not is_secret and "://" not in text and "=" not in text and text[:1] not in _DOCUMENTS:
        return text  # nearly every text, at little cost
    if is_secret:
        return text if text == MASK or text.strip().lower() in _NO_SECRET else MASK
    if depth < _DEEPEST and (document := parsed_document(text)) is not None:
        shown = _masked(document, is_secret=False, by_column=False, depth=depth + 1)
        return text if shown is document else json.dumps(shown, separators=(",", ":"), ensure_ascii=False)
    shown_text = mask_address(text)
    return text if shown_text == text else shown_text


def _differences(value: Any, shown: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if value is shown:
        return
    if isinstance(value, Mapping) and isinstance(shown, Mapping):
        for key, inner in value.items():
            yield from _differences(inner, shown[key], (*path, str(key)))
    elif isinstance(value, list | tuple) and isinstance(shown, list | tuple):
        for index, (inner, hidden) in enumerate(zip(value, shown, strict=True)):
            yield from _differences(inner, hidden, (*path, index))
    elif isinstance(value, str) and shown != MASK and (document := parsed_document(value)) is not None:
        yield from _differences(document, mask(document), path)
    elif value != shown:
        yield path, value
