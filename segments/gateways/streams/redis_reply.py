"""Redis' replies about streams, undecoded, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

#: Entries as XRANGE gives them: [id, [field, value, field, value...]].
Entries = Sequence[Sequence[Any]]
VALUE: Final = b"value"


@dataclass(frozen=True)
class StreamInfo:
    """What XINFO STREAM reports. ``added``: entries ever stored; ``removed``: how many of them are gone.
    ``last_deleted`` is the largest id that XDEL took out; trimming does not count there. Without a stream all is zero.
    """

    length: int = 0
    added: int = 0
    first: tuple[int, int] | None = None
    last: tuple[int, int] = (0, 0)
    last_deleted: tuple[int, int] = (0, 0)

    @property
    def removed(self) -> int:
        """Entries that were trimmed or deleted."""
        return max(0, self.added - self.length)

    @property
    def end(self) -> tuple[int, int]:
        """The exclusive end: one after the last id ever given."""
        return self.last[0], self.last[1] + (self.last != (0, 0))


def stream_info(reply: Any) -> StreamInfo:
    """From a reply as flat list of pairs or as dictionary."""
    found = reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))
    named = {(k.decode() if isinstance(k, bytes) else str(k)): v for k, v in found.items()}
    first = named.get("first-entry")
    length = int(named["length"])
    return StreamInfo(
        length,
        int(named.get("entries-added", length)),
        entry_id(first[0]) if first else None,
        entry_id(named["last-generated-id"]),
        entry_id(named.get("max-deleted-entry-id", b"0-0")),
    )


def entry_id(text: Any) -> tuple[int, int]:
    """``b"5-1"`` -> (5, 1)."""
    ms, _, sequence = (text.decode() if isinstance(text, bytes) else str(text)).partition("-")
    return int(ms), int(sequence or 0)


def values_of(entries: Entries) -> list[bytes]:
    """The message of each entry; one without the field ``value`` is empty."""
    out = []
    for entry in entries:
        fields = entry[1]
        if fields is not None and len(fields) > 1 and fields[0] == VALUE:
            out.append(fields[1])
        else:
            pairs = dict(zip(fields[::2], fields[1::2], strict=False)) if fields else {}
            out.append(pairs.get(VALUE, b""))
    return out
