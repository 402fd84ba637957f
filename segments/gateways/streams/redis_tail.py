"""Where the last entries of a Redis stream begin: read from its end, a few at once, because their size is not known."""

from __future__ import annotations

from typing import Any, Final

from segments.gateways.streams.redis_reply import VALUE

#: Entries of the first reply, and bytes that any other should bring at most: it is taken into memory as a whole.
_FIRST: Final = 8
_REPLY_BYTES: Final = 1 << 20


def tail_id(client: Any, key: str, most: int, size: int) -> bytes | None:
    """The id of the first of the last ``most`` entries, or of as many as have about ``size`` bytes; at least of the
    last one. None: there is no entry. Raises what the client raises.
    """
    found, last, page = None, b"+", min(most, _FIRST)
    while most > 0 and size > 0:
        entries = client.execute_command("XREVRANGE", key, last, b"-", "COUNT", page, NEVER_DECODE=True)
        sizes = [len((fields or {}).get(VALUE, b"")) + 1 for _, fields in entries]
        for (number, _), taken in zip(entries, sizes, strict=True):
            if size > 0:
                found, most, size = number, most - 1, size - taken
        if len(entries) < page:
            break
        last = b"(" + entries[-1][0]
        page = max(1, min(most, page * 4, _REPLY_BYTES * len(entries) // sum(sizes)))
    return found
