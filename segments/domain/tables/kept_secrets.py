"""A config that came back with masks in it: the stored secrets are put where they were, and never sent to another
address by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from segments.domain.tables.secret_masks import mask, parsed_document
from segments.errors import InvalidInput
from segments.secret_texts import MASK, is_secret_key

Path = tuple[str | int, ...]

#: Objects that only hold others: what one of their entries says has nothing to do with the secrets of another one.
_STRUCTURE: Final = frozenset((
    (), ("tableIndexConfig",), ("ingestionConfig",), ("ingestionConfig", "streamIngestionConfig"),
    ("ingestionConfig", "batchIngestionConfig"), ("metadata",), ("task",), ("task", "taskTypeConfigsMap"),
))  # fmt: skip
#: Settings that may change next to a secret that is kept hold one of these words and none of the next ones: they say
#: when and how much, never where a connection goes, how it is proven or who makes it.
_HARMLESS: Final = (
    "flush",
    "offset",
    "threshold",
    "timeout",
    "interval",
    "period",
    "rows",
    "size",
    "records",
    "max.",
    "min.",
    "batch",
    "rate",
    "topic",
    "partitions",
    "schedule",
    "pattern",
    "prefix",
    "description",
    "bucket.time",
    "buffer",
    "merge",
    "round",
)
_REVEALING: Final = (
    "url",
    "uri",
    "host",
    "endpoint",
    "server",
    "broker",
    "bootstrap",
    "address",
    "registry",
    "proxy",
    "class",
    "factory",
    "path",
    "dir",
    "account",
    "region",
    "protocol",
    "ssl",
    "sasl",
    "tls",
    "auth",
    "type",
    "fs.",
    "file",
    "location",
    "callback",
)
_ADDRESS: Final = re.compile(r"://|[/@\\]|:\d")
_AGAIN: Final = "Give the secret again."


@dataclass(frozen=True)
class _Scope:
    """The settings that say where a secret is sent: the object around it, as given and as it was shown."""

    given: Any
    shown: Any
    path: Path


@dataclass(frozen=True)
class _Before:
    """A stored value, and what was shown of it."""

    stored: Any
    shown: Any

    def entry(self, key: str) -> _Before:
        """Of an object; nothing where it is none or has no such key."""
        if not isinstance(self.stored, Mapping) or not isinstance(self.shown, Mapping):
            return _NOTHING
        return _Before(self.stored.get(key), self.shown.get(key))

    def entries(self) -> list[_Before]:
        """Of a list; none of anything else."""
        if not isinstance(self.stored, list) or not isinstance(self.shown, list):
            return []
        return [_Before(a, b) for a, b in zip(self.stored, self.shown, strict=True)]

    def document(self) -> _Before:
        """What a text spells as JSON."""
        return _Before(*(parsed_document(v) if isinstance(v, str) else None for v in (self.stored, self.shown)))


_NOTHING: Final = _Before(None, None)


def keep_secrets(given: Any, stored: Any) -> Any:
    """``given`` with the secrets of ``stored`` where it has masks; neither is changed.

    Raises InvalidInput for a mask in a place where no secret is stored, and when settings around it have changed that
    may say where the secret goes: then it has to be given again.
    """
    return _kept(given, _Before(stored, mask(stored)), (), None) if has_mask(given) else given


def has_mask(value: Any) -> bool:
    """Is there anything in it that may be a mask?"""
    if isinstance(value, str):
        return MASK in value
    if isinstance(value, Mapping):
        return any(map(has_mask, value.values()))
    return isinstance(value, list) and any(map(has_mask, value))


def _kept(given: Any, before: _Before, path: Path, scope: _Scope | None) -> Any:
    if not has_mask(given):
        return given
    if isinstance(given, Mapping):
        return _kept_object(given, before, path, scope)
    if isinstance(given, list):
        return [
            _kept(g, s, (*path, i), scope)
            for i, (g, s) in enumerate(zip(given, _partners(given, before.entries()), strict=True))
        ]
    return _kept_text(given, before, path, scope)


def _kept_object(given: Mapping[str, Any], before: _Before, path: Path, scope: _Scope | None) -> dict[str, Any]:
    scopes: dict[str, _Scope | None] = dict.fromkeys(given, scope or _Scope(given, before.shown, path))
    if scope is None and path in _STRUCTURE:
        own = _Scope(_plain(given), _plain(before.shown), path)
        scopes = {k: None if isinstance(v, dict | list) else own for k, v in given.items()}
    return {k: _kept(v, before.entry(k), (*path, k), scopes[k]) for k, v in given.items()}


def _plain(value: Any) -> dict[str, Any]:
    """Entries of an object that are not objects or lists."""
    return {k: v for k, v in value.items() if not isinstance(v, dict | list)} if isinstance(value, Mapping) else {}


def _kept_text(given: str, before: _Before, path: Path, scope: _Scope | None) -> Any:
    document = parsed_document(given)
    if document is not None and has_mask(document):
        inner = before.document()
        kept = _kept(document, inner, path, scope or _Scope(document, inner.shown, path))
        return before.stored if given == before.shown else json.dumps(kept, separators=(",", ":"), ensure_ascii=False)
    stored, shown = before.stored, before.shown
    if not _looks_masked(given, path) or given == stored:
        return given
    if shown == stored or not isinstance(shown, str):
        where = _named(path)
        raise InvalidInput(
            f"'{where}' is masked, and no secret is stored there.", remedy="Give the secret itself.", field=where
        )
    kept = stored if given == shown else _with_other_path(given, str(stored), shown, path)
    _check_scope(scope, path)
    return kept


def _with_other_path(given: str, stored: str, shown: str, path: Path) -> str:
    """An address whose password is kept may change after its host: the name of a database, a parameter."""
    given_head, shown_head, stored_head = (_up_to_host(text) for text in (given, shown, stored))
    if given_head is None or given_head != shown_head or stored_head is None or MASK in given[len(given_head) :]:
        text = (
            f"'{_named(path)}' is masked in part, and differs from what is stored in the rest, which says where the "
            "secret goes."
        )
        raise InvalidInput(text, remedy=_AGAIN, field=_named(path))
    return stored_head + given[len(given_head) :]


def _up_to_host(text: str) -> str | None:
    """``redis://:pw@host:1`` of one address; None for any other text."""
    scheme, found, rest = text.partition("://")
    if not found or "://" in rest:
        return None
    host_at = rest.rfind("@") + 1
    cut = min((i for i in (rest.find(c, host_at) for c in "/?#") if i >= 0), default=len(rest))
    return scheme + found + rest[:cut]


def _check_scope(scope: _Scope | None, path: Path) -> None:
    """The settings around a kept secret are as stored, but for harmless ones. Its own address was compared before."""
    if scope is None:
        return
    own = path[len(scope.path) :]
    given, shown = dict(_leaves(scope.given, ())), dict(_leaves(scope.shown, ()))
    for key in sorted((given.keys() | shown.keys()) - {own}, key=str):
        if given.get(key) != shown.get(key) and not _may_change(key, given.get(key), shown.get(key)):
            changed = _named((*scope.path, *key))
            text = f"'{_named(path)}' is masked, and '{changed}' has changed, which may say where the secret goes."
            raise InvalidInput(text, remedy=_AGAIN, field=_named(path))


def _may_change(key: Path, given: Any, shown: Any) -> bool:
    name = str(key[-1]).lower() if key else ""
    if is_secret_key(name):
        return True  # another secret, given again; a mask there is checked for itself
    if any(word in name for word in _REVEALING) or not any(word in name for word in _HARMLESS):
        return False
    return not any(isinstance(v, str) and _ADDRESS.search(v) for v in (given, shown))


def _leaves(value: Any, path: Path) -> list[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        return [leaf for k, v in value.items() for leaf in _leaves(v, (*path, str(k)))]
    if isinstance(value, list):
        return [leaf for i, v in enumerate(value) for leaf in _leaves(v, (*path, i))]
    if isinstance(value, str) and (document := parsed_document(value)) is not None:
        return _leaves(document, path)
    return [(path, value)] if value is not None else []


def _partners(given: Sequence[Any], before: Sequence[_Before]) -> list[_Before]:
    """For each entry of a list that was given the stored one that it comes from: the same but for the masks, else the
    most alike.
    """
    free = set(range(len(before)))
    found: list[int | None] = []
    for entry in given:
        same = next((i for i in sorted(free) if before[i].shown == entry), None)
        found.append(same)
        free.discard(-1 if same is None else same)
    for place, entry in enumerate(given):
        if found[place] is None and free and has_mask(entry):
            best = max(sorted(free), key=lambda i: (_likeness(entry, before[i].shown), i == place))
            found[place] = best
            free.discard(best)
    return [_NOTHING if i is None else before[i] for i in found]


def _likeness(one: Any, other: Any) -> int:
    return len({(p, str(v)) for p, v in _leaves(one, ())} & {(p, str(v)) for p, v in _leaves(other, ())})


def _names_secret(path: Path) -> bool:
    return any(isinstance(part, str) and is_secret_key(part) for part in path)


def _looks_masked(given: str, path: Path) -> bool:
    """Is a mask of ours in it, rather than asterisks of somebody's own?"""
    if given == MASK:
        return _names_secret(path)
    return f":{MASK}@" in given or f"={MASK}" in given or f'="{MASK}' in given or f"://{MASK}@" in given


def _named(path: Path) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")
