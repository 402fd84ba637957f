"""What a snapshot consists of, {segment: CRC}, and how one differs from the one before it; both are kept compressed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: {segment: CRC} of all that queries see; 0: the CRC is not known.
Contents = Mapping[str, int]
#: {segment: (CRC before, CRC after)}; None: it was not, or is not, seen.
Changes = Mapping[str, tuple[int | None, int | None]]

#: As the database gives it back.
Packed = bytes | memoryview | None

_NOTHING: Final = zlib.compress(b"{}")


def changes_of(
    before: Contents, names: Iterable[str], now: Mapping[str, int | None]
) -> dict[str, tuple[int | None, int | None]]:
    """How these names differ. ``now``: the CRC of those that queries see, None (or absent) of others. A CRC that
    becomes known is no difference.
    """
    found = {}
    for name in names:
        old, new = before.get(name), now.get(name)
        if old != new and not (old == 0 and new is not None) and not (new == 0 and old is not None):
            found[name] = (old, new)
    return found


def applied(contents: Contents, changes: Changes) -> dict[str, int]:
    """The snapshot after ``changes`` were made to ``contents``."""
    return _with(contents, {name: after for name, (_, after) in changes.items()})


def taken_back(contents: Contents, changes: Changes) -> dict[str, int]:
    """The snapshot before ``changes`` led to ``contents``."""
    return _with(contents, {name: before for name, (before, _) in changes.items()})


def joined(first: Changes, second: Changes) -> dict[str, tuple[int | None, int | None]]:
    """Both, one after the other, as one difference."""
    found = {**first}
    for name, (before, after) in second.items():
        began = first[name][0] if name in first else before
        if began == after:
            found.pop(name, None)
        else:
            found[name] = (began, after)
    return found


def _with(contents: Contents, set_to: Mapping[str, int | None]) -> dict[str, int]:
    found = dict(contents)
    for name, crc in set_to.items():
        if crc is None:
            found.pop(name, None)
        else:
            found[name] = crc
    return found


def pack_contents(contents: Contents) -> bytes:
    """For the database."""
    return _pack(dict(contents))


def unpack_contents(data: Packed) -> dict[str, int]:
    """As packed."""
    return dict(_unpack(data))


def pack_changes(changes: Changes) -> bytes:
    """For the database."""
    return _pack({name: list(both) for name, both in changes.items()})


def unpack_changes(data: Packed) -> dict[str, tuple[int | None, int | None]]:
    """As packed."""
    return {name: (before, after) for name, (before, after) in _unpack(data).items()}


def _pack(body: object) -> bytes:
    return zlib.compress(json.dumps(body, separators=(",", ":"), sort_keys=True).encode())


def _unpack(data: Packed) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(data or _NOTHING))
    return found
