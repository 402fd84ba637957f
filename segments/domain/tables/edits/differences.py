"""What differs between two versions of a schema or a table config, line by line, as people read it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from segments.domain.tables.secret_masks import mask

#: Differences that are listed, and characters of a value that are shown.
MOST: Final = 200
_LONGEST: Final = 300
_MISSING: Final = object()


@dataclass(frozen=True)
class Difference:
    """One place of a document (``schema`` or ``config``) that differs. ``before`` and ``after`` are texts without
    secrets; None: nothing is there.
    """

    document: str
    path: str
    before: str | None
    after: str | None

    def to_json(self) -> dict[str, Any]:
        """As the REST API answers it."""
        return {"document": self.document, "path": self.path, "before": self.before, "after": self.after}


def differences(document: str, before: Any, after: Any) -> list[Difference]:
    """The first ``MOST`` differences, in the order of the documents. Columns of a schema are compared by their names,
    lists of names by what they hold.
    """
    arranged = _by_name if document == "schema" else _as_it_is
    old, new = ((arranged(body), arranged(mask(body))) for body in (before, after))
    found = _walk(old, new, "")
    return [Difference(document, path, b, a) for (path, b, a), _ in zip(found, range(MOST), strict=False)]


def _as_it_is(body: Any) -> Any:
    return body


def _by_name(schema: Any) -> Any:
    """The schema with its columns by name, each with the kind of list it stands in."""
    if not isinstance(schema, Mapping):
        return schema
    body: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    for key, value in schema.items():
        if key.endswith("FieldSpecs") and isinstance(value, list):
            kind = key.removesuffix("FieldSpecs")
            columns |= {str(s.get("name")): {"kind": kind, **s} for s in value if isinstance(s, Mapping)}
        else:
            body[key] = value
    return {**body, "columns": columns}


def _walk(old: tuple[Any, Any], new: tuple[Any, Any], path: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Each side as it is and as it is shown: a secret that changed is a difference, too."""
    if old[0] == new[0] and type(old[0]) is type(new[0]):
        return
    sides = (old[0], new[0])
    if all(isinstance(side, Mapping) for side in sides):
        for key in dict.fromkeys([*old[0], *new[0]]):
            yield from _walk(_at(old, key), _at(new, key), f"{path}.{key}" if path else str(key))
    elif all(isinstance(side, list) for side in sides) and len(old[0]) == len(new[0]) and not _are_texts(*sides):
        for at in range(len(old[0])):
            pair = ((side[0][at], side[1][at]) for side in (old, new))
            yield from _walk(next(pair), next(pair), f"{path}[{at}]")
    else:
        yield path, _text(old[1]), _text(new[1])


def _at(side: tuple[Any, Any], key: Any) -> tuple[Any, Any]:
    document, shown = side
    return (document[key], shown[key]) if key in document else (_MISSING, _MISSING)


def _are_texts(*lists: Any) -> bool:
    return all(isinstance(item, str) for listed in lists for item in listed)


def _text(value: Any) -> str | None:
    if value is _MISSING:
        return None
    if isinstance(value, list) and _are_texts(value):
        text = ", ".join(value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
