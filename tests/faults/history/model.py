"""What a table's history owes to its users: which rows queries see, and which must still be there though no query sees
them.

A segment holds the rows of one key, in one version; its CRC identifies it. Nothing here asks the code under test what
is right.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

Seen = dict[str, int]
"""{segment that queries see: CRC}"""

DAY_MS = 86_400_000
#: What the table promises: files of what was deleted are kept for so long.
KEPT_MS = 7 * DAY_MS


@dataclass(frozen=True)
class Push:
    """A replacement as it was pushed, or an undo: the segments it removed and those it brought, with their CRCs."""

    entry: str
    old: Seen
    new: Seen


@dataclass
class Model:
    """``keys``: {CRC: the key whose rows it holds}. ``last_seen``: {CRC: epoch ms at which queries saw it last}."""

    seen: Seen = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    last_seen: dict[int, int] = field(default_factory=dict)
    pushes: dict[str, Push] = field(default_factory=dict)

    def move_to(self, seen: Seen, now: int) -> None:
        """Queries see this from now on; what they saw until now was seen until now."""
        for crc in (*self.seen.values(), *seen.values()):
            self.last_seen[crc] = now
        for name in self.seen.keys() & seen.keys():
            if self.seen[name] != seen[name]:
                self._refresh(name, seen[name])
        self.seen = dict(seen)

    def _refresh(self, name: str, crc: int) -> None:
        """A segment has one content at a time: whatever side of a replacement it is on, that side has it too."""
        for entry, push in self.pushes.items():
            old, new = ({s: crc if s == name else c for s, c in side.items()} for side in (push.old, push.new))
            self.pushes[entry] = Push(entry, old, new)

    def replaced(self, old: Seen, new: Seen) -> Seen:
        """What queries see once ``old`` is replaced by ``new``."""
        return {**{s: c for s, c in self.seen.items() if s not in old}, **new}

    def taken_back(self, entries: list[str]) -> Seen:
        """What queries see once these are taken back, in this order."""
        after = replace(self, seen=dict(self.seen))
        for entry in entries:
            push = after.pushes[entry]
            after.seen = after.replaced(push.new, push.old)
        return after.seen

    def owed(self, now: int) -> set[int]:
        """CRCs whose file must be somewhere: seen now, or less than the promised time ago."""
        return {crc for crc, at in self.last_seen.items() if now < at + KEPT_MS} | set(self.seen.values())

    def doubled(self, seen: Seen) -> set[str]:
        """Keys whose rows queries see more than once."""
        keys = [self.keys[crc] for crc in seen.values()]
        return {k for k in keys if keys.count(k) > 1}
