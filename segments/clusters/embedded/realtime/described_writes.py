"""Writes of a plan in words, for a dry run: each znode by its path, and what changes in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from segments.domain.formats.znrecord import ZNRecord
from segments.secret_texts import mask_text
from segments.store.base import Check, Create, Delete, Replace, Store, Write


def described(store: Store, writes: Sequence[Write]) -> tuple[str, ...]:
    """A sentence for every change; what is only checked is left out."""
    changing = [w for w in writes if not isinstance(w, Check)]
    before = store.get_many([w.path for w in changing])
    return tuple(
        mask_text(_sentence(write, node.record if node else None)) for write, node in zip(changing, before, strict=True)
    )


def _sentence(write: Create | Replace | Delete, before: ZNRecord | None) -> str:
    match write:
        case Create(path, record):
            return f"Creates {path}: {_fields(record)}."
        case Delete(path, _):
            return f"Removes {path}."
        case Replace(path, record, _):
            return f"Changes {path}: {'; '.join(_changes(before or ZNRecord(record.id), record)) or 'nothing'}."


def _fields(record: ZNRecord | None) -> str:
    if record is None:
        return "empty"
    return ", ".join(f"{k} {v}" for k, v in sorted(record.simple.items())) or "without fields"


def _changes(before: ZNRecord, after: ZNRecord) -> Iterator[str]:
    yield from _differences(before.simple, after.simple)
    for name in sorted({*before.maps, *after.maps}):
        old, new = before.maps.get(name, {}), after.maps.get(name, {})
        if old != new:
            yield f"{name}: {', '.join(_differences(old, new)) or 'without entries'}"
    for name in sorted({*before.lists, *after.lists}):
        had, has = set(before.lists.get(name, ())), set(after.lists.get(name, ()))
        yield from (f"{name} without {x}" for x in sorted(had - has))
        yield from (f"{name} with {x}" for x in sorted(has - had))


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            yield f"{key} {old.get(key, '(none)')} -> {new.get(key, '(none)')}"
