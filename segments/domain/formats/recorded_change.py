"""A change of a document as it is kept on record: before, after, and what differs, each without secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from segments.domain.tables.secret_masks import mask

#: Differences listed; documents that differ in more are to be compared by ``before`` and ``after``.
_LISTED: Final = 200
_MISSING: Final = object()


def recorded_change(before: Any, after: Any) -> dict[str, Any]:
    """``{"before", "after", "diff"}``, ready for JSON, of two documents; None stands for one that was not there.

    ``diff`` is a list of ``{"path", "before", "after"}`` with only the side that exists; ``path`` is written as in
    refusals (``streamConfigMaps[0].topic``). A secret that changed is listed, masked on both sides.
    """
    shown_before, shown_after = mask(before), mask(after)
    found = _differences((before, shown_before), (after, shown_after), "")
    diff = [entry for entry, _ in zip(found, range(_LISTED), strict=False)]
    return {"before": shown_before, "after": shown_after, "diff": diff}


def _differences(old: tuple[Any, Any], new: tuple[Any, Any], path: str) -> Iterator[dict[str, Any]]:
    """Each side as it is and as it is shown."""
    if old[0] == new[0] and type(old[0]) is type(new[0]):
        return
    if isinstance(old[0], Mapping) and isinstance(new[0], Mapping):
        for key in dict.fromkeys([*old[0], *new[0]]):
            yield from _differences(_at(old, key), _at(new, key), f"{path}.{key}" if path else str(key))
    elif isinstance(old[0], list) and isinstance(new[0], list) and len(old[0]) == len(new[0]):
        for index in range(len(old[0])):
            yield from _differences((old[0][index], old[1][index]), (new[0][index], new[1][index]), f"{path}[{index}]")
    else:
        sides = (("before", old[1]), ("after", new[1]))
        yield {"path": path, **{side: shown for side, shown in sides if shown is not _MISSING}}


def _at(side: tuple[Any, Any], key: str) -> tuple[Any, Any]:
    document, shown = side
    return (document[key], shown[key]) if key in document else (_MISSING, _MISSING)
