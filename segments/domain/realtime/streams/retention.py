"""How long a stream keeps its messages, as far as it says so, and when one of them goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from segments.domain.formats.durations import in_words

#: ``time``: for ``ms``. ``forever``: nothing is removed. ``trimmed``: old messages were removed, by a rule that the
#: stream does not know (writers of Redis trim with MAXLEN or MINID). ``untrimmed``: nothing was removed so far, and no
#: rule is known. ``unknown``: it does not say.
Kind = Literal["time", "forever", "trimmed", "untrimmed", "unknown"]
_SENTENCES: Final[dict[Kind, str]] = {
    "time": "The stream keeps messages for {ms}.",
    "forever": "The stream keeps messages forever.",
    "trimmed": "Writers trim the stream; its oldest message is {ms} old.",
    "untrimmed": "Nothing was removed from the stream so far; it has no rule of its own that would.",
    "unknown": "How long the stream keeps messages is not known: {why}.",
}


@dataclass(frozen=True)
class Retention:
    """``ms``: with ``time`` the period, with ``trimmed`` the age of the oldest message now. ``size``: bytes of a
    partition beyond which the oldest messages go, whatever their age; None: no such limit. ``why`` it is unknown.
    """

    kind: Kind
    ms: int | None = None
    size: int | None = None
    why: str = ""

    @property
    def sentence(self) -> str:
        """For a person."""
        text = _SENTENCES[self.kind].format(ms=in_words(self.ms or 0), why=self.why)
        return f"{text} Beyond {self.size:,} bytes of a partition the oldest go earlier." if self.size else text

    @property
    def is_exact(self) -> bool:
        """Is the moment of ``expires_ms`` a rule of the stream, not an estimate?"""
        return self.kind == "time" and self.size is None

    def expires_ms(self, stored_ms: int) -> int | None:
        """When a message that was stored at that time goes (both in epoch milliseconds); with ``trimmed``: if the
        stream goes on being as long as it is now. None: never, or nobody knows.
        """
        if self.ms is None or stored_ms <= 0 or self.kind not in ("time", "trimmed"):
            return None
        return stored_ms + self.ms


def unknown(why: str) -> Retention:
    """The stream does not say."""
    return Retention("unknown", why=why.rstrip("."))
