"""Entries of a Redis stream, a few at once, because their size is not known: where the last ones begin, and how many
are between two ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

#: Entries of the first reply, and bytes that any other should bring at most: it is taken into memory as a whole.
_FIRST: Final = 8
_REPLY_BYTES: Final = 1 << 20
#: Entries of any reply.
_MOST: Final = 500


def tail_id(client: Any, key: str, most: int, size: int) -> bytes | None:
    """The id of the first of the last ``most`` entries, or of as many as have about ``size`` bytes; at least of the
    last one. None: there is no entry. Raises what the client raises.
    """
    found, last, page = None, b"+", min(most, _FIRST)
    while most > 0 and size > 0:
        entries = client.execute_command("XREVRANGE", key, last, b"-", "COUNT", page, NEVER_DECODE=True)
        sizes = _sizes(entries)
        for (number, _), taken in zip(entries, sizes, strict=True):
            if size > 0:
                found, most, size = number, most - 1, size - taken
        if len(entries) < page:
            break
        last = b"(" + entries[-1][0]
        page = max(1, min(most, _next_page(page, sizes)))
    return found


def count_between(client: Any, key: str, begin: str, end: str, most: int) -> int | None:
    """Entries from ``begin`` to ``end``, as XRANGE takes them; None: more than ``most``. Raises what the client
    raises.
    """
    counted, page = 0, _FIRST
    while counted <= most:
        entries = client.execute_command("XRANGE", key, begin, end, "COUNT", page, NEVER_DECODE=True)
        counted += len(entries)
        if len(entries) < page:
            return counted if counted <= most else None
        begin = f"({entries[-1][0].decode()}"
        page = min(_MOST, _next_page(page, _sizes(entries)))
    return None


def _sizes(entries: Any) -> list[int]:
    return [sum(map(len, (fields or {}).values())) + 1 for _, fields in entries]


def _next_page(page: int, sizes: Sequence[int]) -> int:
    """Entries that the next reply may have, by the bytes of the last one."""
    return max(1, min(page * 4, _REPLY_BYTES * len(sizes) // sum(sizes)))
